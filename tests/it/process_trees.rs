//! Nothing is left of what the gateway starts: no process, no zombie, no open file.

use std::sync::atomic::{AtomicBool, Ordering};

use harness::{Client, Gateway, Setup, eventually, processes};
use serde_json::json;

use crate::cells::scripted;

/// Servers as `npx` starts them: below a shell, beside something that would stay for ever.
fn with_trees(setup: Setup, servers: usize) -> Setup {
    let mut config = String::from("servers:\n");
    for number in 0..servers {
        let server = scripted(&["legacy"]);
        let tree = format!("sleep 1000 & (sleep 1000 & exec sleep 1000) & {server}; exit 1");
        config.push_str(&format!("  s{number}:\n    command: sh\n    args: [\"-c\", \"{tree}\"]\n"));
    }
    setup.config(&config)
}

fn is_well(gateway: &Gateway) {
    assert_eq!(Client::legacy(gateway).call("s0__echo", &json!({"text": "well"})).text(), "well");
}

#[test]
fn a_killed_gateway_leaves_no_child() {
    let mut gateway = with_trees(Setup::new(), 2).start();
    is_well(&gateway);
    assert!(gateway.descendants().len() >= 10, "{:?}", gateway.descendants());
    gateway.kill();
    eventually("all its processes are gone", || gateway.descendants().is_empty().then_some(()));
}

#[test]
fn a_stopped_gateway_leaves_no_child() {
    let mut gateway = with_trees(Setup::new(), 2).start();
    is_well(&gateway);
    assert!(gateway.stop().success());
    // The guard is the last to go: it ends when it sees that the gateway has.
    eventually("all its processes are gone", || gateway.descendants().is_empty().then_some(()));
}

#[test]
fn twenty_starts_and_stops_under_load_leave_nothing() {
    for cycle in 0..20 {
        let mut gateway = with_trees(Setup::new(), 2).start();
        let stopping = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let client = Client::legacy(&gateway);
                let stopping = &stopping;
                scope.spawn(move || {
                    for server in ["s0", "s1"].into_iter().cycle() {
                        if stopping.load(Ordering::Relaxed) {
                            return;
                        }
                        assert_eq!(
                            client.call(&format!("{server}__echo"), &json!({"text": "x"})).text(),
                            "x"
                        );
                    }
                });
            }
            is_well(&gateway);
            assert_eq!(gateway.zombies(), []);
            stopping.store(true, Ordering::Relaxed);
        });
        if cycle % 2 == 0 {
            gateway.kill();
        } else {
            assert!(gateway.stop().success());
        }
        eventually("all its processes are gone", || gateway.descendants().is_empty().then_some(()));
    }
}

#[test]
fn a_tree_that_is_started_again_leaves_nothing_of_the_old_one() {
    let gateway = with_trees(Setup::new(), 1).start();
    let client = Client::legacy(&gateway);
    is_well(&gateway);
    let (processes_before, channels_before) =
        (gateway.descendants().len(), processes::open_channels(gateway.id()));
    for _ in 0..3 {
        client.call("s0__vanish", &json!({}));
        eventually("the server is back", || {
            client.call("s0__echo", &json!({})).answer.get("result").map(|_| ())
        });
        eventually("only the new tree is there", || {
            (gateway.descendants().len() == processes_before).then_some(())
        });
        assert_eq!(gateway.zombies(), []);
    }
    eventually("no more pipes and sockets are open than before", || {
        (processes::open_channels(gateway.id()) <= channels_before).then_some(())
    });
}
