//! Why a question got no answer.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use toolgate_ledger::journal::ReadError;
use toolgate_ledger::store::StoreError;

/// Why a question got no answer, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The kinds of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The question is wrong.
    Invalid,
    /// The operator's token is missing or wrong.
    Unauthorized,
    /// What was asked for is not there.
    NotFound,
    /// The path has other methods.
    MethodNotAllowed,
    /// Too much is asked at once, or the gateway is stopping.
    Unavailable,
    /// It was tried and went wrong.
    Failed,
}

/// How a problem is told: `{"error": {"code": …, "message": …}}`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorAnswer {
    /// The problem.
    pub error: ErrorDetail,
}

/// The problem of an [`ErrorAnswer`].
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorDetail {
    /// What kind of problem it is.
    pub code: ProblemKind,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Problem {
    /// The question is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, message)
    }

    /// What was asked for is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotFound, message)
    }

    /// A problem of some kind.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The status of the response that tells it.
    pub fn status(&self) -> StatusCode {
        match self.kind {
            ProblemKind::Invalid => StatusCode::BAD_REQUEST,
            ProblemKind::Unauthorized => StatusCode::UNAUTHORIZED,
            ProblemKind::NotFound => StatusCode::NOT_FOUND,
            ProblemKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ProblemKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The body of the response that tells it.
    pub fn answer(&self) -> ErrorAnswer {
        ErrorAnswer { error: ErrorDetail { code: self.kind, message: self.message.clone() } }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(ProblemKind::Failed, error.to_string())
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        Self::new(ProblemKind::Failed, error.to_string())
    }
}
