//! The tools of all servers as an agent wants them: a definition for the model, and a call that gives text.

mod definition;
pub(crate) mod figures;
mod offer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::{Kind, Method};

use crate::call::{Call, CallError};
use crate::outbox::Outbox;
use crate::server::Server;
use crate::{content, ourselves};

pub use definition::{Definition, UnusableTool};
pub use figures::ToolFigures;
pub use offer::Offer;

use figures::Figures;

/// Why a tool gave no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool.
    #[error("there is no tool '{0}'")]
    Unknown(String),
    /// The arguments are not an object.
    #[error("the arguments of '{0}' must be a JSON object")]
    Arguments(String),
    /// The tool ran and says that it failed.
    #[error("the tool '{tool}' failed: {text}")]
    Failed { tool: String, text: String },
    /// The server answered with an error instead of a result.
    #[error("server '{server}' refused the call: {message}")]
    Refused { server: Arc<str>, message: String },
    /// The server could not be asked, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// The tools of all servers at one moment.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    definitions: BTreeMap<String, Definition>,
    servers: Vec<Server>,
    max_result_chars: usize,
    figures: Arc<Figures>,
}

impl ToolRegistry {
    /// The registry of what these servers listed and offer. Tools that cannot be used are left out with a warning.
    pub(crate) fn new<'a>(
        listed: impl Iterator<Item = (&'a str, &'a Offer, &'a [Value])>,
        servers: Vec<Server>,
        reserved: &BTreeSet<String>,
        max_result_chars: usize,
        figures: Arc<Figures>,
    ) -> ToolRegistry {
        let definitions = definition::merge(listed, reserved);
        ToolRegistry { definitions, servers, max_result_chars, figures }
    }

    /// All tools, in the order of their names.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.values()
    }

    /// One tool by its name.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Calls a tool and gives what it says as text, cut where it is too long. The timeout of the tool counts, or else that
    /// of its server.
    pub async fn call(&self, name: &str, arguments: &Value) -> Result<String, ToolError> {
        let unknown = || ToolError::Unknown(name.to_owned());
        let definition = self.definitions.get(name).ok_or_else(unknown)?;
        let server =
            self.servers.iter().find(|server| *server.name() == definition.server).ok_or_else(unknown)?;
        let begun = Instant::now();
        let outcome = self.run(definition, server, arguments).await;
        self.figures.note(name, begun.elapsed(), outcome.is_err());
        outcome
    }

    async fn run(
        &self,
        definition: &Definition,
        server: &Server,
        arguments: &Value,
    ) -> Result<String, ToolError> {
        let name = &definition.name;
        if !arguments.is_object() {
            return Err(ToolError::Arguments(name.clone()));
        }
        let params = json!({"name": definition.native, "arguments": arguments}).to_string();
        let message = ourselves::request(Method::ToolsCall, params.as_bytes())
            .ok_or_else(|| ToolError::Arguments(name.clone()))?;
        let caller = Arc::clone(ourselves::caller());
        let call = Call {
            message,
            native: None,
            caller,
            line: 0,
            told: None,
            in_short: None,
            parameters: Vec::new(),
            timeout: definition.timeout,
        };
        let answer = answer_of(server, call).await?;
        let body = answer.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let refused = |message: String| ToolError::Refused { server: Arc::clone(server.name()), message };
        if answer.kind() == Kind::Error {
            let message = body.get("message").and_then(Value::as_str).unwrap_or("without a reason");
            return Err(refused(message.to_owned()));
        }
        if body.get("resultType").and_then(Value::as_str) == Some("input_required") {
            return Err(refused("it wants to ask a person, and there is nobody to ask".to_owned()));
        }
        let text = cut(result_text(&body), self.max_result_chars);
        if body.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(ToolError::Failed { tool: name.clone(), text });
        }
        Ok(text)
    }
}

/// The answer to a call. Questions that the server asks meanwhile are answered with an error: there is nobody to ask.
async fn answer_of(server: &Server, call: Call) -> Result<toolgate_protocol::Message, CallError> {
    let outbox = Arc::new(Outbox::default());
    let answer = server.call(call, &outbox);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return answer.map(|answer| answer.message),
            event = outbox.next() => drop(event),
        }
    }
}

/// A result as text: its content, or its structured form where it has no content.
pub fn result_text(result: &Value) -> String {
    match (result.get("content"), result.get("structuredContent")) {
        (Some(Value::Array(blocks)), Some(structured)) if blocks.is_empty() => structured.to_string(),
        (Some(blocks), _) => content::text(blocks),
        (None, Some(structured)) => structured.to_string(),
        (None, None) => String::new(),
    }
}

/// Text of at most `most` characters and a mark that says how much is missing.
pub fn cut(text: String, most: usize) -> String {
    let Some((place, _)) = text.char_indices().nth(most) else { return text };
    let all = text.chars().count();
    let kept = text.get(..place).unwrap_or_default();
    format!("{kept}\n[cut: {most} of {all} characters]")
}

#[cfg(test)]
mod tests;
