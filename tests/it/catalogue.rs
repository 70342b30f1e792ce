//! What clients see of many servers: names, pages, changes, and what is remembered.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use harness::http::Connection;
use harness::{Client, Era, Gateway, Setup, Upstream, eventually};
use serde_json::{Value, json};

use crate::cells::scripted;

/// All entries of a list, page by page, and the sizes of the pages.
fn all(client: &Client, method: &str, member: &str) -> (Vec<Value>, Vec<usize>) {
    let (mut entries, mut sizes) = (Vec::new(), Vec::new());
    let mut params = json!({});
    loop {
        let exchange = client.request(method, &params);
        let page = exchange.result()[member].as_array().unwrap().clone();
        sizes.push(page.len());
        entries.extend(page);
        match exchange.result().get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return (entries, sizes),
        }
    }
}

fn names(client: &Client) -> Vec<String> {
    let (tools, _) = all(client, "tools/list", "tools");
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_are_named_as_the_operator_wants() {
    for (naming, exposed) in [("prefixed", "s__echo"), ("plain", "echo"), ("mcp", "mcp_s_echo")] {
        let gateway = Setup::new().server("s", scripted(&["legacy"])).arguments(["--names", naming]).start();
        let client = Client::legacy(&gateway);
        assert!(names(&client).contains(&exposed.to_owned()), "{naming}: {:?}", names(&client));
        assert_eq!(client.call(exposed, &json!({"text": naming})).text(), naming);
    }
}

#[test]
fn a_namespace_stands_for_the_server_in_names() {
    let setup = Setup::new().server("s", scripted(&["legacy"])).set("servers.s.tool_namespace=my-own");
    let gateway = setup.start();
    let client = Client::legacy(&gateway);
    assert!(names(&client).iter().all(|name| name.starts_with("my-own__")), "{:?}", names(&client));
    assert_eq!(client.call("my-own__echo", &json!({"text": "hello"})).text(), "hello");
}

#[test]
fn a_server_that_starts_on_demand_is_listed_from_the_first_time_on() {
    let state = |gateway: &Gateway| {
        let health = Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
        health["servers"][0]["state"].clone()
    };
    let on_demand =
        |setup: Setup| setup.server("s", scripted(&["legacy"])).set("servers.s.start=on_demand").start();
    let mut gateway = on_demand(Setup::new());
    assert!(names(&Client::legacy(&gateway)).contains(&"s__echo".to_owned()), "learned by starting it once");
    assert!(gateway.stop().success());
    let gateway = on_demand(gateway.succeed());
    let client = Client::legacy(&gateway);
    assert!(names(&client).contains(&"s__echo".to_owned()), "remembered");
    assert_eq!(state(&gateway), "asleep");
    assert_eq!(client.call("s__echo", &json!({"text": "awake"})).text(), "awake");
    assert_eq!(state(&gateway), "ready");
}

#[test]
fn equal_names_of_two_servers_stay_apart() {
    let setup = Setup::new()
        .server("a", scripted(&["legacy", "name=a"]))
        .server("b", scripted(&["modern", "name=b"]));
    let gateway = setup.arguments(["--names", "plain"]).start();
    let client = Client::modern(&gateway);
    let names = names(&client);
    assert_eq!(names.len(), 38);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 38, "{names:?}");
    let echoes: Vec<_> = names.iter().filter(|name| name.contains("echo")).collect();
    for echo in echoes {
        assert_eq!(client.call(echo, &json!({"text": "x"})).text(), "x", "{echo}");
    }
}

#[test]
fn long_lists_come_in_pages_without_gaps() {
    for era in Era::BOTH {
        let gateway = Gateway::before("s", scripted(&[era.word(), "tools=231", "resources=123"]));
        for client in Era::BOTH.map(|era| Client::new(&gateway, era)) {
            let (tools, sizes) = all(&client, "tools/list", "tools");
            assert_eq!((tools.len(), sizes), (250, vec![100, 100, 50]));
            let names: BTreeSet<_> = tools.iter().map(|tool| tool["name"].to_string()).collect();
            assert_eq!(names.len(), 250);
            let (resources, sizes) = all(&client, "resources/list", "resources");
            assert_eq!((resources.len(), sizes), (123, vec![50, 50, 23]));
            assert_eq!(client.call("s__tool-0230", &json!({})).text(), "tool-0230");
        }
    }
}

#[test]
fn the_order_is_always_the_same() {
    let start = || {
        let setup =
            Setup::new().server("b", scripted(&["legacy"])).server("a", scripted(&["modern", "tools=150"]));
        setup.start()
    };
    let (one, two) = (start(), start());
    assert_eq!(names(&Client::legacy(&one)), names(&Client::modern(&two)));
}

#[test]
fn equal_uris_of_two_servers_say_whose_they_are() {
    let setup = Setup::new().server("a", scripted(&["legacy", "name=a", "resources=2"]));
    let gateway = setup.server("b", scripted(&["modern", "name=b", "resources=1"])).start();
    let client = Client::legacy(&gateway);
    let (resources, _) = all(&client, "resources/list", "resources");
    let uris: BTreeSet<_> = resources.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    let expected = ["a+scene://thing/0000", "b+scene://thing/0000", "scene://thing/0001"];
    assert_eq!(uris, BTreeSet::from(expected));
    for (uri, text) in expected.into_iter().zip(["read by a", "read by b", "read by a"]) {
        let read = client.request("resources/read", &json!({"uri": uri}));
        assert_eq!(read.result()["contents"][0]["text"], text, "{uri}");
    }
}

