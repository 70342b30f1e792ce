//! Bound tools as an MCP server in this process.
//!
//! Each call is a task of its connection, so that slow answers hold nobody up; a cancelled call is dropped with its
//! request, and all of them end with the connection. How many there are at a time is the gate's to say.

mod answer;
mod subscriptions;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use toolgate_client::in_process::{Pipe, Serve};
use toolgate_protocol::{Kind, Message, Method};

use crate::courier::Courier;
use crate::tool::Tools;
use answer::Spoken;
use subscriptions::Subscriptions;

/// A server of bound tools. They can be replaced while it runs.
#[derive(Debug)]
pub struct BindingsServer {
    tools: ArcSwap<Tools>,
    courier: Courier,
    /// Counts the changes of the tools.
    changes: watch::Sender<u64>,
}

impl BindingsServer {
    /// A server of these tools, whose requests this courier sends.
    pub fn new(tools: Tools, courier: Courier) -> BindingsServer {
        let (changes, _) = watch::channel(0);
        BindingsServer { tools: ArcSwap::from_pointee(tools), courier, changes }
    }

    /// What is served now.
    pub fn tools(&self) -> Arc<Tools> {
        self.tools.load_full()
    }

    /// Serves other tools from now on. Clients are told where they would see a difference, which is then answered with yes.
    pub fn replace(&self, tools: Tools) -> bool {
        let before = self.tools.swap(Arc::new(tools));
        let differs = !before.is_same_as(&self.tools.load());
        if differs {
            self.changes.send_modify(|count| *count += 1);
        }
        differs
    }

    async fn attend(self: Arc<Self>, mut pipe: Pipe) -> String {
        let mut changes = self.changes.subscribe();
        let mut subscriptions = Subscriptions::default();
        let mut calls: JoinSet<(Vec<u8>, Bytes)> = JoinSet::new();
        let mut under_way: HashMap<Vec<u8>, AbortHandle> = HashMap::new();
        loop {
            tokio::select! {
                message = pipe.next() => {
                    let Some(message) = message else { return "the connection was closed".to_owned() };
                    match self.hear(message, &mut subscriptions) {
                        Spoken::Nothing => {}
                        Spoken::Answer(answer) => pipe.voice().say(answer),
                        Spoken::Call(id, call) => {
                            let running = id.clone();
                            let handle = calls.spawn(async move { (running, call.await) });
                            under_way.insert(id, handle);
                        }
                        Spoken::Cancelled(id) => {
                            if let Some(call) = under_way.remove(&id) {
                                call.abort();
                            }
                        }
                    }
                }
                Some(done) = calls.join_next() => {
                    // A cancelled call has no answer.
                    if let Ok((id, answer)) = done {
                        under_way.remove(&id);
                        pipe.voice().say(answer);
                    }
                }
                changed = changes.changed() => {
                    if changed.is_err() {
                        return "the server is gone".to_owned();
                    }
                    subscriptions.notices().into_iter().for_each(|notice| pipe.voice().say(notice));
                }
            }
        }
    }

    fn hear(self: &Arc<Self>, bytes: Bytes, subscriptions: &mut Subscriptions) -> Spoken {
        let Ok(message) = Message::parse(bytes) else { return Spoken::Nothing };
        match (message.kind(), message.method(), message.id()) {
            (Kind::Request, Some(Method::Listen), Some(id)) => {
                Spoken::Answer(subscriptions.begin(id, &message))
            }
            (Kind::Request, method, Some(id)) => self.answer(&message, method.unwrap_or(Method::Unknown), id),
            (Kind::Notification, Some(Method::Cancelled), _) => answer::cancelled(&message, subscriptions),
            _ => Spoken::Nothing,
        }
    }
}

impl Serve for BindingsServer {
    fn serve(self: Arc<Self>, pipe: Pipe) -> BoxFuture<'static, String> {
        self.attend(pipe).boxed()
    }
}
