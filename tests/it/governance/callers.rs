//! Callers by API key, by the name they claim, by their address; and those that nobody knows.

use harness::client::MODERN;
use harness::http::{Connection, Response};
use harness::{Client, Era, Gateway, Setup};
use serde_json::json;
use tempfile::TempDir;
use toolgate_identity::{KeyFile, NewKey};

use super::approval::operators;
use super::shop::Shop;
use super::{caller, gateway, listed};

/// Lists tools with these headers, whatever comes of it.
pub(super) fn knock(gateway: &Gateway, credentials: &[(&str, &str)]) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {}}}});
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/list"),
    ];
    headers.extend(credentials);
    Connection::open(gateway.address()).exchange("POST", "/mcp", &headers, body.to_string().as_bytes())
}

/// Nobody is let in with these credentials, and the challenge says why.
pub(super) fn check_refused(gateway: &Gateway, credentials: &[(&str, &str)], why: &str) {
    let response = knock(gateway, credentials);
    assert_eq!(response.head.status, 401, "{credentials:?}: {}", response.text());
    let challenge = response.head.header("www-authenticate").unwrap_or_default();
    assert!(challenge.starts_with("Bearer realm=\"toolgate\""), "{challenge}");
    assert!(challenge.contains(why), "{challenge}");
    gateway.log().until("a caller was not let in");
    for (_, secret) in credentials {
        assert!(!gateway.log().text().contains(secret), "the log has what was presented");
        assert!(!response.text().contains(secret), "the answer repeats what was presented");
    }
}

#[test]
fn api_keys_open_the_gate() {
    let (shop, place) = (Shop::open(), TempDir::new().unwrap());
    let keys = KeyFile::at(place.path().join("keys.json"));
    let create = |caller: &str, expires| {
        let groups = vec!["sales".to_owned()];
        keys.create(NewKey { caller: caller.to_owned(), groups, expires }, 1).unwrap()
    };
    let (anna, _) = create("anna", None);
    let (revoked, record) = create("ben", None);
    let (expired, _) = create("carl", Some(2));
    keys.revoke(&record.id, 1).unwrap();
    let sections = format!(
        "admin: {{listen: /admin, token_env: OPERATORS}}\n\
         callers: {{anonymous: deny, keys_file: \"{}\"}}\npolicy: {{default: deny, rules: [\n\
         {{effect: allow, groups: [sales], tools: [buy]}}, {{effect: allow, callers: [anna], tools: [count]}}]}}\n",
        keys.path().display()
    );
    let gateway = Setup::new().config(&shop.config("", &sections)).variable("OPERATORS", "sesame").start();

    let bearer = |key: &str| format!("Bearer {key}");
    for era in Era::BOTH {
        for credential in [("authorization", &*bearer(anna.reveal())), ("x-api-key", anna.reveal())] {
            let client = Client::presenting(&gateway, era, &[credential]);
            assert_eq!(listed(&client, "tools/list", "tools", "name"), ["shop__buy", "shop__count"]);
            assert_eq!(client.call("shop__buy", &json!({"item": "tea"})).text(), "sold \"tea\"");
        }
    }
    let unknown = format!("tg_{}", "0".repeat(43));
    check_refused(&gateway, &[], "toolgate");
    check_refused(&gateway, &[("authorization", &bearer(&unknown))], "the API key does not exist");
    check_refused(&gateway, &[("x-api-key", &unknown)], "the API key does not exist");
    check_refused(&gateway, &[("authorization", &bearer(revoked.reveal()))], "revoked");
    check_refused(&gateway, &[("authorization", &bearer(expired.reveal()))], "expired");
    check_refused(&gateway, &[("authorization", "Basic YTpi")], "invalid_request");
    // A wrong credential is not passed over for a right one.
    check_refused(&gateway, &[("authorization", &bearer(&unknown)), ("x-api-key", anna.reveal())], "exist");
    // A key that opens nothing puts nobody into groups either.
    for (caller, groups) in [("anna", json!(["sales"])), ("ben", json!([])), ("carl", json!([]))] {
        let told = operators(&gateway, "GET", &format!("/quotas?caller={caller}"), &json!(null));
        assert_eq!(told["groups"], groups, "{told}");
    }
}

#[test]
fn a_session_belongs_to_the_caller_that_began_it() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "");
    let anna = caller(&gateway, Era::Legacy, "anna");
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    let mut headers = anna.headers(&message);
    assert_eq!(anna.post_raw(message.to_string().as_bytes(), &headers).head.status, 200);
    headers.retain(|(name, _)| *name != "x-mcp-client-id");
    headers.push(("x-mcp-client-id", "ben".to_owned()));
    assert_eq!(anna.post_raw(message.to_string().as_bytes(), &headers).head.status, 404);
}

#[test]
fn clients_without_credentials_are_let_in_as_the_operator_says() {
    let shop = Shop::open();
    let start = |callers: &str| Setup::new().config(&shop.config("", callers)).start();
    assert_eq!(knock(&start(""), &[]).head.status, 200, "from this machine");
    assert_eq!(knock(&start("callers: {anonymous: allow}\n"), &[]).head.status, 200);
    check_refused(&start("callers: {anonymous: deny}\n"), &[], "toolgate");
    // Who must prove who it is cannot just say so.
    let strict = start("callers: {anonymous: deny, trust_client_id_header: true}\n");
    check_refused(&strict, &[("x-mcp-client-id", "anna-of-sales")], "toolgate");
}

#[test]
fn a_claimed_name_counts_only_where_it_is_trusted() {
    let (shop, place) = (Shop::open(), TempDir::new().unwrap());
    let keys = KeyFile::at(place.path().join("keys.json"));
    keys.create(NewKey { caller: "owner".to_owned(), ..NewKey::default() }, 1).unwrap();
    let start = |trusted: bool| {
        let sections = format!(
            "callers: {{trust_client_id_header: {trusted}, keys_file: \"{}\"}}\n\
             policy: {{rules: [{{effect: hide, callers: [anna], tools: [buy]}}]}}\n",
            keys.path().display()
        );
        Setup::new().config(&shop.config("", &sections)).start()
    };
    for (trusted, sees) in [(true, false), (false, true)] {
        let gateway = start(trusted);
        let names = listed(&caller(&gateway, Era::Modern, "anna"), "tools/list", "tools", "name");
        assert_eq!(names.contains(&"shop__buy".to_owned()), sees, "trusted: {trusted}");
        if trusted {
            check_refused(&gateway, &[("x-mcp-client-id", "owner")], "the claimed client id cannot be used");
            check_refused(
                &gateway,
                &[("x-mcp-client-id", "no name")],
                "the claimed client id cannot be used",
            );
        }
    }
}
