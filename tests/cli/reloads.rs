//! What a running gateway takes over from its files, and what it does not; and which gateway a command means.

use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene, plain_servers};

/// A record of Spear's with the plain server.
fn record(name: &str) -> String {
    format!(
        "server_id = \"{name}\"\ntransport = \"stdio\"\nallowed_tools = [\"*\"]\n[stdio]\ncommand = \"{PLAIN_SERVER}\"\n"
    )
}

#[test]
fn a_rule_that_cannot_be_read_changes_nothing_and_is_told() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))])
        .variable("TOOLGATE_AUTO_RELOAD", "false");
    let running = scene.start(&[]);
    let rule = "policy:\n  rules:\n    - {id: torn, effect: deny, when: \"arguments.n >\"}\n";
    scene.write("toolgate.yaml", &(plain_servers(&["plain", "second"]) + rule));
    let said = "toolgate.yaml:7:38: policy.rules[0].when: the condition is not valid CEL";
    let refused = scene.run(&["reload"]).code(2);
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains(said));
    assert!(running.line("the configuration was not reloaded").contains(said));
    scene.run(&["tools", "call", "plain__echo", "text=still"]).code(0);
    scene.run(&["tools", "call", "second__echo", "text=not yet"]).code(3);
    for line in [&["config", "validate"][..], &["start", "--transport", "stdio"]] {
        let output = scene.run(line).code(2);
        let output = output.get_output();
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        assert!(text.contains(said), "{line:?}: {text}");
    }
}

#[test]
fn a_record_that_is_half_written_takes_no_server_with_it() {
    let scene =
        Scene::with(&[("servers.d/one.toml", &record("one")), ("servers.d/two.toml", &record("two"))])
            .variable("TOOLGATE_AUTO_RELOAD", "false")
            .variable("SMS_MCP_DIR", "servers.d")
            .variable("TOOLGATE_STATE_DIR", "state");
    let running = scene.start(&[]);
    scene.write("servers.d/one.toml", "server_id = \"one");
    std::fs::remove_file(scene.path("servers.d/two.toml")).unwrap();
    for line in [&["reload", "--dry-run"][..], &["reload"]] {
        scene.check(
            line,
            0,
            str![[r#"
removed: two
kept as they were, because they cannot be read: one

"#]],
            str![],
        );
    }
    assert!(running.line("the server stays as it was").contains("one.toml:1"));
    scene.run(&["tools", "call", "one__echo", "text=still"]).code(0);
    let doctor = scene.run(&["doctor", "--json"]).code(1);
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    assert!(text.contains("server one stays as it was"), "{text}");
    // And it stays when something else changes.
    scene.write("servers.d/two.toml", &record("two"));
    scene.check(
        &["reload"],
        0,
        str![[r#"
added: two
kept as they were, because they cannot be read: one

"#]],
        str![],
    );
    scene.write("servers.d/one.toml", &record("one"));
    scene.check(
        &["reload"],
        0,
        str![[r#"
nothing has changed

"#]],
        str![],
    );
    scene.run(&["doctor"]).code(0);
    // A file that is gone is another thing.
    std::fs::remove_file(scene.path("servers.d/one.toml")).unwrap();
    scene.check(
        &["reload"],
        0,
        str![[r#"
removed: one

"#]],
        str![],
    );
}

#[test]
fn a_bad_entry_leaves_the_server_that_was_there() {
    let file = |record: &str| format!("{{\"mcpServers\": {{\"plain\": {record}}}}}");
    let good = file(&format!("{{\"command\": \"{PLAIN_SERVER}\"}}"));
    let scene = Scene::with(&[("mcp.json", &good)])
        .variable("TOOLGATE_AUTO_RELOAD", "false")
        .variable("TOOLGATE_STATE_DIR", "state");
    let _running = scene.start(&[]);
    scene.write("mcp.json", &file("{\"transport\": \"pigeon\"}"));
    scene.check(
        &["reload"],
        0,
        str![[r#"
kept as they were, because they cannot be read: plain

"#]],
        str![],
    );
    scene.run(&["tools", "call", "plain__echo", "text=still"]).code(0);
    scene.write("mcp.json", &file(&format!("{{\"command\": \"{PLAIN_SERVER}\", \"args\": [\"legacy\"]}}")));
    scene.check(
        &["reload"],
        0,
        str![[r#"
changed: plain

"#]],
        str![],
    );
}

#[test]
fn a_folder_of_records_may_be_replaced_as_a_whole() {
    let scene = Scene::with(&[("servers.d/one.toml", &record("one"))]);
    let running = scene.start(&["--config", "servers.d", "--state-dir", "state"]);
    scene.write("new/two.toml", &record("two"));
    std::fs::rename(scene.path("servers.d"), scene.path("old")).unwrap();
    std::fs::rename(scene.path("new"), scene.path("servers.d")).unwrap();
    assert!(running.line("the configuration was reloaded").contains("two"));
    scene.write("servers.d/three.toml", &record("three"));
    assert!(running.line("the configuration was reloaded").contains("three"));
}

#[test]
fn a_command_asks_the_gateway_of_its_own_project() {
    let servers = |name: &str| format!("servers:\n  {name}: {{command: {PLAIN_SERVER}}}\n");
    let first = Scene::with(&[("toolgate.yaml", &servers("first"))]);
    let home = first.path("home").display().to_string();
    let second = Scene::with(&[("toolgate.yaml", &servers("second"))]).variable("HOME", &home);
    let _running = first.start(&[]);
    first.run(&["reload"]).code(0);
    second.run(&["reload"]).code(3);
    let listed = second.run(&["tools", "list"]).code(0);
    assert!(String::from_utf8_lossy(&listed.get_output().stdout).starts_with("second__echo"));
    // Who names the folder of its state means the gateway, wherever that was started.
    let state = format!("{home}/.local/state/toolgate");
    second.run(&["reload", "--state-dir", &state]).code(0);
    // And where no project is, there is only one that can be meant.
    Scene::with(&[]).variable("HOME", &home).run(&["reload"]).code(0);
}

#[test]
fn what_is_disabled_is_what_the_gateway_says() {
    let file =
        format!("{}  poor: {{command: {PLAIN_SERVER}, env_from: [TOKEN]}}\n", plain_servers(&["plain"]));
    let without = Scene::with(&[("toolgate.yaml", &file)]);
    let running = without.start(&[]);
    // A list comes when the servers have listed.
    without.run(&["tools", "list"]).code(0);
    // The shell has what the gateway lacks.
    let scene = without.variable("TOKEN", "here");
    scene.check(
        &["servers", "list"],
        0,
        str![[r#"
plain	ready	stdio	2	[SERVER]	-
poor	disabled	stdio	-	[SERVER]	the variable TOKEN is not set (named in env_from)

"#]],
        str![],
    );
    let doctor = scene.run(&["doctor"]).code(1);
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    assert!(text.contains("problem server poor: disabled: the variable TOKEN is not set"), "{text}");
    drop(running);
    // And the other way round.
    let _running = scene.start(&[]);
    scene.run(&["tools", "list"]).code(0);
    let scene = scene.unset("TOKEN");
    scene.check(
        &["servers", "list"],
        0,
        str![[r#"
plain	ready	stdio	2	[SERVER]	-
poor	ready	-	2	-	-

"#]],
        str![],
    );
}
