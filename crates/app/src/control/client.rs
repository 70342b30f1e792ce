//! A command's side of the control socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::BufReader;
use tokio::net::UnixStream;

use super::wire::{self, Request, Response};
use crate::ask::ErrorAnswer;

/// How long a gateway that is there may take to say so.
const HELLO: Duration = Duration::from_secs(5);

/// A connection to a running gateway.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<UnixStream>,
}

/// Why a running gateway gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Answer(#[from] ErrorAnswer),
    #[error("the running gateway does not answer: {0}")]
    Gone(#[from] io::Error),
}

impl Client {
    /// Connects to the gateway that listens on a socket, and gives its status. Nothing where none does.
    pub(crate) async fn connect(socket: &Path) -> Option<(Client, Value)> {
        let stream = UnixStream::connect(socket).await.ok()?;
        let mut client = Client { stream: BufReader::new(stream) };
        let status = tokio::time::timeout(HELLO, client.status()).await.ok()?.ok()?;
        Some((client, status))
    }

    /// How everything is.
    pub(crate) async fn status(&mut self) -> Result<Value, ClientError> {
        self.exchange(&Request::Status).await
    }

    /// Makes it read its configuration again, and says what changed, or would change.
    pub(crate) async fn reload(&mut self, dry_run: bool) -> Result<Value, ClientError> {
        self.exchange(&Request::Reload { dry_run }).await
    }

    /// The result of an MCP request.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.exchange(&Request::Ask { method: method.to_owned(), params }).await
    }

    /// The answer to a question of an operator: its status and body.
    pub(crate) async fn operate(
        &mut self,
        method: &str,
        target: &str,
        body: Value,
    ) -> Result<(u16, Value), ClientError> {
        let request = Request::Operate { method: method.to_owned(), target: target.to_owned(), body };
        let answer = self.exchange(&request).await?;
        serde_json::from_value(answer).map_err(|error| io::Error::from(error).into())
    }

    async fn exchange(&mut self, request: &Request) -> Result<Value, ClientError> {
        wire::write(&mut self.stream, request).await?;
        match wire::read(&mut self.stream).await? {
            Some(Response::Ok(value)) => Ok(value),
            Some(Response::Error(error)) => Err(error.into()),
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}
