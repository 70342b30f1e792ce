//! The life of a server: starts, deaths, restarts, sleep, stop.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use toolgate_client::{Call, CallError, Outbox, State};

use crate::rig::{LONG, Rig, call, caller, eventually, scripted, spec};

#[tokio::test]
async fn a_child_that_exits_fails_its_calls_with_its_last_words_and_is_restarted() {
    let mut rig = Rig::scripted("legacy");
    rig.until(State::Ready).await;
    let error = rig.tool("exit").await.unwrap_err();
    let CallError::Broken { cause, .. } = &error else { panic!("{error}") };
    assert!(cause.contains("status 7") && cause.contains("these are my last words"), "{cause}");
    // The first restart is fast, and calls wait for it.
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
    rig.until(State::Ready).await;
}

#[tokio::test]
async fn a_child_that_fails_at_once_is_down_with_its_last_words() {
    let mut rig = Rig::scripted("fails");
    let status = rig.until(State::Down).await;
    let cause = status.cause.clone().unwrap();
    assert!(cause.contains("status 3") && cause.contains("cannot find the configuration"), "{cause}");
    let error = rig.tool("echo").await.unwrap_err();
    let CallError::Unavailable { state, retry_after, .. } = error else { panic!("{error}") };
    assert_eq!(state, State::Down);
    assert!(retry_after.is_some());
    // The waits grow.
    let second = rig.until(State::Down).await;
    assert!(second.retry_after.unwrap() > retry_after.unwrap());
    assert_eq!(second.since, status.since, "it has been down all the time");
}

#[tokio::test]
async fn a_server_that_never_answers_is_down_after_its_time() {
    let mut spec = spec(scripted("mute"));
    spec.connect_timeout = Duration::from_millis(300);
    let mut rig = Rig::start(spec);
    let status = rig.until(State::Down).await;
    assert!(status.cause.unwrap().contains("0.3 s"));
}

#[tokio::test]
async fn calls_beyond_the_bounds_wait_or_are_refused() {
    let mut spec = spec(scripted("legacy"));
    spec.max_concurrency = 1;
    spec.max_waiting = 1;
    let rig = Rig::start(spec);
    rig.tool("echo").await.unwrap();
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(rig.server.call(call("silent", caller(1)), &outbox));
    let mut waiting = Box::pin(rig.server.call(call("echo", caller(1)), &outbox));
    tokio::select! {
        biased;
        _ = &mut running => unreachable!("it is never answered"),
        _ = &mut waiting => unreachable!("there is one place only"),
        refused = rig.tool("echo") => {
            assert!(matches!(refused, Err(CallError::Busy { waiting: 1, .. })), "{refused:?}");
        }
    }
    drop(running);
    assert!(waiting.await.is_ok());
}

async fn with_one_place() -> Rig {
    let mut spec = spec(scripted("legacy"));
    spec.max_concurrency = 1;
    let rig = Rig::start(spec);
    rig.tool("echo").await.unwrap();
    rig
}

#[tokio::test]
async fn callers_wait_for_a_server_in_turn() {
    let rig = with_one_place().await;
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(rig.server.call(call("silent", caller(1)), &outbox));
    assert!(futures_util::poll!(&mut running).is_pending());
    // Two of one caller, then one of another: the first of each comes before the second of any.
    let waiting = FuturesUnordered::new();
    for (key, name) in [(1, "first of one"), (1, "second of one"), (2, "first of two")] {
        let call = rig.server.call(call("echo", caller(key)), &outbox);
        let mut named = Box::pin(call.map(move |answer| answer.map(|_| name)));
        assert!(futures_util::poll!(&mut named).is_pending(), "{name}");
        waiting.push(named);
    }
    drop(running);
    let order: Vec<_> = waiting.map(Result::unwrap).collect().await;
    assert_eq!(order, ["first of one", "first of two", "second of one"]);
}

#[tokio::test]
async fn a_call_whose_turn_does_not_come_is_given_up_after_its_time() {
    let rig = with_one_place().await;
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(rig.server.call(call("silent", caller(1)), &outbox));
    assert!(futures_util::poll!(&mut running).is_pending());
    let waiting = Call { timeout: Some(Duration::from_millis(50)), ..call("echo", caller(1)) };
    let refused = rig.server.call(waiting, &outbox).await;
    assert!(matches!(refused, Err(CallError::Timeout { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_server_on_demand_sleeps_until_called_and_again_when_idle() {
    let mut spec = spec(scripted("legacy"));
    spec.on_demand = true;
    spec.idle_stop = Some(Duration::from_millis(200));
    let mut rig = Rig::start(spec);
    rig.until(State::Asleep).await;
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
    rig.until(State::Ready).await;
    rig.until(State::Asleep).await;
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}

#[tokio::test]
async fn a_stopped_server_lets_calls_finish_and_takes_no_new_ones() {
    let rig = Rig::scripted("legacy");
    rig.tool("echo").await.unwrap();
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(rig.server.call(call("ask", caller(1)), &outbox));
    let question = tokio::select! {
        _ = &mut running => unreachable!("it waits for an answer"),
        question = outbox.next() => question,
    };
    let server = rig.server.clone();
    let stopping = tokio::spawn(async move { server.stop(LONG).await });
    eventually("draining", || rig.server.status().state == State::Draining).await;
    let refused = rig.tool("echo").await.unwrap_err();
    assert!(matches!(refused, CallError::Unavailable { state: State::Draining, .. }), "{refused}");
    drop(question);
    assert!(running.await.is_ok());
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_call_that_waits_for_the_connection_is_served_though_the_server_is_stopped() {
    let rig = Rig::scripted("legacy");
    let outbox = Arc::new(Outbox::default());
    let mut waiting = Box::pin(rig.server.call(call("echo", caller(1)), &outbox));
    assert!((&mut waiting).now_or_never().is_none(), "it is not connected yet");
    let (answer, ()) = tokio::join!(waiting, rig.server.stop(LONG));
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test]
async fn calls_of_a_server_that_was_replaced_go_to_its_successor() {
    let [first, second, third] = [(); 3].map(|()| Rig::scripted("legacy"));
    first.tool("echo").await.unwrap();
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(first.server.call(call("ask", caller(1)), &outbox));
    let question = tokio::select! {
        _ = &mut running => unreachable!("it waits for an answer"),
        question = outbox.next() => question,
    };
    let (old, new) = (first.server.clone(), second.server.clone());
    let replacing = tokio::spawn(async move { old.hand_over(new, LONG).await });
    eventually("draining", || first.server.status().state == State::Draining).await;
    assert_eq!(first.tool("echo").await.unwrap()["name"], "echo");
    second.server.hand_over(third.server.clone(), LONG).await;
    assert_eq!(first.tool("echo").await.unwrap()["name"], "echo");
    assert!(!first.server.is_same(&second.server) && first.server.is_same(&first.server.clone()));
    drop(question);
    assert!(running.await.is_ok(), "what it began, it finished");
    replacing.await.unwrap();
}

#[tokio::test]
async fn our_own_requests_need_no_place() {
    let rig = with_one_place().await;
    let outbox = Arc::new(Outbox::default());
    let mut running = Box::pin(rig.server.call(call("silent", caller(1)), &outbox));
    let params = json!({"name": "echo"}).to_string();
    let listed = rig.server.request(toolgate_protocol::Method::ToolsCall, params.into());
    tokio::select! {
        biased;
        _ = &mut running => unreachable!("it is never answered"),
        listed = listed => assert!(listed.is_ok()),
    }
}
