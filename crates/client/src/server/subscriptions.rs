//! What a server shall tell unasked, kept as the clients want it while the connection lives.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::{sleep, timeout};
use toolgate_protocol::{Kind, Message, Method, text};

use super::Shared;
use crate::backoff::Backoff;
use crate::connection::WireError;
use crate::link::Link;
use crate::news::What;
use crate::outbox::Outbox;

/// Failures in a row after which the server counts as degraded.
const DEGRADED_AFTER: u32 = 3;

/// Why a stream of notifications ended.
enum Ended {
    /// The server has no such thing.
    Unsupported,
    /// It may be opened again.
    Over(String),
    /// The server cannot be reached at all.
    Unreachable(String),
}

/// Tells a legacy server the differences: resources to watch, and the level of logs.
pub(super) async fn legacy(shared: &Shared, link: &Link) {
    let limit = shared.spec.call_timeout;
    let mut wishes = shared.wishes.subscribe();
    let mut told = BTreeSet::new();
    let mut level = None;
    let watches_resources = link.is_able("resources", Some("subscribe"));
    loop {
        let wish = wishes.borrow_and_update().clone();
        if wish.log_level != level {
            level.clone_from(&wish.log_level);
            link.set_log_level(level.as_deref().unwrap_or("info"), limit).await;
        }
        if watches_resources {
            for uri in told.difference(&wish.uris) {
                tell(shared, link, Method::ResourcesUnsubscribe, uri).await;
            }
            for uri in wish.uris.difference(&told) {
                tell(shared, link, Method::ResourcesSubscribe, uri).await;
            }
            told = wish.uris;
        }
        if wishes.changed().await.is_err() {
            return;
        }
    }
}

async fn tell(shared: &Shared, link: &Link, method: Method, uri: &str) {
    let params = format!(r#"{{"uri":{}}}"#, text::quote(uri));
    let answer = link.request(method, params.as_bytes(), shared.spec.call_timeout).await;
    let failure = match answer {
        Ok(answer) if answer.kind() == Kind::Result => return,
        Ok(answer) => String::from_utf8_lossy(answer.body().unwrap_or_default()).into_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(server = %shared.spec.name, uri, "'{}' failed: {failure}", method.name());
}

/// Keeps one `subscriptions/listen` open at a modern server; a changed wish opens the new one before the old is closed.
pub(super) async fn modern(shared: &Shared, link: &Link) {
    let mut wishes = shared.wishes.subscribe();
    let mut backoff = Backoff::default();
    loop {
        let failure = match listen(shared, link, &mut wishes, &mut backoff).await {
            Ended::Unsupported => return,
            Ended::Unreachable(cause) => return link.ending.end(cause),
            Ended::Over(cause) => cause,
        };
        let wait = backoff.fail();
        if backoff.failures() > DEGRADED_AFTER {
            link.unwell(format!("its stream of notifications cannot be kept open: {failure}"));
        }
        sleep(wait).await;
    }
}

async fn listen(
    shared: &Shared,
    link: &Link,
    wishes: &mut tokio::sync::watch::Receiver<super::Wishes>,
    backoff: &mut Backoff,
) -> Ended {
    let outbox = Arc::new(Outbox::default());
    let params = filter(&wishes.borrow_and_update().uris);
    let mut current = Box::pin(open(link, params, Arc::clone(&outbox)));
    let mut acknowledged = false;
    loop {
        tokio::select! {
            ended = &mut current => return judge(ended),
            _ = outbox.next(), if !acknowledged => {
                acknowledged = true;
                backoff.succeed();
                link.healthy();
                // What changed before the server knew that we listen, it told nobody.
                shared.board.announce(What::Heard);
            }
            changed = wishes.changed() => {
                if changed.is_err() {
                    return Ended::Unsupported;
                }
                let fresh_outbox = Arc::new(Outbox::default());
                let params = filter(&wishes.borrow_and_update().uris);
                let mut fresh = Box::pin(open(link, params, Arc::clone(&fresh_outbox)));
                let opened = async {
                    tokio::select! {
                        ended = &mut fresh => Some(judge(ended)),
                        _ = fresh_outbox.next() => None,
                        // The old one is read on, so that nothing is missed meanwhile.
                        _ = &mut current => None,
                    }
                };
                if let Ok(Some(ended)) = timeout(shared.spec.connect_timeout, opened).await {
                    return ended;
                }
                current = fresh;
            }
        }
    }
}

async fn open(link: &Link, params: String, outbox: Arc<Outbox>) -> Result<Message, WireError> {
    link.request_with(Method::Listen, params.as_bytes(), &outbox).await
}

fn judge(ended: Result<Message, WireError>) -> Ended {
    match ended {
        Ok(answer) if answer.kind() == Kind::Result => Ended::Over("the server ended it".to_owned()),
        Ok(_) => Ended::Unsupported,
        Err(WireError::Unreachable(cause)) => Ended::Unreachable(cause),
        Err(WireError::Refused { status: 400 | 404 | 405 | 501, .. }) => Ended::Unsupported,
        Err(error) => Ended::Over(error.to_string()),
    }
}

/// The `params` of `subscriptions/listen`.
fn filter(uris: &BTreeSet<String>) -> String {
    let uris: Vec<_> = uris.iter().map(|uri| text::quote(uri)).collect();
    format!(
        r#"{{"notifications":{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":[{}]}}}}"#,
        uris.join(",")
    )
}
