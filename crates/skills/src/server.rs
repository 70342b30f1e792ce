//! The library as an MCP server: resources, the skills extension, and two tools for models that see neither.
//!
//! The server knows no callers. Whoever puts it behind a gate says with each request, in `_meta`, what the caller must
//! not learn of ([`HIDDEN`]); what a caller may read is decided before a read comes here.

mod answer;
mod arguments;
mod directory;
mod listing;
mod reading;
mod subscriptions;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::broadcast::{self, error::RecvError};
use toolgate_client::in_process::{Pipe, Serve};

use crate::library::{Difference, Library};
use subscriptions::Subscriptions;

/// In the `_meta` of a request: the URIs of skills that the caller must not learn of.
pub const HIDDEN: &str = "io.toolgate/hidden";
/// In the `_meta` of a listed resource: another URI that leads to it.
pub const ALIAS: &str = "io.toolgate/alias";
/// In the `_meta` of a tool: the argument that names the resource it reads. To call it is to read that resource.
pub const READS: &str = "io.toolgate/reads";
/// In the `_meta` of a tool: it speaks of resources, and must be told which are hidden.
pub const SHOWS_RESOURCES: &str = "io.toolgate/shows-resources";
/// In the `_meta` of what `read_skill` gives: the URI of the file.
pub const URI: &str = "io.toolgate/uri";
/// In the `_meta` of a listed resource and of contents: the entity tag.
pub const ETAG: &str = "io.toolgate/etag";
/// In the `_meta` of a read: entity tags that the caller has the content of.
pub const IF_NONE_MATCH: &str = "io.toolgate/if-none-match";
/// In the `_meta` of a result: the caller has the content already.
pub const NOT_MODIFIED: &str = "io.toolgate/not-modified";
/// In the `_meta` of a read, the part that is wanted, as in HTTP's `Range`; in that of contents, the part that is there.
pub const RANGE: &str = "io.toolgate/range";

/// How many changes a connection may be behind before it is only told that there were some.
const CHANGES: usize = 16;

/// A server of skills. What it serves can be replaced while it runs.
#[derive(Debug)]
pub struct SkillsServer {
    library: ArcSwap<Library>,
    changes: broadcast::Sender<Arc<Difference>>,
    /// How long clients may keep what they were told.
    time_to_live: Duration,
}

impl SkillsServer {
    /// A server of this library.
    pub fn new(library: Library, time_to_live: Duration) -> SkillsServer {
        let (changes, _) = broadcast::channel(CHANGES);
        SkillsServer { library: ArcSwap::from_pointee(library), changes, time_to_live }
    }

    /// What is served now.
    pub fn library(&self) -> Arc<Library> {
        self.library.load_full()
    }

    /// Serves another library from now on, and tells clients what is different.
    pub fn replace(&self, library: Library) -> Arc<Difference> {
        let before = self.library.swap(Arc::new(library));
        let difference = Arc::new(self.library.load().since(&before));
        if !difference.is_empty() {
            // Nobody may be listening.
            let _ = self.changes.send(Arc::clone(&difference));
        }
        difference
    }

    async fn attend(self: Arc<Self>, mut pipe: Pipe) -> String {
        let mut changes = self.changes.subscribe();
        let mut subscriptions = Subscriptions::default();
        loop {
            tokio::select! {
                message = pipe.next() => {
                    let Some(message) = message else { return "the connection was closed".to_owned() };
                    for reply in self.answer(message, &mut subscriptions) {
                        pipe.voice().say(reply);
                    }
                }
                change = changes.recv() => {
                    let notices = match change {
                        Ok(difference) => subscriptions.notices(Some(&difference)),
                        Err(RecvError::Lagged(_)) => subscriptions.notices(None),
                        Err(RecvError::Closed) => return "the server is gone".to_owned(),
                    };
                    notices.into_iter().for_each(|notice| pipe.voice().say(notice));
                }
            }
        }
    }
}

impl Serve for SkillsServer {
    fn serve(self: Arc<Self>, pipe: Pipe) -> BoxFuture<'static, String> {
        self.attend(pipe).boxed()
    }
}

#[cfg(test)]
mod tests;
