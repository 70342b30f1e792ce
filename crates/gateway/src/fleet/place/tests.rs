use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc};
use toolgate_client::in_process::{Pipe, Serve};
use toolgate_client::{Call, Caller, InProcess, ServerSpec};
use toolgate_protocol::era::Envelope;
use toolgate_protocol::{Era, Message, Method, error};

use super::*;

/// Answers a call after this time.
struct Slow {
    takes: Duration,
    begun: Arc<Notify>,
}

impl Serve for Slow {
    fn serve(self: Arc<Self>, mut pipe: Pipe) -> BoxFuture<'static, String> {
        async move {
            while let Some(message) = pipe.next().await {
                let message = Message::parse(message).unwrap();
                let result = match message.method() {
                    Some(Method::Discover) => {
                        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
                    }
                    Some(Method::ToolsCall) => {
                        self.begun.notify_one();
                        tokio::time::sleep(self.takes).await;
                        r#"{"resultType":"complete","content":[]}"#
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

fn call(timeout: Option<Duration>) -> Call {
    let message = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
    let envelope = Envelope::new(Era::Modern, Bytes::from_static(b"{}"), None);
    Call {
        message: Message::parse(Bytes::from_static(message)).unwrap(),
        native: None,
        caller: Arc::new(Caller { key: 1, envelope, log_level: None }),
        line: 0,
        told: None,
        in_short: None,
        parameters: Vec::new(),
        timeout,
    }
}

/// Whether a call that takes so long is answered although its server is replaced as soon as it has begun.
async fn survives(takes: u64, call_timeout: u64, tool_timeout: Option<u64>) -> bool {
    let (news, _unheard) = mpsc::channel(64);
    let begun = Arc::new(Notify::new());
    let tool_timeout = tool_timeout.map(Duration::from_secs);
    let start = || {
        let server = Slow { takes: Duration::from_secs(takes), begun: Arc::clone(&begun) };
        let spec = ServerSpec {
            call_timeout: Duration::from_secs(call_timeout),
            longest_tool_timeout: tool_timeout,
            ..ServerSpec::in_process("s", InProcess::new(Arc::new(server)))
        };
        Server::start(spec, news.clone())
    };
    let (before, after) = (start(), start());
    let (place, tracker) = (Place::of(before.clone()), TaskTracker::new());
    let calling = tokio::spawn(async move { before.call(call(tool_timeout), &Arc::default()).await });
    begun.notified().await;
    place.take_over(&after, &CancellationToken::new(), &tracker);
    tracker.close();
    tracker.wait().await;
    calling.await.unwrap().is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_replaced_server_may_finish_the_longest_of_its_calls() {
    assert!(survives(120, 300, None).await, "longer than half a minute, shorter than it may take");
    assert!(survives(3_000, 300, Some(3_600)).await, "a tool with a time of its own");
    assert!(!survives(120, 60, None).await, "it took longer than it may");
}
