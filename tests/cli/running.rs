//! Commands that ask a running gateway, and what makes it reload.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene, plain_servers};

#[test]
fn a_running_gateway_is_asked() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let _running = scene.start(&[]);
    let mode = std::fs::metadata(scene.path("state/control.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    scene.check(
        &["tools", "call", "plain__echo", "text=hello"],
        0,
        str![[r#"
hello

"#]],
        str![],
    );
    scene.check(
        &["tools", "call", "plain__fail"],
        1,
        str![],
        str![[r#"
error: the tool failed: as always

"#]],
    );
    scene.check(
        &["tools", "call", "plain__none"],
        3,
        str![],
        str![[r#"
error: Unknown tool: plain__none

"#]],
    );
    scene.check(
        &["tools", "call", "plain__echo", "times:=2"],
        2,
        str![],
        str![[r#"
error: Invalid arguments for tool plain__echo: [..]

"#]],
    );
    scene.check(
        &["resources", "list"],
        0,
        str![[r#"
note://greeting	greeting	text/plain	A greeting.
note://day/{day}	day	text/plain	A day.

"#]],
        str![],
    );
    scene.check(
        &["prompts", "get", "plain__greet", "who=Ada"],
        0,
        str![[r#"
user: Say hello to Ada.

"#]],
        str![],
    );
    scene.check(
        &["servers", "list"],
        0,
        str![[r#"
plain	ready	stdio	2	[SERVER]	-

"#]],
        str![],
    );
    scene.run(&["doctor", "--offline"]).code(0).stderr_eq(str![]);
}

#[test]
fn what_a_gateway_does_not_serve_is_asked_directly() {
    let scene = Scene::with(&[
        ("toolgate.yaml", &plain_servers(&["plain"])),
        ("other.yaml", &plain_servers(&["other"])),
    ]);
    let _running = scene.start(&["--config", "toolgate.yaml"]);
    let names = |line: &[&str]| {
        let output = scene.run(&[&["tools", "list", "--json"], line].concat()).code(0);
        let list: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
        list["tools"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(names(&[]), "plain__echo");
    assert_eq!(names(&["--config", "toolgate.yaml"]), "plain__echo");
    assert_eq!(names(&["--config", "other.yaml"]), "other__echo");
    assert_eq!(names(&["--direct"]), "plain__echo");
}

#[test]
fn a_reload_says_what_changed() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))])
        .variable("TOOLGATE_AUTO_RELOAD", "false");
    let _running = scene.start(&[]);
    scene.check(
        &["reload"],
        0,
        str![[r#"
nothing has changed

"#]],
        str![],
    );
    let more = "names: mcp\nlisten: {max_body_bytes: 1MB}\n";
    scene.write("toolgate.yaml", &(plain_servers(&["plain", "second"]) + more));
    for line in [&["reload", "--dry-run"][..], &["reload"]] {
        scene.check(
            line,
            0,
            str![[r#"
added: second
now in effect: names
in effect after a restart: listen.max_body_bytes

"#]],
            str![],
        );
    }
    scene.check(
        &["tools", "call", "mcp_second_echo", "text=new"],
        0,
        str![[r#"
new

"#]],
        str![],
    );
    scene.write("toolgate.yaml", "state_dir: state\nservers: {plain: {comand: x}}\n");
    scene.check(&["reload"], 2, str![], str![[r#"
error: the configuration is not valid, so nothing was changed: [FOLDER]/toolgate.yaml:2:11: servers.plain: neither `command` nor `url` (say what to start, or where to connect); [FOLDER]/toolgate.yaml:2:19: servers.plain.comand: unknown key `comand` (did you mean `command`?)

"#]]);
    scene.check(
        &["tools", "call", "mcp_plain_echo", "text=still"],
        0,
        str![[r#"
still

"#]],
        str![],
    );
    scene.write("toolgate.yaml", &(plain_servers(&["second"]) + "listen: {max_body_bytes: 1MB}\n"));
    scene.check(
        &["reload", "--json"],
        0,
        str![[r#"
{
  "added": [],
  "removed": [
    "plain"
  ],
  "changed": {},
  "settings": [
    "names"
  ],
  "needs_restart": [
    "listen.max_body_bytes"
  ],
  "kept": {}
}

"#]],
        str![],
    );
    let doctor = scene.run(&["doctor", "--json"]).code(0);
    let text = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    assert!(text.contains("settings that have changed since it started: listen.max_body_bytes"), "{text}");
}

#[test]
fn without_a_gateway_there_is_nothing_to_reload() {
    Scene::with_plain_server().check(
        &["reload"],
        3,
        str![],
        str![[r#"
error: no gateway is running with this configuration
help: start one with `toolgate start`; --state-dir names the folder of one that runs elsewhere

"#]],
    );
}

#[test]
fn files_and_sighup_make_it_reload() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let running = scene.start(&[]);
    scene.replace("toolgate.yaml", &plain_servers(&["plain", "second"]));
    assert!(running.line("the configuration was reloaded").contains("second"));
    scene.write("toolgate.yaml", "servers: [\n");
    assert!(running.line("nothing was changed").contains("toolgate.yaml"));
    scene.write("toolgate.yaml", &plain_servers(&["third"]));
    assert!(running.line("the configuration was reloaded").contains("third"));
    running.signal("HUP");
    running.line("nothing has changed");
}

#[test]
fn a_file_that_vanishes_for_a_moment_takes_no_server_with_it() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let running = scene.start(&[]);
    std::fs::remove_file(scene.path("toolgate.yaml")).unwrap();
    running.line("nothing was changed");
    scene.write("toolgate.yaml", &plain_servers(&["plain"]));
    running.line("nothing has changed");
    scene.run(&["tools", "call", "plain__echo", "text=still"]).code(0);
}

#[test]
fn a_folder_of_records_is_watched() {
    let record = format!(
        "server_id = \"one\"\ntransport = \"stdio\"\nallowed_tools = [\"*\"]\n[stdio]\ncommand = \"{PLAIN_SERVER}\"\n"
    );
    let scene = Scene::with(&[("servers.d/one.toml", &record)]);
    let running = scene.start(&["--config", "servers.d", "--state-dir", "state"]);
    scene.write("servers.d/two.toml", &record.replace("one", "two"));
    assert!(running.line("the configuration was reloaded").contains("two"));
}

#[test]
fn health_tells_of_a_reload_that_failed() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let running = scene.start(&[]);
    scene.write("toolgate.yaml", "state_dir: state\nnames: funny\n");
    running.line("nothing was changed");
    let output = scene.run(&["doctor", "--json", "--set", "names=plain"]).code(1);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("the last reload changed nothing"), "{text}");
}

#[test]
fn reloads_lose_no_call() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let _running = scene.start(&[]);
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            for number in 0..40 {
                let text = format!("text={number}");
                let output = scene.run(&["tools", "call", "plain__echo", &text]).code(0);
                assert_eq!(String::from_utf8_lossy(&output.get_output().stdout), format!("{number}\n"));
            }
        });
        let mut rounds = 0;
        while !calls.is_finished() {
            let servers: &[&str] = if rounds % 2 == 0 { &["plain", "second"] } else { &["plain"] };
            scene.replace("toolgate.yaml", &plain_servers(servers));
            scene.run(&["reload"]).code(0);
            rounds += 1;
        }
        assert!(rounds >= 5, "only {rounds} reloads");
    });
}

#[test]
fn calls_go_on_while_their_own_server_is_replaced() {
    let record = |round: u32| {
        format!(
            "state_dir: state\nservers:\n  plain: {{command: {PLAIN_SERVER}, args: [both, \"{round}\"]}}\n"
        )
    };
    let scene = Scene::with(&[("toolgate.yaml", &record(0))]).variable("TOOLGATE_AUTO_RELOAD", "false");
    let running = scene.start(&[]);
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            for number in 0..40 {
                let text = format!("text={number}");
                let output = scene.run(&["tools", "call", "plain__echo", &text]).code(0);
                assert_eq!(String::from_utf8_lossy(&output.get_output().stdout), format!("{number}\n"));
            }
        });
        let mut round = 0;
        while !calls.is_finished() {
            round += 1;
            scene.replace("toolgate.yaml", &record(round));
            scene.run(&["reload"]).code(0);
            running.line("\"state\":\"ready\"");
        }
        assert!(round >= 3, "only {round} reloads");
    });
}
