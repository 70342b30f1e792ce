//! Live change of the configuration while clients work.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use harness::http::Connection;
use harness::processes::{open_files, resident_kilobytes};
use harness::{Client, Era, Setup, Upstream, eventually};
use serde_json::{Value, json};

/// How many clients call all the time.
const CLIENTS: usize = 4;

/// The record of a scripted child in this round of its configuration.
fn child(words: &[&str], round: usize) -> String {
    let args = words.iter().map(|word| format!("\"{word}\", ")).collect::<String>();
    let program = env!("CARGO_BIN_EXE_scripted_server");
    format!("{{command: \"{program}\", args: [{args}\"round={round}\"]}}")
}

fn over_http(upstream: &Upstream, round: usize) -> String {
    format!("{{url: \"{}\", headers: {{x-round: \"{round}\"}}}}", upstream.url())
}

fn file(servers: &[(&str, String)]) -> String {
    let records: String = servers.iter().map(|(name, record)| format!("  {name}: {record}\n")).collect();
    format!("runtime: {{auto_reload: false}}\nservers:\n{records}")
}

/// What each server has done, by the text it was told to echo.
fn echoed(upstream: &Upstream) -> Vec<String> {
    let seen = upstream.script().seen();
    let calls = seen.iter().filter(|message| message["method"] == "tools/call");
    calls.map(|call| call["params"]["arguments"]["text"].as_str().unwrap().to_owned()).collect()
}

/// Calls these servers in turn until `over`; what each was told.
fn work(client: &Client, number: usize, servers: &[&str], over: &AtomicBool) -> Vec<(String, String)> {
    let mut said = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let server = servers[said.len() % servers.len()];
        let text = format!("{server} {number} {}", said.len());
        let exchange = client.call(&format!("{server}__echo"), &json!({"text": text}));
        assert_eq!(exchange.result()["content"][0]["text"], text, "{}", exchange.answer);
        said.push((server.to_owned(), text));
    }
    said
}

#[test]
fn a_hundred_reloads_lose_no_call_and_double_none() {
    let (steady, changing) = (Upstream::start(Era::Modern, &[]), Upstream::start(Era::Legacy, &[]));
    let folder = tempfile::tempdir().unwrap();
    let tally = folder.path().join("tally");
    let tally_word = format!("tally={}", tally.display());
    let records = |round: usize| {
        let mut servers = vec![
            ("steady", over_http(&steady, 0)),
            ("changing", over_http(&changing, round)),
            ("child", child(&["modern", &tally_word], round)),
            // Slower than the reloads follow each other: it is replaced before it is ready.
            ("slow", child(&["legacy", "late=150", &tally_word], round)),
        ];
        if round % 2 == 1 {
            servers.push(("guest", child(&["legacy"], 0)));
        }
        file(&servers)
    };
    let gateway = Setup::new().config(&records(0)).start();
    // A legacy client's session begins when all servers have listed.
    let clients: Vec<_> = (0..CLIENTS).map(|number| Client::new(&gateway, Era::BOTH[number % 2])).collect();
    let processes = gateway.descendants().len();
    let over = AtomicBool::new(false);
    let said: Vec<(String, String)> = thread::scope(|scope| {
        let over = &over;
        let working: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(number, client)| {
                scope.spawn(move || work(client, number, &["steady", "changing", "child", "slow"], over))
            })
            .collect();
        for round in 1..=100 {
            gateway.rewrite(&records(round));
            let difference = gateway.reload();
            assert_eq!(difference["changed"].as_object().unwrap().len(), 3, "{difference}");
            let guest = if round % 2 == 1 { "added" } else { "removed" };
            assert_eq!(difference[guest], json!(["guest"]), "{difference}");
        }
        over.store(true, Ordering::Relaxed);
        working.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert!(said.len() >= 200, "only {} calls under 100 reloads", said.len());
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    let tallied = fs::read_to_string(&tally).unwrap();
    let all = echoed(&steady).into_iter().chain(echoed(&changing)).chain(tallied.lines().map(str::to_owned));
    all.for_each(|text| *done.entry(text).or_default() += 1);
    for (server, text) in &said {
        assert_eq!(done.remove(text), Some(1), "{server}: '{text}'");
    }
    assert!(done.is_empty(), "done, but nobody asked for it: {done:?}");
    // Of the generations that were replaced, nothing stays.
    eventually("there are as many processes as before", || {
        (gateway.descendants().len() == processes).then_some(())
    });
}

#[test]
fn a_call_under_way_is_finished_by_the_server_that_began_it() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let records = |round| file(&[("h", over_http(&upstream, round))]);
        let gateway = Setup::new().config(&records(0)).start();
        let client = Client::legacy(&gateway);
        let held = client.begin("tools/call", &json!({"name": "h__hold", "arguments": {}}));
        let began = || upstream.script().seen().iter().any(|seen| seen.get("began").is_some()).then_some(());
        eventually("the call has begun", began);
        for round in 1..=10 {
            gateway.rewrite(&records(round));
            gateway.reload();
        }
        upstream.script().release();
        assert_eq!(held.finish().text(), "released", "{era:?}");
    }
}

