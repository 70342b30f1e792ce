//! Several processes that are one server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolgate_client::{Answer, Call, CallError, ServerSpec, State, What};
use toolgate_protocol::Message;

use crate::rig::{LONG, Rig, call, caller, scripted, spec};

fn pool(processes: usize) -> ServerSpec {
    ServerSpec { processes, ..spec(scripted("modern")) }
}

/// Calls that the server never answers. They are dropped with this.
struct Held(Vec<JoinHandle<Result<Answer, CallError>>>);

impl Held {
    async fn at(rig: &Rig, count: usize) -> Held {
        let mut held = Held(Vec::new());
        for _ in 0..count {
            held.0.push(begin(rig, "silent"));
            tokio::task::yield_now().await;
        }
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

fn begin(rig: &Rig, tool: &str) -> JoinHandle<Result<Answer, CallError>> {
    let (server, call) = (rig.server.clone(), call(tool, caller(1)));
    tokio::spawn(async move { server.call(call, &Arc::default()).await })
}

async fn number(rig: &Rig) -> String {
    rig.tool("number").await.unwrap()["number"].as_str().unwrap_or_default().to_owned()
}

/// Waits until so many processes answer, so that it is known which one a call goes to.
async fn until_all_answer(rig: &Rig, count: usize) {
    let look = async {
        'again: loop {
            for busy in 0..count {
                let _held = Held::at(rig, busy).await;
                if number(rig).await != (busy + 1).to_string() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue 'again;
                }
            }
            return;
        }
    };
    tokio::time::timeout(LONG, look).await.unwrap_or_else(|_| panic!("not all of {count} processes answer"));
}

#[tokio::test]
async fn a_call_goes_to_the_process_with_the_fewest() {
    let rig = Rig::start(pool(3));
    until_all_answer(&rig, 3).await;
    let _held = Held::at(&rig, 1).await;
    assert_eq!(number(&rig).await, "2");
    let _held_too = Held::at(&rig, 2).await;
    assert_eq!(number(&rig).await, "1", "all have one, and the first comes first");
}

#[tokio::test]
async fn one_that_crashes_loses_its_own_calls_and_comes_back() {
    let mut rig = Rig::start(pool(2));
    until_all_answer(&rig, 2).await;
    let held = Held::at(&rig, 1).await;
    let error = rig.tool("exit").await.unwrap_err();
    let CallError::Broken { cause, .. } = &error else { panic!("{error}") };
    assert!(cause.contains("status 7") && cause.contains("these are my last words"), "{cause}");
    let status = rig.news(|what| state_with_cause(what, "process 2 of 2")).await;
    assert_eq!(status, State::Ready, "the other still answers");
    assert!(!held.0.iter().any(JoinHandle::is_finished), "a call of the other process ended too");
    drop(held);
    until_all_answer(&rig, 2).await;
    assert_eq!(rig.server.status().cause, None);
}

#[tokio::test]
async fn one_that_is_stuck_gets_no_calls_until_it_is_replaced() {
    let mut rig = Rig::start(ServerSpec { call_timeout: Duration::from_secs(5), ..pool(2) });
    until_all_answer(&rig, 2).await;
    let stuck = begin(&rig, "stuck");
    tokio::task::yield_now().await;
    rig.news(|what| state_with_cause(what, "gets no new calls")).await;
    let held = Held::at(&rig, 3).await;
    assert_eq!(number(&rig).await, "2", "the other has more to do, but it answers");
    drop(held);
    assert!(stuck.await.unwrap().is_err());
    rig.news(|what| state_with_cause(what, "it has answered nothing for 5 s")).await;
    until_all_answer(&rig, 1).await;
}

#[tokio::test]
async fn answers_go_to_the_process_that_asked() {
    let rig = Rig::start(pool(3));
    until_all_answer(&rig, 3).await;
    for expected in ["3", "1", "2"] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "number", "requestState": format!("{expected}.abc"), "inputResponses": {}}});
        let message = Message::parse(Bytes::from(message.to_string())).unwrap();
        let answer = rig.call(Call { message, ..call("number", caller(1)) }).await.unwrap();
        assert_eq!(answer["number"], Value::from(expected));
    }
}

#[tokio::test]
async fn sleepers_are_woken_as_they_are_needed() {
    let mut rig = Rig::start(ServerSpec { on_demand: true, ..pool(2) });
    assert_eq!(rig.server.status().state, State::Asleep);
    assert_eq!(number(&rig).await, "1");
    assert_eq!(number(&rig).await, "1", "one is enough for one call at a time");
    until_all_answer(&rig, 2).await;
    rig.until(State::Ready).await;
}

#[tokio::test]
async fn a_stop_waits_for_the_calls_of_all() {
    let rig = Rig::start(pool(2));
    until_all_answer(&rig, 2).await;
    let held = Held::at(&rig, 2).await;
    let mut stopping = Box::pin(rig.server.stop(LONG));
    tokio::select! {
        () = &mut stopping => panic!("calls were under way"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    assert_eq!(rig.server.status().state, State::Draining);
    assert!(matches!(rig.tool("number").await, Err(CallError::Unavailable { .. })));
    drop(held);
    tokio::time::timeout(LONG, stopping).await.unwrap();
}

fn state_with_cause(what: What, words: &str) -> Option<State> {
    match what {
        What::State(status) if status.cause.as_ref().is_some_and(|cause| cause.contains(words)) => {
            Some(status.state)
        }
        _ => None,
    }
}
