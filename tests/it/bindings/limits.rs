//! What a bound tool's request may not do: outlive its call, take too long, be sent twice, go elsewhere, bring too much.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use harness::{Client, Era, Gateway, Setup, Website, eventually};
use serde_json::json;
use tempfile::TempDir;
use toolgate_ledger::Status;

use super::write_skill;
use crate::ledger::records;

/// A gateway with one tool `t` of these members, and this section `egress`.
fn gateway(tool: &str, egress: &str) -> (Gateway, TempDir) {
    let folder = TempDir::new().unwrap();
    write_skill(
        folder.path(),
        &format!("---\nname: rates\ndescription: d\ntools:\n  - {{name: t, description: d, {tool}}}\n---\n"),
    );
    let config = format!("skills: {{dir: {}}}\negress: {{{egress}}}\n", folder.path().display());
    (Setup::new().config(&config).start(), folder)
}

/// Lets requests go to a website on this machine.
fn here(website: &Website) -> String {
    format!("private: [\"127.0.0.1:{}\"]", website.port())
}

/// Calls the tool, which must fail, and gives its words.
fn failure(gateway: &Gateway) -> String {
    let answer = Client::modern(gateway).call("bindings__t", &json!({}));
    assert_eq!(answer.result()["isError"], true, "{}", answer.answer);
    answer.text().to_owned()
}

fn until_left(left: &AtomicUsize, count: usize) {
    eventually("the request is broken off", || (left.load(Ordering::SeqCst) == count).then_some(()));
}

#[test]
fn a_cancelled_call_breaks_its_request_off() {
    let (website, left) = Website::silent();
    let tool = format!("http: {{url: \"http://127.0.0.1:{}/\"}}", website.port());
    let (mut gateway, _folder) = gateway(&tool, &here(&website));
    for (number, era) in (1..).zip(Era::BOTH) {
        let client = Client::new(&gateway, era);
        let pending = client.begin("tools/call", &json!({"name": "bindings__t", "arguments": {}}));
        eventually("the request came", || (website.heard().len() == number).then_some(()));
        assert_eq!(left.load(Ordering::SeqCst), number - 1);
        match era {
            Era::Legacy => client.notify("notifications/cancelled", &json!({"requestId": pending.id})),
            Era::Modern => pending.leave(),
        }
        until_left(&left, number);
    }
    assert!(gateway.stop().success());
    let status: Vec<Status> = records(&gateway).iter().map(|record| record.status).collect();
    assert_eq!(status, [Status::Cancelled, Status::Cancelled]);
}

#[test]
fn a_request_that_takes_too_long_is_an_error() {
    let (website, left) = Website::silent();
    let tool = format!("http: {{url: \"http://127.0.0.1:{}/\", timeout: 200ms}}", website.port());
    let (gateway, _folder) = gateway(&tool, &here(&website));
    let words = failure(&gateway);
    assert!(words.contains("0.2 s"), "{words}");
    until_left(&left, 1);
}

#[test]
fn only_what_is_idempotent_is_sent_again() {
    for (tool, retries, asked) in
        [("read_only: true, ", 2, 3), ("idempotent: true, ", 1, 2), ("idempotent: true, ", 0, 1), ("", 0, 1)]
    {
        let website = Website::open(|_| (503, json!({"error": "busy"})));
        let tool = format!(
            "{tool}http: {{method: POST, url: \"http://127.0.0.1:{}/\", retries: {retries}}}",
            website.port()
        );
        let (gateway, _folder) = gateway(&tool, &here(&website));
        let words = failure(&gateway);
        assert!(words.contains("503") && words.contains("busy"), "{words}");
        assert_eq!(website.heard().len(), asked, "{tool}");
    }
}

#[test]
fn what_may_be_sent_twice_by_mistake_is_no_tool() {
    let website = Website::echo();
    let tool = format!("http: {{method: POST, url: \"http://127.0.0.1:{}/\", retries: 1}}", website.port());
    let (gateway, _folder) = gateway(&tool, &here(&website));
    gateway.log().until("a call could take effect twice");
    assert_eq!(Client::modern(&gateway).call("bindings__t", &json!({})).code(), -32602);
}

#[test]
fn no_redirect_leads_to_a_private_address() {
    let target = Website::echo();
    let within = format!("http://localhost:{}/secret", target.port());
    for (location, words) in [
        (within.clone(), "not public"),
        (format!("http://127.0.0.1:{}/secret", target.port()), "egress.allow"),
        ("http://169.254.169.254/latest/meta-data".to_owned(), "not public"),
        ("http://0x7f000001/".to_owned(), "egress.allow"),
        ("http://other.example/".to_owned(), "egress.allow"),
    ] {
        let website = Website::redirecting(location.clone());
        let tool = format!("http: {{url: \"http://127.0.0.1:{}/\"}}", website.port());
        let egress = format!("{}, allow: [\"localhost:*\", 169.254.169.254], redirects: 3", here(&website));
        let (gateway, _folder) = gateway(&tool, &egress);
        let said = failure(&gateway);
        assert!(said.contains(words), "{location}: {said}");
        assert_eq!(website.heard().len(), 1, "{location}");
    }
    assert!(target.heard().is_empty());
    // Without being told to, it follows none at all.
    let website = Website::redirecting(within);
    let tool = format!("http: {{url: \"http://127.0.0.1:{}/\"}}", website.port());
    let everywhere = format!("private: [\"127.0.0.1:*\", \"localhost:{}\"]", target.port());
    let (gateway, _folder) = gateway(&tool, &everywhere);
    assert!(failure(&gateway).contains("not followed"));
    assert!(target.heard().is_empty());
}

#[test]
fn a_name_of_a_private_address_is_not_asked() {
    let website = Website::echo();
    let tool = format!("http: {{url: \"http://localhost:{}/\"}}", website.port());
    let (refusing, _folder) = gateway(&tool, "allow: [\"localhost:*\"]");
    let words = failure(&refusing);
    assert!(words.contains("not public") && words.contains("egress.private"), "{words}");
    assert!(website.heard().is_empty());
    let (allowing, _folder) = gateway(&tool, "private: [\"localhost:*\"]");
    Client::modern(&allowing).call("bindings__t", &json!({})).result();
    assert_eq!(website.heard().len(), 1);
}

#[test]
fn an_answer_that_is_too_long_is_an_error() {
    let website = Website::open(|heard| {
        let length = if heard.line.contains("/long") { 2000 } else { 500 };
        (200, json!("x".repeat(length)))
    });
    let tool = format!(
        "input: {{type: object, properties: {{page: {{type: string, default: long}}}}}}, \
         http: {{url: \"http://127.0.0.1:{}/{{page}}\"}}",
        website.port()
    );
    let (gateway, _folder) = gateway(&tool, &format!("{}, max_answer_bytes: 1000", here(&website)));
    let words = failure(&gateway);
    assert!(words.contains("longer than the allowed 1000 bytes"), "{words}");
    let short = Client::modern(&gateway).call("bindings__t", &json!({"page": "short"}));
    assert_eq!(short.text().len(), 500);
}