#[test]
fn a_resource_is_watched_at_the_new_server_too() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &["resources=1"]);
        let gateway = Setup::new().config(&file(&[("h", over_http(&upstream, 0))])).start();
        let client = Client::legacy(&gateway);
        let uri = json!({"uri": "scene://thing/0000"});
        client.request("resources/subscribe", &uri).result();
        let mut stream = client.listen(None);
        gateway.rewrite(&file(&[("h", over_http(&upstream, 1))]));
        gateway.reload();
        let subscribed = || {
            let seen = upstream.script().seen();
            let wanted = |message: &&Value| message.to_string().contains("scene://thing/0000");
            (seen.iter().filter(wanted).count() >= 2).then_some(())
        };
        eventually(&format!("{era:?}: the new connection subscribes"), subscribed);
        // The new connection may not listen yet when it has subscribed, so the news are told until they are heard.
        let heard = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                eventually("the news are heard", || {
                    upstream.script().announce("notifications/resources/updated", &uri);
                    heard.load(Ordering::Relaxed).then_some(())
                });
            });
            while !stream.event().unwrap().unwrap().data.contains("notifications/resources/updated") {}
            heard.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_thousand_reloads_leave_nothing_behind() {
    let upstream = Upstream::start(Era::Modern, &[]);
    let records = |round| file(&[("h", over_http(&upstream, round))]);
    let gateway = Setup::new().config(&records(0)).start();
    let reload = |rounds: std::ops::Range<usize>| {
        for round in rounds {
            gateway.rewrite(&records(round));
            gateway.reload();
        }
    };
    // What is made once and kept is there after the first ones.
    reload(1..200);
    let (memory, files) = (resident_kilobytes(gateway.id()), open_files(gateway.id()));
    reload(200..1000);
    // The last ones that were replaced may still be on their way out.
    eventually("memory is as after 200 reloads", || {
        (resident_kilobytes(gateway.id()) < memory + 4096).then_some(())
    });
    eventually("no more files are open than before", || {
        (open_files(gateway.id()) <= files + 8).then_some(())
    });
}

#[test]
fn names_change_with_a_reload_and_what_cannot_is_told() {
    let servers = file(&[("s", child(&["legacy"], 0))]);
    let gateway = Setup::new().config(&servers).start();
    let client = Client::legacy(&gateway);
    assert_eq!(client.call("s__echo", &json!({"text": "before"})).text(), "before");
    let health = || Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!(health()["needs_restart"], json!([]));
    gateway.rewrite(&format!("{servers}names: plain\nlisten: {{max_body_bytes: 1000}}\n"));
    let difference = gateway.reload();
    assert_eq!(difference["settings"], json!(["names"]));
    assert_eq!(difference["needs_restart"], json!(["listen.max_body_bytes"]));
    assert_eq!(client.call("echo", &json!({"text": "after"})).text(), "after");
    assert_eq!(health()["needs_restart"], json!(["listen.max_body_bytes"]));
    gateway.log().until("listen.max_body_bytes");
    gateway.rewrite(&servers);
    assert_eq!(gateway.reload()["needs_restart"], json!([]));
    assert_eq!(health()["needs_restart"], json!([]));
}

