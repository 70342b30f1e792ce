//! Servers in this process are servers like all others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use toolgate_client::in_process::{Pipe, Serve};
use toolgate_client::{CallError, InProcess, State, Transport};
use toolgate_protocol::{Message, Method, error};

use crate::rig::{Rig, spec};

/// Has no tools, and ends its connection when it is asked for prompts.
#[derive(Default)]
struct Parrot {
    connections: AtomicUsize,
}

impl Serve for Parrot {
    fn serve(self: Arc<Self>, mut pipe: Pipe) -> BoxFuture<'static, String> {
        self.connections.fetch_add(1, Ordering::SeqCst);
        async move {
            while let Some(message) = pipe.next().await {
                let message = Message::parse(message).unwrap();
                let result = match message.method() {
                    Some(Method::Discover) => {
                        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
                    }
                    Some(Method::ToolsList) => r#"{"resultType":"complete","tools":[]}"#,
                    Some(Method::PromptsList) => return "it had enough".to_owned(),
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

#[tokio::test]
async fn one_is_greeted_asked_and_begun_again_when_it_ends() {
    let parrot = Arc::new(Parrot::default());
    let server = InProcess::new(Arc::<Parrot>::clone(&parrot));
    assert_eq!(server, server.clone());
    assert_ne!(server, InProcess::new(Arc::new(Parrot::default())));
    let mut rig = Rig::start(spec(Transport::InProcess(server)));
    rig.until(State::Ready).await;
    let ask = |method| rig.server.request(method, Bytes::from_static(b"{}"));
    let tools = ask(Method::ToolsList).await.unwrap();
    assert_eq!(tools.message.body(), Some(br#"{"resultType":"complete","tools":[]}"#.as_slice()));
    let ended = ask(Method::PromptsList).await;
    assert!(matches!(&ended, Err(CallError::Broken { cause, .. }) if cause == "it had enough"), "{ended:?}");
    assert!(ask(Method::ToolsList).await.is_ok(), "a call waits for the new connection");
    assert_eq!(parrot.connections.load(Ordering::SeqCst), 2);
}