#[test]
fn a_new_tool_is_there_after_the_server_tells_of_it() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let gateway = Setup::new().server("s", scripted(&[era.word()])).server("h", upstream.url()).start();
        for client in Era::BOTH.map(|era| Client::new(&gateway, era)) {
            let fresh = format!("fresh-{}", client.era().word());
            for server in ["s", "h"] {
                client.call(&format!("{server}__add-tool"), &json!({"name": fresh}));
                let name = format!("{server}__{fresh}");
                eventually(&format!("{era:?}: '{name}' is listed"), || {
                    names(&client).contains(&name).then_some(())
                });
            }
        }
    }
}

#[test]
fn what_servers_had_is_listed_at_once_after_a_restart() {
    let upstream = Upstream::start(Era::Modern, &["tools=120"]);
    let gateway = Setup::new().server("h", upstream.url()).server("s", scripted(&["legacy"])).start();
    let before = names(&Client::legacy(&gateway));
    assert_eq!(before.len(), 158);
    let url = upstream.url();
    let setup = gateway.succeed();
    drop(upstream);
    let gateway = setup.server("h", url).server("s", scripted(&["legacy"])).start();
    let begun = Instant::now();
    let client = Client::legacy(&gateway);
    assert_eq!(names(&client), before);
    let exchange = client.call("h__echo", &json!({"text": "x"}));
    let (error, data) = (exchange.error(), &exchange.answer["error"]["data"]);
    assert!(error.contains("'h'") && error.to_lowercase().contains("refused"), "{}", exchange.answer);
    assert_eq!(data["retryable"], true, "{}", exchange.answer);
    assert_eq!(client.call("s__echo", &json!({"text": "x"})).text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn servers_that_are_ready_at_the_same_moment_are_all_listed() {
    let upstreams: Vec<_> = (0..6).map(|number| Upstream::start(Era::BOTH[number % 2], &[])).collect();
    for _ in 0..5 {
        let servers = upstreams.iter().enumerate();
        let setup =
            servers.fold(Setup::new(), |setup, (number, one)| setup.server(&format!("s{number}"), one.url()));
        let gateway = setup.start();
        assert_eq!(names(&Client::legacy(&gateway)).len(), 6 * 19);
    }
}

#[test]
fn what_is_remembered_is_listed_before_its_server_has_said_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("server");
    let write = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    };
    write(&format!("exec {}", scripted(&["legacy"])));
    let gateway = Gateway::before("s", program.display().to_string());
    let before = names(&Client::legacy(&gateway));
    assert_eq!(before.len(), 19);
    let setup = gateway.succeed();
    // The same command line, but now it reads and never answers.
    write("exec cat > /dev/null");
    let gateway = setup.server("s", program.display().to_string()).start();
    for era in Era::BOTH {
        assert_eq!(names(&Client::new(&gateway, era)), before, "{era:?}");
    }
    let health = Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!(health["servers"][0]["state"], "connecting", "{health}");
}

#[test]
fn a_list_that_fails_hides_nothing_else_and_is_asked_for_again() {
    let upstream = Upstream::start(Era::Legacy, &["failing=prompts/list"]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    assert!(names(&client).contains(&"s__echo".to_owned()));
    assert_eq!(all(&client, "resources/list", "resources").0.len(), 1);
    assert_eq!(all(&client, "prompts/list", "prompts").0, Vec::<Value>::new());
    upstream.script().release();
    eventually("the list is there", || (all(&client, "prompts/list", "prompts").0.len() == 1).then_some(()));
}

#[test]
fn a_list_that_fails_later_stays_what_it_was() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    assert_eq!(all(&client, "prompts/list", "prompts").0.len(), 1);
    let address = upstream.address().to_owned();
    drop(upstream);
    let upstream = Upstream::start_at(&address, Era::Legacy, &["failing=prompts/list"]);
    upstream.forget_sessions();
    eventually("it is asked again and again", || {
        // Calls find out that it is another one.
        client.call("s__echo", &json!({"text": "on"}));
        (upstream.script().count("prompts/list") > 1).then_some(())
    });
    assert_eq!(all(&client, "prompts/list", "prompts").0.len(), 1);
    assert!(names(&client).contains(&"s__echo".to_owned()));
}

#[test]
fn a_server_without_what_it_declares_shows_what_it_has() {
    let upstream = Upstream::start(Era::Legacy, &["without=resources/list"]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    assert!(names(&client).contains(&"s__echo".to_owned()));
    assert_eq!(all(&client, "prompts/list", "prompts").0.len(), 1);
    // Asked when it is there and again when it is heard; a list that it does not have is not tried once more.
    assert!(upstream.script().count("resources/list") <= 2);
}

#[test]
fn what_a_server_says_has_changed_is_fetched_and_told() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let gateway = Gateway::before("s", upstream.url());
        let client = Client::legacy(&gateway);
        let mut stream = client.listen(None);
        for (list, told) in [
            ("prompts/list", "notifications/prompts/list_changed"),
            ("resources/list", "notifications/resources/list_changed"),
        ] {
            let fetched = upstream.script().count(list);
            eventually("the server is listened to", || {
                client.call("s__touch", &json!({"announce": told, "params": {}}));
                (upstream.script().count(list) > fetched).then_some(())
            });
            loop {
                let event = stream.event().unwrap().unwrap();
                let message: Value = serde_json::from_str(&event.data).unwrap();
                if message["method"] == told {
                    break;
                }
            }
        }
    }
}