#[test]
fn what_a_server_is_called_in_reports_changes_without_a_new_connection() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let named =
        |name: &str| format!("servers:\n  s: {{url: \"{}\", display_name: {name}}}\n", upstream.url());
    let gateway = Setup::new().config(&named("Weather")).start();
    assert_eq!(Client::legacy(&gateway).call("s__echo", &json!({"text": "here"})).text(), "here");
    let health = || Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!(health()["servers"][0]["display_name"], "Weather");
    gateway.rewrite(&named("Forecast"));
    gateway.reload();
    assert_eq!(health()["servers"][0]["display_name"], "Forecast");
    assert_eq!(upstream.script().count("initialize"), 1);
}

#[test]
fn only_changed_servers_connect_again() {
    for era in Era::BOTH {
        let (steady, changing) = (Upstream::start(era, &[]), Upstream::start(era, &[]));
        let records = |round| {
            let mut servers =
                vec![("steady", over_http(&steady, 0)), ("changing", over_http(&changing, round))];
            if round % 2 == 1 {
                servers.push(("guest", child(&["legacy"], 0)));
            }
            file(&servers)
        };
        let gateway = Setup::new().config(&records(0)).start();
        let client = Client::legacy(&gateway);
        let greetings = |upstream: &Upstream| {
            let seen = upstream.script().seen();
            let greets = |message: &&Value| {
                let method = message["method"].as_str().unwrap_or_default();
                if era == Era::Legacy { method == "initialize" } else { method == "server/discover" }
            };
            seen.iter().filter(greets).count()
        };
        eventually("both are greeted", || {
            (greetings(&steady) == 1 && greetings(&changing) == 1).then_some(())
        });
        for round in 1..=5 {
            gateway.rewrite(&records(round));
            gateway.reload();
            eventually("the changed one is greeted again", || (greetings(&changing) > round).then_some(()));
        }
        assert_eq!(client.call("steady__echo", &json!({"text": "still"})).text(), "still");
        assert_eq!(greetings(&steady), 1, "{era:?}");
    }
}

#[test]
fn clients_are_told_of_servers_that_come_and_go() {
    let one = ("one", child(&["legacy"], 0));
    let gateway = Setup::new().config(&file(std::slice::from_ref(&one))).start();
    let client = Client::legacy(&gateway);
    let mut stream = client.listen(None);
    let names = || -> Vec<String> {
        let list = client.request("tools/list", &json!({}));
        let tools = list.result()["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    // The news may come in several steps; after the last of them the list is as it should be.
    let mut told = |is_there: bool| loop {
        while !stream.event().unwrap().unwrap().data.contains("notifications/tools/list_changed") {}
        if names().iter().any(|name| name == "two__echo") == is_there {
            return;
        }
    };
    gateway.rewrite(&file(&[one.clone(), ("two", child(&["modern"], 0))]));
    gateway.reload();
    told(true);
    gateway.rewrite(&file(&[one]));
    gateway.reload();
    told(false);
}

#[test]
fn health_says_why_a_reload_changed_nothing() {
    let servers = file(&[("s", child(&["legacy"], 0))]);
    let servers = servers.replacen("false", "true", 1);
    let gateway = Setup::new().config(&servers).start();
    let health = || Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!((&health()["status"], &health()["reload_problem"]), (&json!("ok"), &Value::Null));
    gateway.rewrite("names: funny\n");
    let problem =
        eventually("the problem is told", || health()["reload_problem"].as_str().map(str::to_owned));
    assert!(problem.contains("toolgate.yaml:1:8: names"), "{problem}");
    assert_eq!(health()["status"], "degraded");
    gateway.rewrite(&servers);
    eventually("the problem is gone", || health()["reload_problem"].is_null().then_some(()));
}
