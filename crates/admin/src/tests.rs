//! The operations of a gateway in this process: no server runs, the catalogue is remembered, the ledger has calls.

mod scene;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolgate_client::fetch::{Fetch, fetch};
use toolgate_gateway::approvals::{Answer as Decision, ApprovalRequest};
use toolgate_gateway::downstream::annex;
use toolgate_gateway::downstream::door::Annex;

use crate::{Api, Place, Token};
use scene::Scene;

#[tokio::test]
async fn calls_are_found_page_by_page() {
    let scene = Scene::begin();
    let first = scene.get("/ledger?caller=anna&limit=2").await;
    let tools = |page: &Value| -> Vec<String> {
        let calls = page["calls"].as_array().unwrap();
        calls.iter().map(|call| call["tool"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tools(&first), ["db__drop", "db__read"]);
    let second =
        scene.get(&format!("/ledger?caller=anna&limit=2&cursor={}", first["next"].as_str().unwrap())).await;
    assert_eq!(tools(&second), ["db__read"]);
    assert_eq!(second["next"], Value::Null);
    let denied = scene.get("/ledger?status=denied").await;
    assert_eq!(
        (tools(&denied), &denied["calls"][0]["error_code"]),
        (vec!["db__drop".into()], &json!(-32003))
    );
}

#[tokio::test]
async fn a_record_has_its_bodies_without_secrets() {
    let scene = Scene::begin();
    let call = &scene.get("/ledger?caller=bert").await["calls"][0];
    let record =
        scene.get(&format!("/ledger/{}/{}", call["replica"].as_str().unwrap(), call["sequence"])).await;
    assert_eq!(record["arguments"]["body"], json!({"table": "t", "password": "[redacted]"}));
    assert_eq!(record["result"]["body"], json!({"rows": 3}));
    assert_eq!(record["native"], "read");
    for missing in [
        "/ledger/local-0/99",
        "/ledger/nobody/0",
        "/ledger/..%2f..%2fetc/0",
        "/ledger/local-0/18446744073709551615",
    ] {
        assert_eq!(scene.ask("GET", missing, Value::Null).await.0, 404, "{missing}");
    }
    assert_eq!(scene.ask("GET", "/ledger/local-0/x", Value::Null).await.0, 400);
}

#[tokio::test]
async fn calls_are_added_up() {
    let scene = Scene::begin();
    let check = async |query: &str, expected: Value| {
        let statistics = scene.get(&format!("/statistics?{query}")).await;
        let rows = statistics["rows"].as_array().unwrap().iter();
        let rows: Vec<Value> = rows
            .map(|row| json!([row["group"], row["calls"], row["failed"], row["price_settled"]]))
            .collect();
        assert_eq!(json!(rows), expected, "{query}");
    };
    check("", json!([["anna", 3, 1, 500_000], ["bert", 1, 0, 250_000]])).await;
    check("by=tool&caller=anna", json!([["db__drop", 1, 1, 0], ["db__read", 2, 0, 500_000]])).await;
    check("by=status", json!([["ok", 3, 0, 750_000], ["denied", 1, 1, 0]])).await;
    check("from=2020-01-01&to=2020-12-31", json!([])).await;
    assert_eq!(scene.ask("GET", "/statistics?from=2020-02-01&to=2020-01-01", Value::Null).await.0, 400);
}

#[tokio::test]
async fn a_call_is_explained_and_limits_are_told() {
    let scene = Scene::begin();
    let check = async |query: &str, outcome: &str, stage: Value| {
        let explanation = scene.get(&format!("/explain?{query}")).await;
        assert_eq!(
            (&explanation["outcome"], &explanation["stopped_at"]),
            (&json!(outcome), &stage),
            "{query}"
        );
    };
    check("caller=anna&tool=db__read", "passes", Value::Null).await;
    check("caller=anna&tool=db__read&arguments=%7B%7D", "bad_arguments", json!("arguments")).await;
    check("caller=anna&tool=db__drop", "refused", json!("permission")).await;
    check("caller=anna&groups=admins&tool=db__drop", "needs_approval", json!("approval")).await;
    check("caller=anna&resource=db%3A%2F%2Frows", "refused", json!("permission")).await;
    check("caller=anna&groups=admins&resource=db%3A%2F%2Frows", "passes", Value::Null).await;
    check("caller=anna&prompt=db__help", "passes", Value::Null).await;
    check("caller=bert&prompt=db__help", "hidden", json!("visibility")).await;
    check("caller=anna&tool=db__read&narrow=db__d*", "hidden", json!("visibility")).await;
    for (wrong, status) in [
        ("caller=anna&tool=none", 404),
        ("caller=anna&prompt=none", 404),
        ("caller=anna", 400),
        ("tool=db__read", 400),
        ("caller=a&tool=db__read&arguments=x", 400),
    ] {
        assert_eq!(scene.ask("GET", &format!("/explain?{wrong}"), Value::Null).await.0, status, "{wrong}");
    }
    let quotas = scene.get("/quotas?caller=anna").await;
    assert_eq!(quotas["limits"].as_array().map(Vec::len), Some(1), "{quotas}");
    let limit = &quotas["limits"][0];
    assert_eq!((&limit["limit"], &limit["remaining"]), (&json!(10), &json!(10)));
    assert_eq!(limit["tools"], json!(["db__read", "db__drop"]));
    assert_eq!(quotas["month"]["price_settled"], 500_000);
}

#[tokio::test]
async fn calls_that_wait_are_listed_and_decided() {
    let scene = Scene::begin();
    let request = ApprovalRequest {
        id: 0,
        caller: "anna".into(),
        server: "db".into(),
        tool: "db__drop".into(),
        arguments: Some(r#"{"table":"t"}"#.into()),
        rule: "ask".into(),
        since: 0,
        expires: 0,
    };
    let approvals = &scene.gateway.gate.approvals;
    let (mut one, mut other) = (
        approvals.enter(request.clone(), Duration::from_secs(60)).unwrap(),
        approvals.enter(request, Duration::from_secs(60)).unwrap(),
    );
    let waiting = scene.get("/approvals").await;
    assert_eq!(waiting["approvals"].as_array().map(Vec::len), Some(2));
    assert_eq!(waiting["approvals"][0]["arguments"], json!({"table": "t"}));
    assert_eq!(scene.ask("POST", "/approvals/1", json!({"approve": true})).await.0, 200);
    assert_eq!(one.answer.try_recv(), Ok(Decision::Approved));
    assert_eq!(scene.ask("POST", "/approvals/2", json!({"approve": "yes"})).await.0, 400);
    assert_eq!(scene.ask("POST", "/approvals/2", json!({"approve": false, "reason": "no"})).await.0, 200);
    assert_eq!(other.answer.try_recv(), Ok(Decision::Refused("no".into())));
    assert_eq!(scene.ask("POST", "/approvals/2", json!({"approve": true})).await.0, 404);
    assert_eq!(scene.ask("POST", "/approvals/all", json!({"approve": true})).await.0, 404);
}

#[tokio::test]
async fn every_described_path_is_served() {
    let scene = Scene::begin();
    let document = scene.get("/openapi.json").await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{replica}", "local-0").replace("{sequence}", "0").replace("{id}", "1");
        for method in methods.as_object().unwrap().keys() {
            let (_, answer) = scene.ask(&method.to_uppercase(), &path, Value::Null).await;
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.contains("there is nothing at"), "{method} {path}: {message}");
        }
        assert_eq!(scene.ask("DELETE", &path, Value::Null).await.0, 405, "{path}");
    }
    assert_eq!(scene.get("/servers").await["servers"][0]["name"], "db");
    assert_eq!(scene.ask("GET", "/secrets", Value::Null).await.0, 404);
}

#[tokio::test]
async fn only_the_token_opens_the_api() {
    let scene = Scene::begin();
    let api = Api::new(scene.operations.clone(), Token::new("sesame").unwrap(), Place::OwnListener);
    let annex: Box<dyn Annex> = Box::new(api);
    scene.gateway.annex.store(Some(Arc::new(annex)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(annex::serve(Arc::clone(&scene.gateway), listener));
    let check = async |token: &str, path: &str, body: Bytes, expected: u16| {
        let headers = BTreeMap::from([("authorization".to_owned(), format!("Bearer {token}"))]);
        let request = Fetch {
            method: &if body.is_empty() { Method::GET } else { Method::POST },
            url: &format!("{base}{path}"),
            headers: &headers,
            body: &body,
            patience: Duration::from_secs(30),
            limit: 1 << 20,
        };
        let (status, answer) = fetch(request).await.unwrap();
        assert_eq!(status.as_u16(), expected, "{path} {answer:?}");
    };
    check("sesame", "/api/v1/servers", Bytes::new(), 200).await;
    check("sesam", "/api/v1/servers", Bytes::new(), 401).await;
    check("sesam", "/anything", Bytes::new(), 401).await;
    check("sesame", "/mcp", Bytes::new(), 404).await;
    check("sesame", "/api/v1/approvals/1", Bytes::from(vec![b' '; 70_000]), 400).await;
    scene.gateway.stopping.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_place_on_the_main_listener_is_below_its_path() {
    let scene = Scene::begin();
    let check = |place: Place, path: &str, expected: bool| {
        let api = Api::new(scene.operations.clone(), Token::new("sesame").unwrap(), place);
        assert_eq!(api.serves(path), expected, "{path}");
    };
    check(Place::Below("/admin".into()), "/admin/api/v1/servers", true);
    check(Place::Below("/admin/".into()), "/admin/api/v1/servers", true);
    check(Place::Below("/admin".into()), "/api/v1/servers", false);
    check(Place::Below("/".into()), "/api/v1/servers", true);
    check(Place::Below("/".into()), "/api/v10", false);
    check(Place::OwnListener, "/api/v1/servers", false);
}
