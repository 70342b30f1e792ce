//! What goes over the control socket: a JSON object on a line, one request and one response at a time.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::ask::ErrorAnswer;

/// The longest line: as long as the longest message of a server.
const LONGEST_LINE: u64 = 64 << 20;
/// The code of what went wrong with the request itself.
const INTERNAL_ERROR: i64 = -32603;

/// What a command wants.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(super) enum Request {
    /// How everything is.
    Status,
    /// Read the configuration again, or only say what that would change.
    Reload { dry_run: bool },
    /// The result of an MCP request.
    Ask { method: String, params: Value },
    /// The answer to a question of an operator, as the HTTP API gives it.
    Operate { method: String, target: String, body: Value },
}

/// What it gets.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Response {
    Ok(Value),
    Error(ErrorAnswer),
}

impl Response {
    /// What went wrong with the request itself.
    pub(super) fn failed(message: String) -> Self {
        Response::Error(ErrorAnswer { code: INTERNAL_ERROR, message, data: Value::Null })
    }
}

/// The next object; nothing where the other side has closed.
pub(super) async fn read<T: DeserializeOwned>(
    input: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let length = input.take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
    if length == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line has no end"));
    }
    serde_json::from_slice(&line).map(Some).map_err(io::Error::from)
}

/// Sends an object.
pub(super) async fn write(output: &mut (impl AsyncWrite + Unpin), object: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(object).map_err(io::Error::from)?;
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_is_read() {
        let mut line = Vec::new();
        let request =
            Request::Ask { method: "tools/list".into(), params: serde_json::json!({"cursor": "\n"}) };
        write(&mut line, &request).await.unwrap();
        write(&mut line, &Request::Reload { dry_run: true }).await.unwrap();
        let mut input = line.as_slice();
        assert_eq!(read(&mut input).await.unwrap(), Some(request));
        assert_eq!(read(&mut input).await.unwrap(), Some(Request::Reload { dry_run: true }));
        assert_eq!(read::<Request>(&mut input).await.unwrap(), None);
    }

    #[tokio::test]
    async fn half_a_line_is_an_error() {
        assert!(read::<Request>(&mut br#"{"command":"status"}"#.as_slice()).await.is_err());
        assert!(read::<Request>(&mut b"{}\n".as_slice()).await.is_err());
    }
}
