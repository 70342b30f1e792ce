//! Secrets in the keyring of the desktop, with a real keyring.

use std::process::Command;

use harness::{Client, Era, Gateway, Keyring, Setup, Upstream, binary};
use serde_json::json;

const SECRET: &str = "hunter2-of-the-keyring";

fn configuration(upstream: &Upstream) -> String {
    let url = upstream.url();
    format!(
        "log: {{level: debug}}\n\
         servers:\n\
         \x20 safe: {{url: \"{url}\", auth_ref: \"keyring:shop/orders\"}}\n\
         \x20 poor: {{url: \"{url}\", auth_ref: \"keyring:shop/none\"}}\n"
    )
}

/// What a command says about the configuration of a gateway, on both streams.
fn said(gateway: &Gateway, keyring: Option<&Keyring>, line: &[&str]) -> String {
    let mut command = Command::new(binary());
    command.args(line).current_dir(gateway.home()).env_clear().env("HOME", gateway.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs(keyring.map(Keyring::variable));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_server_gets_its_secret_and_nobody_else_sees_it() {
    let keyring = Keyring::start();
    keyring.store("shop", "orders", SECRET);
    let upstream = Upstream::start(Era::Modern, &[&format!("token={SECRET}")]);
    let (name, address) = keyring.variable();
    let mut gateway = Setup::new().config(&configuration(&upstream)).variable(name, &address).start();
    let answer = Client::modern(&gateway).call("safe__echo", &json!({"text": "open"}));
    assert!(answer.raw.contains("open"), "{}", answer.raw);

    let missing = "keyring entry shop/none: there is no such entry";
    let validated = said(&gateway, Some(&keyring), &["config", "validate"]);
    assert!(validated.contains("valid: 1 server\n"), "{validated}");
    assert!(validated.contains(&format!("servers.poor: disabled: {missing}")), "{validated}");
    let shown = said(&gateway, Some(&keyring), &["config", "show"]);
    let listed = said(&gateway, Some(&keyring), &["servers", "list", "--json"]);
    assert!(listed.contains(missing), "{listed}");
    gateway.stop();
    gateway.log().until(missing);
    for text in [&validated, &shown, &listed, &gateway.log().text()] {
        assert!(!text.contains(SECRET), "the secret is told: {text}");
    }
}

#[test]
fn without_a_keyring_the_reason_is_told() {
    let upstream = Upstream::start(Era::Modern, &[]);
    let gateway = Setup::new().config(&configuration(&upstream)).start();
    let validated = said(&gateway, None, &["config", "validate"]);
    let told = "servers.safe: disabled: keyring entry shop/orders: secret-tool: ";
    assert!(validated.contains(told), "{validated}");
}
