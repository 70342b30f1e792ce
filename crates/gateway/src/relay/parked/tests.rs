//! How long calls wait for their clients.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate_client::capacity::Capacity;
use toolgate_client::in_process::{Pipe, Serve};
use toolgate_client::{Call, Caller, InProcess, Server, ServerSpec};
use toolgate_protocol::Era;
use toolgate_protocol::era::Envelope;

use super::*;
use crate::principal::Principal;
use crate::relay::passage::{Cleared, Way};
use crate::relay::{Tasks, Traffic};

/// Longer than any call of these tests waits.
const LONG: Duration = Duration::from_secs(100_000);

/// A legacy server that asks something in every call and answers when it is answered.
struct Asking;

impl Serve for Asking {
    fn serve(self: Arc<Self>, mut pipe: Pipe) -> BoxFuture<'static, String> {
        async move {
            let mut call = Value::Null;
            while let Some(message) = pipe.next().await {
                let message: Value = serde_json::from_slice(&message).unwrap();
                let answer = match message["method"].as_str() {
                    Some("initialize") => {
                        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                            "serverInfo": {"name": "asking", "version": "1"}});
                        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
                    }
                    Some("tools/call") => {
                        call = message["id"].clone();
                        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}})
                    }
                    None => json!({"jsonrpc": "2.0", "id": call, "result": {"content": []}}),
                    Some(_) => continue,
                };
                pipe.voice().say(Bytes::from(answer.to_string()));
            }
            "the pipe has ended".to_owned()
        }
        .boxed()
    }
}

struct Scene {
    server: Server,
    traffic: Arc<Traffic>,
    client: Client,
}

impl Scene {
    fn open() -> Scene {
        let server = InProcess::new(Arc::new(Asking));
        let spec = ServerSpec { era: Some(Era::Legacy), ..ServerSpec::in_process("asking", server) };
        let (news, _) = mpsc::channel(100);
        let parked = Parked::new(Arc::new(Seal::new(&[7; 32]).unwrap()));
        let envelope = Envelope::new(Era::Modern, Bytes::from_static(br#"{"elicitation":{}}"#), None);
        Scene {
            server: Server::start(spec, news),
            traffic: Arc::new(Traffic { capacity: Capacity::new(10, 40), parked, tasks: Tasks::default() }),
            client: Client::Modern {
                caller: Arc::new(Caller { key: 1, envelope, log_level: None }),
                principal: Arc::new(Principal::named("ann")),
            },
        }
    }

    /// A call that is parked: the state that names it.
    async fn parked(&self, timeout: Duration) -> String {
        let message = request(&json!({"name": "t"}));
        let call = Call {
            message: message.clone(),
            native: None,
            caller: self.client.caller(),
            line: 0,
            told: None,
            in_short: None,
            parameters: Vec::new(),
            timeout: Some(timeout),
        };
        let way = Way {
            server: self.server.clone(),
            caller: 0,
            traffic: Arc::clone(&self.traffic),
            max_output_bytes: None,
            keeping: None,
            progress_after: LONG,
        };
        let asked = Asked::of(&message).unwrap();
        let mut passage = Passage::begin(asked, self.client.clone(), way, Cleared::Free(call), None);
        let answer = last(&mut passage).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        answer["result"]["requestState"].as_str().unwrap().to_owned()
    }

    async fn resumed(&self, state: &str) -> Result<Value, ErrorReply> {
        let responses = json!({"question-1": {"action": "decline"}});
        let message = request(&json!({"name": "t", "requestState": state, "inputResponses": responses}));
        let asked = Asked::of(&message).unwrap();
        let mut passage = self.traffic.parked.resume(&message, &self.client, &asked)?.unwrap();
        Ok(last(&mut passage).await)
    }
}

fn request(params: &Value) -> Message {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    Message::parse(Bytes::from(message.to_string())).unwrap()
}

async fn last(passage: &mut Passage) -> Value {
    match passage.next().await {
        Piece::Last(last) => serde_json::from_slice(&last.bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_until_its_time_is_over() {
    let scene = Scene::open();
    let state = scene.parked(LONG).await;
    tokio::time::advance(PATIENCE - Duration::from_secs(1)).await;
    scene.traffic.parked.sweep();
    assert!(scene.resumed(&state).await.unwrap()["result"]["content"].is_array());
    let state = scene.parked(LONG).await;
    tokio::time::advance(PATIENCE + Duration::from_secs(1)).await;
    let expired = scene.resumed(&state).await.unwrap_err();
    assert!(expired.message.contains("expired"), "{}", expired.message);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_gives_its_place_back_and_says_so_later() {
    let scene = Scene::open();
    let state = scene.parked(Duration::from_secs(60)).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(scene.server.quiet_for(), None);
    scene.traffic.parked.sweep();
    assert!(scene.server.quiet_for().is_some());
    assert_eq!(scene.resumed(&state).await.unwrap()["error"]["code"], -32004);
}
