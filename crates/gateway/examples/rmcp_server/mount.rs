//! Any `rmcp` server as a server in this process.
//!
//! `rmcp` speaks over whatever is a `Transport`. Here that is the gateway's pipe, which carries whole messages: no byte
//! stream, no lines and no second task lie between. Copy this file, or take the pattern for another library.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::service::{QuitReason, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use toolgate_client::InProcess;
use toolgate_client::in_process::{Pipe, Serve};

/// Makes servers of one kind, one for each connection. There is a single connection unless a server is isolated, and a
/// new one when it had to begin again.
struct Mounted<F> {
    make: F,
}

/// A pipe as `rmcp` wants it.
struct PipeTransport {
    pipe: Pipe,
}

/// Mounts a server. `make` is asked for a handler whenever the gateway connects; what shall outlive a connection is
/// shared between the handlers it makes.
pub(crate) fn mount<S: ServerHandler>(make: impl Fn() -> S + Send + Sync + 'static) -> InProcess {
    InProcess::new(Arc::new(Mounted { make }))
}

impl<S: ServerHandler, F: Fn() -> S + Send + Sync + 'static> Serve for Mounted<F> {
    fn serve(self: Arc<Self>, pipe: Pipe) -> BoxFuture<'static, String> {
        async move {
            // Dropping either future ends the server and cancels what it has under way.
            let running = match (self.make)().serve(PipeTransport { pipe }).await {
                Ok(running) => running,
                Err(error) => return error.to_string(),
            };
            match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => format!("the server failed: {error}"),
                Ok(_) => "the server ended".to_owned(),
            }
        }
        .boxed()
    }
}

impl PipeTransport {
    fn say(&self, message: &TxJsonRpcMessage<RoleServer>) {
        match serde_json::to_vec(message) {
            Ok(bytes) => self.pipe.voice().say(bytes.into()),
            Err(error) => tracing::error!(%error, "a message of the server is no JSON"),
        }
    }
}

impl Transport<RoleServer> for PipeTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.say(&message);
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let bytes = self.pipe.next().await?;
            match serde_json::from_slice(&bytes) {
                Ok(message) => return Some(message),
                // The gateway sends JSON-RPC only, but it passes parameters on as clients write them.
                Err(error) => {
                    let refusal = ErrorData::invalid_request(error.to_string(), None);
                    self.say(&TxJsonRpcMessage::<RoleServer>::error(refusal, id_of(&bytes)));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn id_of(message: &[u8]) -> Option<rmcp::model::RequestId> {
    let message: serde_json::Value = serde_json::from_slice(message).ok()?;
    serde_json::from_value(message.get("id")?.clone()).ok()
}
