//! The local socket on which a running gateway is asked by our own commands.
//!
//! It lies in the state folder with mode 0600: who may write there is the same user, and needs no further proof. The
//! socket is bound under a name of its own and then renamed into place, so that two gateways that start at once never
//! leave a name that nobody listens on.

mod client;
mod wire;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use toolgate_admin::Operations;
use toolgate_gateway::Gateway;
use toolgate_gateway::downstream::health;

use crate::ask;
use crate::reload::Reloader;

pub(crate) use client::{Client, ClientError};
use wire::{Request, Response};

/// How many commands may ask at one time; further ones wait to be accepted.
const ASKING: usize = 32;
/// How long a command may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket in a state folder.
pub(crate) fn socket_path(state_dir: &Path) -> PathBuf {
    state_dir.join("control.sock")
}

/// A socket that is listened on. It is removed with this value.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
}

/// What commands may ask a running gateway for.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) reloader: Reloader,
    pub(crate) operations: Operations,
    /// Where clients connect.
    pub(crate) listening: String,
    /// The files and folders of the configuration.
    pub(crate) sources: Vec<PathBuf>,
}

impl Control {
    /// Listens in a state folder. Nothing where another gateway does already.
    pub(crate) fn listen(state_dir: &Path, desk: Desk) -> io::Result<Option<Control>> {
        let path = socket_path(state_dir);
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Ok(None);
        }
        let own = state_dir.join(format!("control.{}.sock", std::process::id()));
        if let Err(error) = fs::remove_file(&own)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(&own)?;
        fs::set_permissions(&own, Permissions::from_mode(0o600))?;
        fs::rename(&own, &path)?;
        let tracker = desk.gateway.tracker.clone();
        tracker.spawn(accept(listener, Arc::new(desk)));
        Ok(Some(Control { path }))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // One that is left behind is replaced by the next gateway.
        let _ = fs::remove_file(&self.path);
    }
}

async fn accept(listener: UnixListener, desk: Arc<Desk>) {
    let room = Arc::new(Semaphore::new(ASKING));
    let stopping = desk.gateway.stopping.clone();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the control socket takes no more commands");
                    return;
                }
            },
        };
        let desk = Arc::clone(&desk);
        let stopping = stopping.clone();
        desk.gateway.tracker.clone().spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = serve(stream, &desk) => {}
            }
            drop(place);
        });
    }
}

/// Answers one command after the other until it closes its side.
async fn serve(stream: UnixStream, desk: &Desk) {
    let mut stream = BufReader::new(stream);
    loop {
        let request = match tokio::time::timeout(PATIENCE, wire::read(&mut stream)).await {
            Ok(Ok(Some(request))) => request,
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(error)) => {
                let _ = wire::write(&mut stream, &Response::failed(error.to_string())).await;
                return;
            }
        };
        let response = answer(request, desk).await;
        if wire::write(&mut stream, &response).await.is_err() {
            return;
        }
    }
}

async fn answer(request: Request, desk: &Desk) -> Response {
    match request {
        Request::Status => Response::Ok(status(desk)),
        Request::Ask { method, params } => match ask::ask(&desk.gateway, &method, params).await {
            Ok(result) => Response::Ok(result),
            Err(error) => Response::Error(error),
        },
        Request::Operate { method, target, body } => {
            let Ok(method) = method.parse() else {
                return Response::failed(format!("{method} is no method"));
            };
            let answer = desk.operations.answer(&method, &target, body.to_string().as_bytes()).await;
            Response::Ok(json!([answer.status.as_u16(), answer.body]))
        }
        Request::Reload { dry_run } => match desk.reloader.reload(dry_run).await {
            Ok(difference) => match serde_json::to_value(difference) {
                Ok(difference) => Response::Ok(difference),
                Err(error) => Response::failed(error.to_string()),
            },
            Err(problem) => Response::failed(problem.to_string()),
        },
    }
}

/// How everything is, and who is asked.
fn status(desk: &Desk) -> Value {
    let mut status = health::report(&desk.gateway);
    if let Some(members) = status.as_object_mut() {
        members.insert("pid".into(), std::process::id().into());
        members.insert("listening".into(), desk.listening.as_str().into());
        members.insert("sources".into(), json!(desk.sources));
        members.insert("disabled".into(), json!(**desk.gateway.disabled.load()));
    }
    status
}
