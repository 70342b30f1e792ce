//! Small servers in this process, and a manager that has them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::super::*;
use crate::in_process::{InProcess, Pipe, Serve};

/// Lists these tools, which say who they belong to. `wait` does so when it may, `silent` never.
pub(super) struct Toy {
    /// What its tools say.
    pub(super) word: &'static str,
    pub(super) tools: Vec<String>,
    /// Whether it ends each connection at once.
    pub(super) broken: bool,
    /// It is greeted, and `wait` answers, when there is a permit.
    pub(super) greets: Arc<Semaphore>,
    pub(super) answers: Arc<Semaphore>,
    /// Has a permit for every call that has begun.
    pub(super) begun: Arc<Semaphore>,
}

impl Toy {
    pub(super) fn with(word: &'static str, tools: &[&str]) -> Toy {
        Toy {
            word,
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            broken: false,
            greets: Arc::new(Semaphore::new(1_000)),
            answers: Arc::new(Semaphore::new(0)),
            begun: Arc::new(Semaphore::new(0)),
        }
    }

    /// The same, greeted only when `greets` gets a permit.
    pub(super) fn that_waits(self) -> Toy {
        Toy { greets: Arc::new(Semaphore::new(0)), ..self }
    }

    pub(super) fn spec(self, name: &str) -> ServerSpec {
        ServerSpec::in_process(name, InProcess::new(Arc::new(self)))
    }

    async fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "server/discover" => {
                self.greets.acquire().await.ok()?.forget();
                Some(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))
            }
            "tools/list" => {
                let tool = |name: &String| json!({"name": name, "inputSchema": {"type": "object"}});
                Some(json!({"tools": self.tools.iter().map(tool).collect::<Vec<_>>()}))
            }
            "tools/call" => {
                self.begun.add_permits(1);
                match params["name"].as_str() {
                    Some("silent") => return None,
                    Some("wait") => self.answers.acquire().await.ok()?.forget(),
                    _ => {}
                }
                Some(json!({"content": [{"type": "text", "text": self.word}]}))
            }
            _ => None,
        }
    }
}

impl Serve for Toy {
    fn serve(self: Arc<Self>, mut pipe: Pipe) -> BoxFuture<'static, String> {
        async move {
            while let Some(message) = pipe.next().await {
                if self.broken {
                    return "it is broken".to_owned();
                }
                let message: Value = serde_json::from_slice(&message).unwrap();
                let (toy, voice) = (Arc::clone(&self), pipe.voice().clone());
                tokio::spawn(async move {
                    let method = message["method"].as_str().unwrap_or_default();
                    let Some(mut result) = toy.answer(method, &message["params"]).await else { return };
                    result["resultType"] = "complete".into();
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                    voice.say(Bytes::from(answer.to_string()));
                });
            }
            "nobody asks any more".to_owned()
        }
        .boxed()
    }
}

/// Makes these the servers of a manager, without waiting for them.
pub(super) async fn replace(manager: &Manager, servers: Vec<(ServerSpec, Offer)>) {
    let mut current = manager.current.lock().await;
    manager.replace_members(&mut current, servers);
}

/// A manager with these servers, each of which has been heard of.
pub(super) async fn manager_of(servers: Vec<(ServerSpec, Offer)>) -> Manager {
    let manager = Manager::without_servers(ManagerSettings::default());
    replace(&manager, servers).await;
    settle(&manager).await;
    manager
}

pub(super) async fn settle(manager: &Manager) {
    manager.board.settled(manager.settings.patience).await;
}

pub(super) fn names(manager: &Manager) -> Vec<String> {
    manager.registry().definitions().map(|definition| definition.name.clone()).collect()
}
