//! Servers that are connected and do not answer.

use std::sync::Arc;
use std::time::Duration;

use toolgate_client::{Nursery, ServerSpec, State, What};

use crate::rig::{Rig, call, caller, scripted, spec};

fn examined(mode: &str) -> ServerSpec {
    ServerSpec {
        health_interval: Some(Duration::from_millis(100)),
        call_timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(4),
        ..spec(scripted(mode))
    }
}

/// The next state, and why.
async fn next_state(rig: &mut Rig) -> (State, String) {
    rig.news(|what| match what {
        What::State(status) => Some((status.state, status.cause.unwrap_or_default())),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_process_that_is_alone_and_stuck_is_degraded_and_then_replaced() {
    let mut rig = Rig::start(examined("modern"));
    rig.until(State::Ready).await;
    let stuck = rig.tool("stuck").await;
    assert!(stuck.is_err());
    let (state, cause) = next_state(&mut rig).await;
    assert_eq!((state, &*cause), (State::Degraded, "it has not answered for 3 s"));
    let (state, cause) = next_state(&mut rig).await;
    assert_eq!((state, &*cause), (State::Connecting, "it has answered nothing for 5 s"));
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}

#[tokio::test]
async fn one_that_is_stuck_without_work_is_replaced_sooner() {
    let mut rig = Rig::start(examined("legacy"));
    rig.until(State::Ready).await;
    let (server, outbox) = (rig.server.clone(), Arc::default());
    let left = tokio::spawn(async move { server.call(call("stuck", caller(1)), &outbox).await });
    tokio::task::yield_now().await;
    left.abort();
    rig.until(State::Degraded).await;
    let (state, cause) = next_state(&mut rig).await;
    assert_eq!((state, &*cause), (State::Connecting, "it has answered nothing for 4 s"));
}

#[tokio::test]
async fn one_that_knows_nothing_of_ping_is_left_in_peace() {
    let mut rig = Rig::start(examined("deaf"));
    rig.until(State::Ready).await;
    rig.until(State::Degraded).await;
    assert_eq!(next_state(&mut rig).await.0, State::Ready, "it lists, so it listens");
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}

#[tokio::test]
async fn a_child_too_many_is_down_with_the_reason_until_there_is_room() {
    let nursery = Nursery::new(1, 1);
    let spec = |connect_timeout| ServerSpec {
        connect_timeout,
        nursery: nursery.clone(),
        ..spec(scripted("legacy"))
    };
    let mut first = Rig::start(spec(Duration::from_secs(20)));
    first.until(State::Ready).await;
    let mut second = Rig::start(spec(Duration::from_millis(50)));
    let status = second.until(State::Down).await;
    assert!(status.cause.unwrap().contains("1 child processes are running, as many as runtime.max_children"));
    first.server.stop(Duration::ZERO).await;
    second.until(State::Ready).await;
}
