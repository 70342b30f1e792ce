//! The stream on which a legacy server speaks unasked.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::connection::WireError;
use crate::connection::streamable_http::{Cursor, StreamableHttp};
use crate::http::Reply;
use crate::http::event_stream::EventReader;
use crate::link::Link;

/// A stream that lasted this long was a good one: the next is opened without a growing wait.
const GOOD: Duration = Duration::from_secs(5);

/// Failures in a row after which the server counts as degraded.
const DEGRADED_AFTER: u32 = 3;

/// Keeps the stream open while the connection lives. A server without one (405) is left in peace.
pub(crate) async fn listen(link: Arc<Link>, http: &StreamableHttp) {
    let mut cursor = Cursor::default();
    let mut is_first = true;
    let mut backoff = Backoff::default();
    loop {
        let wait = match http.open_stream(cursor.last_id.as_deref()).await {
            Ok(reply) => {
                link.healthy();
                if std::mem::take(&mut is_first) {
                    // What changed before the server had a stream to tell it on, it may have told nobody.
                    http.hearing.begins();
                }
                let begun = tokio::time::Instant::now();
                read(reply, http, &mut cursor).await;
                if begun.elapsed() >= GOOD || cursor.has_wait() {
                    backoff.succeed();
                    cursor.wait()
                } else {
                    backoff.fail().max(cursor.wait())
                }
            }
            Err(WireError::Refused { status: 400 | 404 | 405 | 406 | 501, .. }) => return,
            Err(error @ (WireError::Forgotten | WireError::Unreachable(_))) => {
                return link.ending.end(error.to_string());
            }
            Err(error) => {
                let wait = backoff.fail();
                if backoff.failures() >= DEGRADED_AFTER {
                    link.unwell(format!("its stream of notifications cannot be opened: {error}"));
                }
                wait
            }
        };
        sleep(wait).await;
    }
}

async fn read(mut reply: Reply<'_>, http: &StreamableHttp, cursor: &mut Cursor) {
    let mut events = EventReader::new(http.max_message_bytes());
    while let Ok(Some(chunk)) = reply.chunk().await {
        if events.push(&chunk).is_err() {
            http.hearing.unusable(None, "an event longer than a message may be".to_owned());
            return;
        }
        while let Some(event) = events.next() {
            cursor.note(&event);
            if !event.data.is_empty() {
                http.hearing.hear(event.data);
            }
        }
    }
}
