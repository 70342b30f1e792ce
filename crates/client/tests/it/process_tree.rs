//! No process outlives its reason.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use toolgate_client::State;

use crate::rig::{Rig, command, eventually, example, processes_with, spec};

/// A tree as `npx` makes it: a shell, the server as its child, and something that ignores SIGTERM besides. The marker
/// is a number of seconds that no other test sleeps.
fn tree(marker: &str) -> toolgate_client::Transport {
    let server = example("scripted_server");
    let script = format!(
        "(trap '' TERM; sleep {marker}) >/dev/null 2>&1 </dev/null & {} legacy; echo end",
        server.display()
    );
    command("sh", &["-c", &script])
}

#[tokio::test]
async fn a_stopped_server_leaves_no_process() {
    let marker = format!("8{:06}", std::process::id());
    let rig = Rig::start(spec(tree(&marker)));
    rig.tool("echo").await.unwrap();
    assert!(processes_with(&marker).len() >= 2, "the tree was not started");
    rig.server.stop(Duration::ZERO).await;
    assert_eq!(rig.server.status().state, State::Draining);
    eventually("all gone after stop", || processes_with(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_dropped_server_leaves_no_process() {
    let marker = format!("7{:06}", std::process::id());
    let rig = Rig::start(spec(tree(&marker)));
    rig.tool("echo").await.unwrap();
    drop(rig);
    eventually("all gone after drop", || processes_with(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_child_that_dies_takes_those_it_started_with_it() {
    let marker = format!("6{:06}", std::process::id());
    let mut rig = Rig::start(spec(command("sh", &["-c", &format!("sleep {marker} & exit 3")])));
    rig.until(State::Down).await;
    rig.server.stop(Duration::ZERO).await;
    eventually("all gone after exit", || processes_with(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_killed_parent_leaves_no_process() {
    let marker = format!("5{:06}", std::process::id());
    let toolgate_client::Transport::Stdio { command, args, .. } = tree(&marker) else { unreachable!() };
    // The example calls a tool that never answers, and waits until it is killed.
    let mut parent = Command::new(example("list_tools"))
        .arg(command)
        .args(args)
        .env("TOOL", "silent")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(processes_with(&marker).len() >= 2, "the tree was not started");
    parent.kill().unwrap();
    parent.wait().unwrap();
    eventually("all gone after kill -9", || processes_with(&marker).is_empty()).await;
}
