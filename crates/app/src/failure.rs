//! Why a command did not do what it was asked, and the exit code that says so.

use std::process::ExitCode;

/// A command that did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    /// What to do about it; empty where there is nothing to add.
    pub(crate) help: String,
}

/// The kinds of failure. Their numbers are the exit codes, documented in `--help` and in the guide: do not change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// It was tried and went wrong.
    Failed = 1,
    /// Wrong usage, or a configuration that is not valid.
    Invalid = 2,
    /// What was named does not exist, or cannot be reached.
    NotFound = 3,
    /// A policy, a budget or a limit refused it.
    Refused = 4,
}

impl FailureKind {
    /// The word for it in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            FailureKind::Failed => "failed",
            FailureKind::Invalid => "invalid",
            FailureKind::NotFound => "not_found",
            FailureKind::Refused => "refused",
        }
    }
}

impl Failure {
    /// It was tried and went wrong.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }

    /// Wrong usage, or a configuration that is not valid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Invalid, message)
    }

    /// What was named does not exist, or cannot be reached.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// A failure of some kind.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: String::new() }
    }

    /// The same with what to do about it.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}
