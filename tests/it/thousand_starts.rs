//! A thousand starts and ends of process trees, with calls all the time, leave nothing: no process, no zombie, no open
//! file, no memory.
//!
//! The difficulty is time. A server that keeps dying is left alone for longer and longer, so each one dies once for every
//! change of its record: the change makes a new server, which is started again at once the first time it dies.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use harness::processes::{self, Process};
use harness::{Client, Gateway, Setup, eventually};
use serde_json::json;

use crate::cells::scripted;

const STARTS: usize = 1000;
/// After so many starts everything that is made once and kept has been made.
const WARM_UP: usize = 100;
/// As many as the machine can start in about a second, so that a thousand starts take few rounds.
const SERVERS: usize = 40;
/// In each of the trees: two shells and the server, or a shell, its helper and the server.
const TREE: usize = 3;
/// The process that ends the trees if the gateway cannot.
const GUARD: usize = 1;
/// Who call all the time.
const CALLERS: usize = 2;
/// Where something of a tree is kept, that is at least the buffers of its three pipes, 24 kB: over 20 MB for 900 trees.
/// What the allocator holds back for a moment stays well below.
const MAX_GROWTH_KILOBYTES: u64 = 12 * 1024;

#[test]
fn a_thousand_starts_under_load_leave_nothing() {
    let mut gateway = begin();
    let stopping = AtomicBool::new(false);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let client = Client::legacy(&gateway);
            let (stopping, answered) = (&stopping, &answered);
            scope.spawn(move || call_all_the_time(&client, caller, stopping, answered));
        }
        let _stop = StopAtEnd(&stopping);
        let warm = play_rounds(&gateway, 0, WARM_UP);
        let (files, memory) =
            (processes::open_files(gateway.id()), processes::resident_kilobytes(gateway.id()));
        play_rounds(&gateway, warm, STARTS);
        eventually("no more files are open than after the warm-up", || {
            (processes::open_files(gateway.id()) <= files).then_some(())
        });
        eventually("no more memory is in use than after the warm-up", || {
            (processes::resident_kilobytes(gateway.id()) <= memory + MAX_GROWTH_KILOBYTES).then_some(())
        });
    });
    assert!(answered.load(Ordering::Relaxed) > STARTS, "only {answered:?} calls were answered");
    assert!(gateway.stop().success());
    assert_eq!(gateway.descendants(), []);
}

#[test]
fn a_gateway_that_is_killed_while_trees_start_and_end_leaves_no_process() {
    for starts in [1, SERVERS / 2, SERVERS] {
        let mut gateway = begin();
        let before = started(&gateway);
        change_records(&gateway, 1);
        eventually("some trees have started", || (started(&gateway) >= before + starts).then_some(()));
        gateway.kill();
        eventually("all its processes are gone", || gateway.descendants().is_empty().then_some(()));
    }
}

/// A gateway whose servers all run.
fn begin() -> Gateway {
    let gateway = Setup::new().config(&records(0)).start();
    until_well(&gateway, SERVERS);
    gateway
}

/// Ends every server twice a round, until so many trees were started. Gives the number of the last round.
fn play_rounds(gateway: &Gateway, mut generation: usize, starts: usize) -> usize {
    while started(gateway) < starts {
        let before = started(gateway);
        generation += 1;
        change_records(gateway, generation);
        until_well(gateway, before + SERVERS);
        kill_one_of_each(gateway, generation);
        until_well(gateway, before + 2 * SERVERS);
    }
    generation
}

/// Waits until so many trees were started, every server answers, and no process is there that should not be.
fn until_well(gateway: &Gateway, starts: usize) {
    eventually("all trees have started", || (started(gateway) >= starts).then_some(()));
    let client = Client::legacy(gateway);
    for number in 0..SERVERS {
        eventually("the server answers", || {
            client.call(&format!("{}__echo", name(number)), &json!({})).answer.get("result").map(drop)
        });
    }
    eventually("only the trees of now are there", || {
        (gateway.descendants().len() == SERVERS * TREE + GUARD).then_some(())
    });
    eventually("no process is dead and not waited for", || gateway.zombies().is_empty().then_some(()));
}

/// Kills the leader of one tree, the server of the next, and what is in between in the third.
fn kill_one_of_each(gateway: &Gateway, generation: usize) {
    let running = gateway.descendants();
    let victim = |number: usize| {
        let of_tree = |process: &&Process| process.command.contains(&format!("name={}", name(number)));
        let (leader, below): (Vec<_>, Vec<_>) =
            running.iter().filter(of_tree).partition(|process| process.parent == gateway.id());
        let victim = match (number + generation) % 3 {
            0 => leader.first(),
            1 => below.last(),
            _ => below.first(),
        };
        victim.expect("a tree has a leader and more").id
    };
    processes::signal_all(&(0..SERVERS).map(victim).collect::<Vec<_>>(), "KILL");
}

fn call_all_the_time(client: &Client, caller: usize, stopping: &AtomicBool, answered: &AtomicUsize) {
    for number in (0..SERVERS).cycle().skip(caller * SERVERS / CALLERS) {
        if stopping.load(Ordering::Relaxed) {
            return;
        }
        let answer = client.call(&format!("{}__echo", name(number)), &json!({"text": "x"})).answer;
        // A server that has just been killed is an error that says so, never silence.
        if answer.get("result").is_some() {
            answered.fetch_add(1, Ordering::Relaxed);
        } else {
            assert!(answer["error"]["message"].is_string(), "{answer}");
        }
    }
}

/// Puts changed records of all servers in the place of those there are.
fn change_records(gateway: &Gateway, generation: usize) {
    // Under its name the file is always whole: half a configuration is one with fewer servers.
    let written = gateway.home().join("next.yaml");
    fs::write(&written, records(generation)).unwrap();
    fs::rename(written, gateway.home().join("toolgate.yaml")).unwrap();
    processes::signal(gateway.id(), "HUP");
}

/// Servers as `npx` starts them, below two shells, and as `uvx` does, beside a helper that would stay for ever. Each tree
/// notes its start.
fn records(generation: usize) -> String {
    let mut records = String::from("servers:\n");
    for number in 0..SERVERS {
        let name = name(number);
        let server = scripted(&["legacy", &format!("name={name}")]);
        let tree = match number % 2 {
            0 => format!("sh -c '{server}; exit 1'; exit 1"),
            _ => format!("sleep 1000 & {server}; exit 1"),
        };
        records.push_str(&format!(
            "  {name}:\n    command: sh\n    args: [\"-c\", \"echo >> starts; {tree}\"]\n    env: {{GENERATION: \"{generation}\"}}\n"
        ));
    }
    records
}

fn name(number: usize) -> String {
    format!("s{number:02}")
}

/// How many trees were started so far.
fn started(gateway: &Gateway) -> usize {
    let notes: PathBuf = gateway.home().join("starts");
    fs::read(notes).map_or(0, |notes| notes.len())
}

/// Ends the callers also where the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
