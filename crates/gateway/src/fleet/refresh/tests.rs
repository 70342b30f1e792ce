use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolgate_client::in_process::{Pipe, Serve};
use toolgate_client::{InProcess, ServerSpec, State, What};
use toolgate_protocol::{Message, Method, error};

use super::*;
use crate::fleet::Fleet;

/// Counts how often its tools are listed.
struct Counting {
    announces: bool,
    listed: Arc<AtomicUsize>,
}

impl Serve for Counting {
    fn serve(self: Arc<Self>, mut pipe: Pipe) -> BoxFuture<'static, String> {
        async move {
            let tools = if self.announces { r#"{"listChanged":true}"# } else { "{}" };
            while let Some(message) = pipe.next().await {
                let message = Message::parse(message).unwrap();
                let result = match message.method() {
                    Some(Method::Discover) => format!(
                        r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{tools}}}}}"#
                    ),
                    Some(Method::ToolsList) => {
                        self.listed.fetch_add(1, Ordering::SeqCst);
                        r#"{"resultType":"complete","tools":[]}"#.to_owned()
                    }
                    _ => continue,
                };
                if let Some(id) = message.id() {
                    pipe.voice().say(error::result_answer(id, result.as_bytes()));
                }
            }
            "nobody asks any more".to_owned()
        }
        .boxed()
    }
}

/// How often tools are listed within an hour.
async fn listed_in_an_hour(announces: bool, trusted_for: Duration) -> usize {
    let listed = Arc::new(AtomicUsize::new(0));
    let server = InProcess::new(Arc::new(Counting { announces, listed: Arc::clone(&listed) }));
    let (fleet, mut news): (Fleet, mpsc::Receiver<_>) = Fleet::new(TaskTracker::new());
    let member = fleet.apply(vec![ServerSpec::in_process("s", server).into()], |_| None).remove(0);
    while !matches!(news.recv().await.unwrap().what, What::State(status) if status.state == State::Ready) {}
    member.make_stale(&Kind::ALL);
    let keeping = keep_fresh(Arc::clone(&member), trusted_for, |member, listing| {
        member.listing.store(listing.map(Arc::new));
    });
    assert!(tokio::time::timeout(Duration::from_secs(3_600), keeping).await.is_err());
    fleet.stop(Duration::ZERO).await;
    listed.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn lists_are_fetched_again_when_they_are_old_unless_changes_are_announced() {
    let ten_minutes = Duration::from_secs(600);
    assert!((6..=7).contains(&listed_in_an_hour(false, ten_minutes).await));
    assert_eq!(listed_in_an_hour(true, ten_minutes).await, 1);
    assert_eq!(listed_in_an_hour(false, Duration::ZERO).await, 1);
}
