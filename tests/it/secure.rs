//! HTTPS: to clients, as curl speaks it, and to servers.

use std::process::{Command, Output};

use harness::{Client, Gateway, Setup, eventually};
use serde_json::{Value, json};

use crate::cells::scripted;

/// A file among the certificates for tests.
fn certificate(name: &str) -> String {
    format!("{}/certificates/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn setup() -> Setup {
    Setup::new()
        .server("s", scripted(&["legacy"]))
        .set(&format!("listen.tls.cert_file={}", certificate("server.pem")))
        .set(&format!("listen.tls.key_file={}", certificate("server.key")))
}

fn curl(gateway: &Gateway, scheme: &str, path: &str, arguments: &[&str]) -> Output {
    let url = format!("{scheme}://{}{path}", gateway.address());
    let authority = certificate("ca.pem");
    let usual = ["--silent", "--show-error", "--max-time", "20", "--cacert", &authority];
    Command::new("curl").args(usual).args(arguments).arg(url).output().unwrap()
}

fn call(gateway: &Gateway, arguments: &[&str]) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "s__echo", "arguments": {"text": "over TLS"}, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut all = vec!["--data-binary", message.as_str()];
    for header in [
        "content-type: application/json",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        "mcp-name: s__echo",
    ] {
        all.extend(["--header", header]);
    }
    all.extend(arguments);
    let output = curl(gateway, "https", "/mcp", &all);
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
}

#[test]
fn clients_are_served_over_https() {
    let gateway = setup().start();
    assert_eq!(call(&gateway, &[])["result"]["content"][0]["text"], "over TLS");
    let health = curl(&gateway, "https", "/health", &[]);
    assert!(health.status.success(), "{}", String::from_utf8_lossy(&health.stderr));
    let plain = curl(&gateway, "http", "/health", &[]);
    assert!(!plain.status.success(), "nothing is served without it");
}

#[test]
fn clients_must_show_a_certificate_where_that_is_asked() {
    let asked = setup()
        .set(&format!("listen.tls.client_ca_file={}", certificate("ca.pem")))
        .set("listen.tls.verify_client=true");
    let gateway = asked.start();
    assert!(!curl(&gateway, "https", "/health", &[]).status.success());
    let (own, key) = (certificate("client.pem"), certificate("client.key"));
    let answer = call(&gateway, &["--cert", &own, "--key", &key]);
    assert_eq!(answer["result"]["content"][0]["text"], "over TLS");
}

#[test]
fn servers_are_spoken_to_over_https_where_their_authority_is_trusted() {
    let far = setup().start();
    let port = far.address().rsplit_once(':').unwrap().1;
    let before = |authority: &str| {
        let near = Setup::new().server("far", format!("https://localhost:{port}/mcp"));
        near.variable("SSL_CERT_FILE", &certificate(authority)).start()
    };
    let trusting = before("ca.pem");
    let client = Client::modern(&trusting);
    eventually("the call arrives", || {
        let exchange = client.call("far__s__echo", &json!({"text": "over TLS"}));
        (exchange.answer["result"]["content"][0]["text"] == "over TLS").then_some(())
    });
    // A certificate that has issued no other.
    before("client.pem").log().until("SSL_CERT_FILE");
}

#[test]
fn a_gateway_whose_certificate_cannot_be_used_does_not_start() {
    let check = |setup: Setup, words: &str| {
        let ended = setup.start_and_fail();
        assert!(ended.contains(words), "{ended}");
    };
    let missing = Setup::new()
        .set("listen.tls.cert_file=/nowhere/cert.pem")
        .set(&format!("listen.tls.key_file={}", certificate("server.key")));
    check(missing, "/nowhere/cert.pem cannot be used");
    let mixed = setup().set(&format!("listen.tls.key_file={}", certificate("client.key")));
    check(mixed, "cannot be used together");
    check(setup().set("listen.tls.verify_client=true"), "client_ca_file");
}
