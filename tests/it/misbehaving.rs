//! What servers do that they should not: its caller hears why, and nobody else notices.

use std::time::{Duration, Instant};

use harness::{Client, Era, Gateway, Setup, Upstream, eventually};
use serde_json::json;

use crate::cells::scripted;

/// A gateway before a server `s` that will misbehave and a server `good` that will not, and a client of it.
fn scene(words: &[&str]) -> (Gateway, Client) {
    let gateway = Setup::new().server("s", scripted(words)).server("good", scripted(&["modern"])).start();
    let client = Client::legacy(&gateway);
    (gateway, client)
}

fn is_well(client: &Client, server: &str) {
    let exchange = client.call(&format!("{server}__echo"), &json!({"text": "well"}));
    assert_eq!(exchange.text(), "well");
}

#[test]
fn noise_between_messages_is_skipped() {
    for era in Era::BOTH {
        let (_gateway, client) = scene(&[era.word()]);
        for tool in ["garbage", "strangers"] {
            assert_eq!(client.call(&format!("s__{tool}"), &json!({})).text(), tool, "{era:?}");
            is_well(&client, "s");
        }
    }
}

#[test]
fn the_first_of_two_answers_counts() {
    for era in Era::BOTH {
        let (_gateway, client) = scene(&[era.word()]);
        assert_eq!(client.call("s__twice", &json!({})).text(), "first", "{era:?}");
        is_well(&client, "s");
    }
}

#[test]
fn floods_drown_nobody() {
    for era in Era::BOTH {
        let (_gateway, client) = scene(&[era.word()]);
        std::thread::scope(|scope| {
            let flooded = scope.spawn(|| client.call("s__flood", &json!({"times": 20_000})));
            let shouted = scope.spawn(|| client.call("s__shout", &json!({"lines": 20_000})));
            for _ in 0..20 {
                is_well(&client, "good");
            }
            assert_eq!(flooded.join().unwrap().text(), "flood", "{era:?}");
            assert_eq!(shouted.join().unwrap().text(), "shout", "{era:?}");
        });
        is_well(&client, "s");
    }
}

#[test]
fn a_message_that_is_too_large_ends_its_call_only() {
    for era in Era::BOTH {
        let server = env!("CARGO_BIN_EXE_scripted_server");
        let era_word = era.word();
        let limited = format!(
            "servers: {{s: {{command: {server}, args: [{era_word}], max_message_bytes: 1MB}}, good: {{command: {server}}}}}"
        );
        let gateway = Setup::new().config(&limited).start();
        let client = Client::legacy(&gateway);
        assert_eq!(client.call("s__huge", &json!({"bytes": 900_000})).text().len(), 900_000);
        let exchange = client.call("s__huge", &json!({"bytes": 3_000_000}));
        assert!(exchange.error().contains("longer than a message may be"), "{era:?}: {}", exchange.answer);
        is_well(&client, "good");
        is_well(&client, "s");
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let url = upstream.url();
        let gateway =
            Setup::new().config(&format!("servers: {{s: {{url: \"{url}\", call_timeout: 500ms}}}}")).start();
        let client = Client::legacy(&gateway);
        let begun = Instant::now();
        let exchange = client.call("s__nothing", &json!({}));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(exchange.error().contains("did not answer within 0.5 s"), "{era:?}: {}", exchange.answer);
        is_well(&client, "s");
    }
}

#[test]
fn a_server_that_exits_during_a_call_is_started_again() {
    for era in Era::BOTH {
        let (gateway, client) = scene(&[era.word()]);
        let before = gateway.descendants().len();
        let exchange = client.call("s__vanish", &json!({}));
        let error = exchange.error();
        assert!(error.contains("'s'") && error.contains("these are my last words"), "{era:?}: {error}");
        is_well(&client, "good");
        eventually("the server is back", || {
            client.call("s__echo", &json!({})).answer.get("result").map(|_| ())
        });
        eventually("there are as many processes as before", || {
            (gateway.descendants().len() == before).then_some(())
        });
        assert_eq!(gateway.zombies(), []);
    }
}

#[test]
fn a_connection_that_breaks_during_a_call_is_told() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let gateway = Gateway::before("s", upstream.url());
        let client = Client::legacy(&gateway);
        let exchange = client.call("s__vanish", &json!({}));
        assert!(exchange.error().contains("'s'"), "{era:?}: {}", exchange.answer);
        is_well(&client, "s");
    }
}

#[test]
fn a_server_that_forgets_its_sessions_is_greeted_again() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    is_well(&client, "s");
    upstream.forget_sessions();
    eventually("the server is greeted again", || {
        client.call("s__echo", &json!({})).answer.get("result").map(|_| ())
    });
    assert_eq!(upstream.script().count("initialize"), 2);
}

#[test]
fn a_server_that_goes_away_is_found_when_it_comes_back() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let gateway = Gateway::before("s", upstream.url());
        let client = Client::legacy(&gateway);
        is_well(&client, "s");
        let address = upstream.address().to_owned();
        drop(upstream);
        let failed = eventually("calls fail", || {
            Some(client.call("s__echo", &json!({}))).filter(|one| one.answer.get("error").is_some())
        });
        assert!(failed.error().contains("'s'"), "{}", failed.error());
        let listed = client.request("tools/list", &json!({}));
        assert!(!listed.result()["tools"].as_array().unwrap().is_empty(), "its tools stay listed");
        let _upstream = Upstream::start_at(&address, era, &[]);
        eventually("the server is found again", || {
            client.call("s__echo", &json!({})).answer.get("result").map(|_| ())
        });
    }
}

#[test]
fn servers_that_never_start_hold_up_nobody() {
    let server = env!("CARGO_BIN_EXE_scripted_server");
    let mute = format!("servers: {{mute: {{command: {server}, args: [mute], connect_timeout: 500ms}}}}");
    let setup = Setup::new()
        .server("dead", scripted(&["dead"]))
        .server("missing", "/nowhere/no-such-program")
        .config(&mute)
        .server("unreachable", "http://127.0.0.1:1/mcp")
        .server("good", scripted(&["legacy"]));
    let gateway = setup.start();
    let begun = Instant::now();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let listed = client.request("tools/list", &json!({}));
        let tools = listed.result()["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "good__echo"), "{era:?}");
        is_well(&client, "good");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    gateway.log().until("cannot find my configuration");
    gateway.log().until("no-such-program");
}

#[test]
fn only_the_invalid_tool_is_dropped() {
    for era in Era::BOTH {
        let (gateway, client) = scene(&[era.word(), "bad-tool"]);
        let listed = client.request("tools/list", &json!({}));
        let tools = listed.result()["tools"].as_array().unwrap();
        let names: Vec<_> =
            tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix("s__")).collect();
        assert_eq!(names.len(), 19, "{era:?}: {names:?}");
        assert!(!names.contains(&"bad"));
        gateway.log().until("not offered");
        is_well(&client, "s");
    }
}
