//! What each server lists, followed as it changes, and the registry that is made of all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use toolgate_protocol::{Kind, Method, Object};

use crate::call::CallError;
use crate::news::{News, What};
use crate::server::Server;
use crate::status::State;
use crate::tool_registry::ToolRegistry;

/// More pages than this are a server that never ends its list.
const MOST_PAGES: usize = 1_000;

/// Why a server's tools are not known.
#[derive(Debug, thiserror::Error)]
enum NotListed {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the server answered 'tools/list' with {0}")]
    Unusable(String),
}

/// What all servers listed, and the registry made of it.
#[derive(Debug)]
pub(super) struct Board {
    listings: Mutex<BTreeMap<Arc<str>, Listing>>,
    registry: ArcSwap<ToolRegistry>,
    /// Told when a server has been heard of.
    heard: Notify,
    reserved: BTreeSet<String>,
    max_result_chars: usize,
    begun: AtomicU64,
}

/// Tells a server apart from an earlier one of the same name, whose last news must not count for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(u64);

#[derive(Debug)]
struct Listing {
    server: Server,
    generation: Generation,
    /// Whether it has been heard of: it listed its tools, or it failed.
    settled: bool,
    tools: Vec<Value>,
}

impl Board {
    pub(super) fn new(reserved: BTreeSet<String>, max_result_chars: usize) -> Board {
        Board {
            listings: Mutex::default(),
            registry: ArcSwap::default(),
            heard: Notify::new(),
            reserved,
            max_result_chars,
            begun: AtomicU64::new(0),
        }
    }

    pub(super) fn registry(&self) -> Arc<ToolRegistry> {
        self.registry.load_full()
    }

    /// How many tools a server listed.
    pub(super) fn listed(&self, name: &str) -> usize {
        self.listings().get(name).map_or(0, |listing| listing.tools.len())
    }

    /// A server that will be heard of.
    pub(super) fn expect(&self, server: &Server) -> Generation {
        let generation = Generation(self.begun.fetch_add(1, Ordering::Relaxed));
        let listing = Listing { server: server.clone(), generation, settled: false, tools: Vec::new() };
        self.listings().insert(Arc::clone(server.name()), listing);
        generation
    }

    /// Forgets all servers but these.
    pub(super) fn keep_only<'a>(&self, names: impl Iterator<Item = &'a String>) {
        let names: BTreeSet<&str> = names.map(String::as_str).collect();
        self.listings().retain(|name, _| names.contains(&**name));
        self.publish();
    }

    /// Waits until every server has been heard of, at most for `patience`.
    pub(super) async fn settled(&self, patience: Duration) {
        let all_settled = async {
            loop {
                let heard = self.heard.notified();
                tokio::pin!(heard);
                heard.as_mut().enable();
                if self.listings().values().all(|listing| listing.settled) {
                    return;
                }
                heard.await;
            }
        };
        if tokio::time::timeout(patience, all_settled).await.is_err() {
            tracing::warn!("some servers are still connecting; their tools come later");
        }
    }

    /// What a server lists now; without it, what it listed before stays.
    fn heard(&self, name: &str, generation: Generation, tools: Option<Vec<Value>>) {
        {
            let mut listings = self.listings();
            let listing = listings.get_mut(name).filter(|listing| listing.generation == generation);
            let Some(listing) = listing else { return };
            listing.settled = true;
            if let Some(tools) = tools {
                listing.tools = tools;
            }
        }
        // Published before anybody is told.
        self.publish();
        self.heard.notify_waiters();
    }

    fn publish(&self) {
        let listings = self.listings();
        let tools = listings.iter().map(|(name, listing)| (&**name, listing.tools.as_slice()));
        let servers = listings.values().map(|listing| listing.server.clone()).collect();
        self.registry.store(Arc::new(ToolRegistry::new(
            tools,
            servers,
            &self.reserved,
            self.max_result_chars,
        )));
    }

    fn listings(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Listing>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows the news of one server until it is removed.
pub(super) async fn follow(
    server: Server,
    generation: Generation,
    mut news: mpsc::Receiver<News>,
    board: Arc<Board>,
) {
    while let Some(news) = news.recv().await {
        match news.what {
            What::State(status) if status.state == State::Down => {
                let cause = status.cause.as_deref().unwrap_or("");
                tracing::error!(server = %server.name(), cause, "the server is down; the others go on");
                board.heard(server.name(), generation, None);
            }
            What::State(status) if status.state == State::Ready => refresh(&server, generation, &board).await,
            What::ToolsChanged => refresh(&server, generation, &board).await,
            // Questions among these are answered with an error when they are dropped: there is nobody to ask.
            _ => {}
        }
    }
}

async fn refresh(server: &Server, generation: Generation, board: &Board) {
    let tools = match list(server).await {
        Ok(tools) => Some(tools),
        Err(error) => {
            tracing::warn!(server = %server.name(), %error, "the tools could not be listed");
            None
        }
    };
    board.heard(server.name(), generation, tools);
}

async fn list(server: &Server) -> Result<Vec<Value>, NotListed> {
    let capabilities = server.status().greeting.map(|greeting| greeting.capabilities).unwrap_or_default();
    if !Object::parse(&capabilities).is_ok_and(|capabilities| capabilities.get("tools").is_some()) {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let answer = server.request(Method::ToolsList, Bytes::from(params.to_string())).await?;
        let body = answer.message.body().unwrap_or(b"{}");
        if answer.message.kind() == Kind::Error {
            return Err(NotListed::Unusable(String::from_utf8_lossy(body).into_owned()));
        }
        let mut page: Value =
            serde_json::from_slice(body).map_err(|error| NotListed::Unusable(error.to_string()))?;
        match page.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) => all.extend(tools),
            _ => return Err(NotListed::Unusable("no list".to_owned())),
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(all),
        }
    }
    Err(NotListed::Unusable(format!("more than {MOST_PAGES} pages")))
}
