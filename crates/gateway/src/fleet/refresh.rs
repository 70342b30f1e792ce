//! Keeping what a server lists fresh.
//!
//! Each kind of list stands for itself: one that cannot be fetched stays what it was and is asked for again, while the
//! others are taken.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use toolgate_client::{Backoff, CallError};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Kind as MessageKind, object, text};

use crate::catalog::{Kind, Listing, UnusablePage};
use crate::fleet::Member;

/// How many of the entries that are left out are told by name. A server may have thousands of them.
const TOLD: usize = 5;

/// The extension by which servers list skills.
const SKILLS: &str = "io.modelcontextprotocol/skills";

/// Why a server's lists could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// News of an earlier server of the same name can ask for lists before this one has said anything.
    #[error("the server has not been reached yet")]
    NotReached,
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Page(#[from] UnusablePage),
    #[error("the server answered '{method}' with an error: {error}")]
    Refused { method: &'static str, error: String },
}

/// Waits until lists of a server are stale and fetches them, until the server is removed. Those whose changes it does not
/// announce are stale after `trusted_for`, if that is any time. `fresh` is called after each attempt: with the new listing,
/// or without where there is none.
pub async fn keep_fresh(
    member: Arc<Member>,
    trusted_for: Duration,
    fresh: impl Fn(&Arc<Member>, Option<Listing>),
) {
    let mut again = Again::default();
    let mut trusted_since = Instant::now();
    loop {
        let old = async {
            if trusted_for.is_zero() {
                return std::future::pending().await;
            }
            sleep(trusted_for.saturating_sub(trusted_since.elapsed())).await;
        };
        tokio::select! {
            () = member.stop.cancelled() => return,
            () = member.refresh.notified() => {}
            () = again.due() => {
                let kinds = again.take();
                // One that is not connected is asked for all its lists once it is.
                if member.is_ready() {
                    member.make_stale(&kinds);
                }
            }
            () = old => {
                trusted_since = Instant::now();
                // One that sleeps is not woken for it, and one that is down is asked when it is there again.
                if member.is_ready() {
                    member.make_stale(&unannounced(&member));
                }
                continue;
            }
        }
        let kinds = member.take_stale();
        if kinds.is_empty() {
            continue;
        }
        let fetched = tokio::select! {
            () = member.stop.cancelled() => return,
            fetched = fetch(&member, &kinds) => fetched,
        };
        match fetched {
            Ok(Fetched { listing, failed }) => {
                again.later(&failed);
                fresh(&member, Some(listing));
            }
            // It will be asked again when it is ready; until then it has not been heard of.
            Err(RefreshError::NotReached) => {}
            Err(error) => {
                tracing::warn!(server = %member.server.name(), %error, "the lists could not be fetched");
                again.later(&kinds);
                fresh(&member, None);
            }
        }
    }
}

/// Which lists are asked for once more, and when.
#[derive(Default)]
struct Again {
    kinds: Vec<Kind>,
    at: Option<Instant>,
    backoff: Backoff,
}

impl Again {
    /// After an attempt: what could not be fetched is wanted later, and later still if that goes on.
    fn later(&mut self, failed: &[Kind]) {
        if failed.is_empty() && self.kinds.is_empty() {
            self.backoff.succeed();
            return;
        }
        for kind in failed {
            if !self.kinds.contains(kind) {
                self.kinds.push(*kind);
            }
        }
        if !failed.is_empty() {
            self.at = Some(Instant::now() + self.backoff.fail());
        }
    }

    async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn take(&mut self) -> Vec<Kind> {
        self.at = None;
        std::mem::take(&mut self.kinds)
    }
}

/// What a server lists, and the kinds of which nothing could be learned.
struct Fetched {
    listing: Listing,
    failed: Vec<Kind>,
}

async fn fetch(member: &Member, kinds: &[Kind]) -> Result<Fetched, RefreshError> {
    // Without a greeting it is not known what it offers, which is not the same as nothing.
    let greeting = member.server.status().greeting.ok_or(RefreshError::NotReached)?;
    let capabilities = greeting.capabilities.clone();
    let before = member.listing.load_full();
    let mut listing = Listing::new(Arc::clone(member.server.name()), Some(greeting), member.over_http());
    let mut left_out = LeftOut::default();
    let mut failed = Vec::new();
    for kind in Kind::ALL {
        if !declares(&capabilities, kind) {
            continue;
        }
        match &before {
            // What did not change is kept as it was.
            Some(before) if !kinds.contains(&kind) => listing.keep(kind, before),
            _ => match fetch_list(member, kind, &mut listing, &mut left_out).await {
                Ok(()) => {}
                // There is no connection, so the other lists cannot be had either.
                Err(error @ RefreshError::Call(CallError::Unavailable { .. })) => return Err(error),
                Err(error) => {
                    let method = kind.method().name();
                    tracing::warn!(server = %member.server.name(), method, %error, "a list could not be fetched");
                    match &before {
                        Some(before) => listing.keep(kind, before),
                        None => listing.forget(kind),
                    }
                    failed.push(kind);
                }
            },
        }
    }
    if left_out.count > 0 {
        let LeftOut { count, first } = left_out;
        tracing::warn!(server = %member.server.name(), count, ?first, "some of what it lists is not offered");
    }
    Ok(Fetched { listing, failed })
}

/// What a server lists and clients do not get.
#[derive(Default)]
struct LeftOut {
    count: usize,
    /// The first ones, and why.
    first: Vec<String>,
}

async fn fetch_list(
    member: &Member,
    kind: Kind,
    listing: &mut Listing,
    left_out: &mut LeftOut,
) -> Result<(), RefreshError> {
    let mut cursor: Option<String> = None;
    loop {
        let params = match &cursor {
            None => Bytes::from_static(b"{}"),
            Some(cursor) => Bytes::from(format!(r#"{{"cursor":{}}}"#, text::quote(cursor))),
        };
        let answer = member.server.request(kind.method(), params).await?;
        if answer.message.kind() == MessageKind::Error {
            // Servers often declare what they have nothing of, such as templates; and an extension that does not work
            // is not asked for again and again.
            if kind == Kind::Skill || answer.message.field(Field::Code) == Some(b"-32601") {
                return Ok(());
            }
            let error = answer.message.body().map(|error| String::from_utf8_lossy(error).into_owned());
            return Err(RefreshError::Refused {
                method: kind.method().name(),
                error: error.unwrap_or_default(),
            });
        }
        let result = answer.message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let added = listing.add_page(kind, &result)?;
        left_out.count += added.dropped.len();
        let room = TOLD.saturating_sub(left_out.first.len());
        let told = added.dropped.iter().take(room).map(|dropped| format!("{} {}", dropped.what, dropped.why));
        left_out.first.extend(told);
        match added.next {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}

/// The lists whose changes a server does not announce.
fn unannounced(member: &Member) -> Vec<Kind> {
    let capabilities =
        member.server.status().greeting.map(|greeting| greeting.capabilities).unwrap_or_default();
    let announced = |kind| {
        let key = match kind {
            Kind::Tool => "tools",
            Kind::Prompt => "prompts",
            Kind::Resource | Kind::Template | Kind::Skill => "resources",
        };
        let declared = object::value_of(&capabilities, key);
        declared.and_then(|declared| object::value_of(declared, "listChanged")) == Some(b"true".as_slice())
    };
    Kind::ALL.into_iter().filter(|kind| !announced(*kind)).collect()
}

fn declares(capabilities: &[u8], kind: Kind) -> bool {
    let key = match kind {
        Kind::Tool => "tools",
        Kind::Prompt => "prompts",
        Kind::Resource | Kind::Template => "resources",
        Kind::Skill => {
            let extensions = object::value_of(capabilities, "extensions");
            return extensions.is_some_and(|extensions| object::value_of(extensions, SKILLS).is_some());
        }
    };
    object::value_of(capabilities, key).is_some()
}

#[cfg(test)]
mod tests;
