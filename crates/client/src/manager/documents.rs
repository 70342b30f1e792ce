//! Prompts and resources of all servers.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::{Kind as MessageKind, Method};

use super::Manager;
use super::lists::Kind;
use crate::call::CallError;

/// A prompt that a server lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The server that has it.
    pub server: Arc<str>,
    /// What the server calls it.
    pub name: String,
    /// All that the server says of it: description, arguments and so on.
    pub listed: Value,
}

/// A resource that a server lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The server that has it.
    pub server: Arc<str>,
    /// Its address.
    pub uri: String,
    /// All that the server says of it: name, description, type and so on.
    pub listed: Value,
}

/// Why a prompt or a resource was not given.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotGiven {
    /// There is no such server.
    #[error("there is no server '{0}'")]
    NoServer(String),
    /// The server answered with an error instead of a result.
    #[error("server '{server}' refused it: {message}")]
    Refused { server: Arc<str>, message: String },
    /// The server could not be asked, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Manager {
    /// The prompts of all servers as they are now.
    pub fn prompts(&self) -> Vec<Prompt> {
        let listed = self.board.listed(Kind::Prompts).into_iter();
        listed
            .filter_map(|(server, listed)| Some(Prompt { server, name: text(&listed, "name")?, listed }))
            .collect()
    }

    /// The resources of all servers as they are now.
    pub fn resources(&self) -> Vec<Resource> {
        let listed = self.board.listed(Kind::Resources).into_iter();
        listed
            .filter_map(|(server, listed)| Some(Resource { server, uri: text(&listed, "uri")?, listed }))
            .collect()
    }

    /// A prompt filled in with these arguments: the server's result, with its `messages`.
    pub async fn prompt(&self, server: &str, name: &str, arguments: &Value) -> Result<Value, NotGiven> {
        self.ask(server, Method::PromptsGet, &json!({"name": name, "arguments": arguments})).await
    }

    /// What a resource holds: the server's result, with its `contents`. It need not be one that is listed.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Value, NotGiven> {
        self.ask(server, Method::ResourcesRead, &json!({"uri": uri})).await
    }

    async fn ask(&self, server: &str, method: Method, params: &Value) -> Result<Value, NotGiven> {
        let server = self.board.answering(server).ok_or_else(|| NotGiven::NoServer(server.to_owned()))?;
        let answer = server.request(method, Bytes::from(params.to_string())).await?;
        let body: Value = serde_json::from_slice(answer.message.body().unwrap_or(b"{}")).unwrap_or_default();
        let refused = |message: &str| {
            Err(NotGiven::Refused { server: Arc::clone(server.name()), message: message.to_owned() })
        };
        if answer.message.kind() == MessageKind::Error {
            return refused(body.get("message").and_then(Value::as_str).unwrap_or("without a reason"));
        }
        if body.get("resultType").and_then(Value::as_str) == Some("input_required") {
            return refused("it wants to ask a person, and there is nobody to ask");
        }
        Ok(body)
    }
}

fn text(listed: &Value, key: &str) -> Option<String> {
    listed.get(key).and_then(Value::as_str).map(str::to_owned)
}
