//! What commands print that the other tests only look into: tables for people, and JSON whose fields stay.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene, plain_servers, toolgate};

/// Texts that are other ones each time.
#[track_caller]
fn check_lines(scene: &Scene, line: &[&str], expected: &[&[&str]]) {
    let output = scene.run(line).code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (found, expected) in lines.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{text}");
        let differs = |(found, expected): (&&str, &&str)| *expected != "*" && found != expected;
        assert!(!found.iter().zip(*expected).any(differs), "{found:?} is not {expected:?}");
    }
}

#[test]
fn what_is_looked_at_as_json() {
    let scene = Scene::with_plain_server();
    scene.check(&["prompts", "list", "--json"], 0, str![], str![]);
    scene.check(&["prompts", "get", "plain__greet", "who=Ada", "--json"], 0, str![], str![]);
    scene.check(&["resources", "read", "note://greeting", "--json"], 0, str![], str![]);
    scene.check(&["doctor", "--json"], 0, str![], str![]);
}

#[test]
fn a_test_of_servers_as_json() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let output = scene.run(&["servers", "test", "--json"]).code(0);
    let mut report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(report["milliseconds"].take().is_u64());
    let server = report["servers"][0].as_object_mut().unwrap();
    assert_eq!(server.remove("target").unwrap(), PLAIN_SERVER);
    snapbox::assert_data_eq!(serde_json::to_string_pretty(&report).unwrap(), str![]);
}

#[test]
fn a_server_is_removed() {
    let scene = Scene::with(&[("toolgate.yaml", "servers:\n  a: {command: x}\n  b: {command: y}\n")]);
    scene.check(&["servers", "remove", "a"], 0, str![], str![]);
    scene.check(&["servers", "remove", "b", "--json"], 0, str![], str![]);
    assert_eq!(scene.read("toolgate.yaml"), "servers: {}\n");
}

#[test]
fn well_known_servers() {
    Scene::with(&[]).check(&["servers", "list", "--known"], 0, str![], str![]);
    let output = Scene::with(&[]).run(&["servers", "list", "--known", "--json"]).code(0);
    let list: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let github = list["known"].as_array().unwrap().iter().find(|known| known["name"] == "github").unwrap();
    snapbox::assert_data_eq!(serde_json::to_string_pretty(github).unwrap(), str![]);
}

#[test]
fn a_gateway_says_when_it_is_ready() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["one", "two"]))]);
    let running = scene.start_and_see(&[]);
    let mut ready: Value = serde_json::from_str(&running.line("\"listening\"")).unwrap();
    let members = ready.as_object_mut().unwrap();
    let listening = members.remove("listening").unwrap();
    let listening = listening.as_str().unwrap();
    assert!(listening.starts_with("http://127.0.0.1:") && listening.ends_with("/mcp"), "{listening}");
    assert!(members.remove("timestamp").is_some() && members.remove("version").is_some());
    snapbox::assert_data_eq!(serde_json::to_string_pretty(&ready).unwrap(), str![]);
}

#[test]
fn operators_read_tables() {
    let file = plain_servers(&["plain"])
        + "quotas:\n  - {id: slow, calls_per_day: 5}\npolicy:\n  rules:\n    - {id: small, effect: deny, tools: [echo], when: \"arguments.text == 'no'\"}\n";
    let scene = Scene::with(&[("toolgate.yaml", &file)]);
    let made = scene.run(&["keys", "create", "anna", "--group", "sales"]).code(0);
    let text = String::from_utf8_lossy(&made.get_output().stdout).into_owned();
    assert!(text.contains("tg_"), "{text}");
    check_lines(&scene, &["keys", "list"], &[&["*", "anna", "sales", "valid", "*", "-", "*"]]);
    let explain = |text: &str| {
        let arguments = format!("{{\"text\": \"{text}\"}}");
        let line = ["explain", "--client", "anna", "--tool", "plain__echo", "--arguments", &arguments];
        let output = scene.run(&line).code(0);
        String::from_utf8(output.get_output().stdout.clone()).unwrap().lines().last().unwrap().to_owned()
    };
    assert_eq!(explain("yes"), "the call would run");
    assert_eq!(explain("no"), "the call would not run: refused at permission");
    scene.run(&["tools", "call", "plain__echo", "text=hello"]).code(0);
    scene.run(&["tools", "call", "plain__echo", "text=no"]).code(4);
    check_lines(
        &scene,
        &["quotas", "--client", "operator"],
        &[&["slow", "calls_per_day", "1", "5", "4", "*", "*"]],
    );
    check_lines(
        &scene,
        &["ledger", "tail"],
        &[
            &["*", "ok", "operator", "plain__echo", "*", "0"],
            &["*", "denied", "operator", "plain__echo", "*", "0"],
        ],
    );
    let export = scene.run(&["ledger", "export"]).code(0);
    let lines = String::from_utf8(export.get_output().stdout.clone()).unwrap();
    let statuses: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
    assert_eq!(statuses, ["ok", "denied"]);
}

#[test]
fn the_ledger_is_followed() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let call = ["tools", "call", "plain__echo", "text=hello"];
    scene.run(&call).code(0);
    let mut tail = Command::new(toolgate())
        .args(["ledger", "tail", "--follow", "--json"])
        .current_dir(scene.path(""))
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["status"], "ok");
    scene.run(&["tools", "call", "plain__fail"]).code(1);
    assert_eq!(next()["status"], "tool_error");
    tail.kill().unwrap();
    tail.wait().unwrap();
}
