//! Which era a server is found to speak, and what is remembered of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use toolgate_client::State;
use toolgate_protocol::Era;

use crate::http_script::{HttpScript, Said, Seen};
use crate::over_http::{legacy, modern, result};
use crate::rig::{Rig, http, scripted, spec};

#[tokio::test]
async fn a_child_is_spoken_to_in_its_era() {
    for (mode, expected) in
        [("legacy", Era::Legacy), ("modern", Era::Modern), ("silent", Era::Legacy), ("dies", Era::Legacy)]
    {
        let rig = Rig::scripted(mode);
        assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo", "{mode}");
        assert_eq!(rig.server.status().greeting.unwrap().era, expected, "{mode}");
    }
}

#[tokio::test]
async fn a_child_told_to_be_of_another_era_is_down() {
    let mut spec = spec(scripted("legacy"));
    spec.era = Some(Era::Modern);
    let mut rig = Rig::start(spec);
    let status = rig.until(State::Down).await;
    assert!(status.cause.unwrap().contains("2026-07-28"));
}

#[tokio::test]
async fn the_answer_to_the_probe_decides() {
    type Answer = fn(&Seen) -> Said;
    let unsupported: Answer = |seen| {
        let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2025-06-18"]}});
        Said::Json(400, json!({"jsonrpc": "2.0", "id": seen.json["id"], "error": error}))
    };
    let table: [(&str, Answer, &str); 7] = [
        ("modern", |seen| modern(|_| Said::Text(500, ""))(seen), "modern"),
        ("400 with text", |_| Said::Text(400, "no session"), "legacy"),
        ("404", |_| Said::Text(404, ""), "legacy"),
        (
            "another error",
            |seen| {
                Said::Json(
                    200,
                    json!({"jsonrpc": "2.0", "id": seen.json["id"], "error": {"code": -32601, "message": ""}}),
                )
            },
            "legacy",
        ),
        ("only older versions", unsupported, "legacy"),
        ("401", |_| Said::Text(401, "who are you?"), "down"),
        ("503", |_| Said::Text(503, "later"), "down"),
    ];
    for (name, probe, expected) in table {
        let script = HttpScript::start(move |seen: &Seen| match seen.rpc() {
            "server/discover" => probe(seen),
            _ => legacy("s", |seen| Said::Json(200, result(seen, &json!({}))))(seen),
        })
        .await;
        let mut rig = Rig::start(spec(http(&script.url)));
        let status = rig
            .news(|what| match what {
                toolgate_client::What::State(status)
                    if matches!(status.state, State::Ready | State::Down) =>
                {
                    Some(status)
                }
                _ => None,
            })
            .await;
        let found = match (status.state, status.greeting.map(|greeting| greeting.era)) {
            (State::Down, _) => "down",
            (_, Some(Era::Modern)) => "modern",
            _ => "legacy",
        };
        assert_eq!(found, expected, "{name}");
        let initialized = script.count(|seen| seen.rpc() == "initialize");
        assert_eq!(initialized > 0, expected == "legacy", "{name}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_version_it_supports_is_asked_once_more_at_once() {
    for (refusals, expected, probes) in [(1, State::Ready, 2), (usize::MAX, State::Down, 2)] {
        let refused = AtomicUsize::new(0);
        let script = HttpScript::start(move |seen: &Seen| {
            if refused.fetch_add(1, Ordering::SeqCst) < refusals {
                let data = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
                let error = json!({"code": -32022, "message": "unsupported", "data": data});
                return Said::Json(400, json!({"jsonrpc": "2.0", "id": seen.json["id"], "error": error}));
            }
            modern(|_| Said::Text(500, ""))(seen)
        })
        .await;
        let mut rig = Rig::start(spec(http(&script.url)));
        rig.until(expected).await;
        assert_eq!(script.count(|seen| seen.rpc() == "server/discover"), probes);
        assert_eq!(script.count(|seen| seen.rpc() == "initialize"), 0);
    }
}

#[tokio::test]
async fn an_era_is_remembered_but_not_after_a_refusal() {
    for refusal in [401, 403, 503] {
        remembered_but_not_after(refusal).await;
    }
}

async fn remembered_but_not_after(refusal: u16) {
    let ill = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&ill);
    let script = HttpScript::start(move |seen: &Seen| {
        if state.load(Ordering::SeqCst) {
            return Said::Text(refusal, "not yet");
        }
        match (seen.rpc(), seen.json["params"]["name"].as_str()) {
            ("tools/call", Some("forget")) => Said::Text(404, ""),
            _ => legacy("s", |seen| Said::Json(200, result(seen, &json!({}))))(seen),
        }
    })
    .await;
    let mut rig = Rig::start(spec(http(&script.url)));
    rig.until(State::Down).await;
    ill.store(false, Ordering::SeqCst);
    rig.until(State::Ready).await;
    let probes = script.count(|seen| seen.rpc() == "server/discover");
    assert!(probes >= 2, "{refusal} must not be taken for an era");
    let _ = rig.tool("forget").await;
    rig.until(State::Ready).await;
    assert_eq!(script.count(|seen| seen.rpc() == "server/discover"), probes, "the era was known by then");
}
