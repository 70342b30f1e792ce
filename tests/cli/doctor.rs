//! `toolgate doctor`

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene};

#[test]
fn a_healthy_machine_is_well() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["doctor"],
        0,
        str![[r#"
ok configuration: [FOLDER]/toolgate.yaml is valid
ok program [SERVER]: [SERVER]
ok state folder: [FOLDER]/home/.local/state/toolgate will be made at the first start
ok server plain: answers, 2 tools

"#]],
        str![],
    );
}

#[test]
fn every_problem_comes_with_what_to_do() {
    let file = format!(
        "state_dir: state\nservers:\n  bad: {{command: {PLAIN_SERVER}, args: [dies]}}\n  gone: {{command: npx-that-is-not-there}}\n  poor: {{command: y, env_from: [NOT_SET]}}\n"
    );
    let scene = Scene::with(&[("toolgate.yaml", &file), ("state/session.key", "x")]);
    std::fs::set_permissions(scene.path("state"), std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.check(
        &["doctor", "--offline"],
        1,
        str![[r#"
problem server poor: disabled: the variable NOT_SET is not set (named in env_from)
   set what is missing in the environment of the gateway, or set enabled: false
ok program [SERVER]: [SERVER]
problem program npx-that-is-not-there: not found; needed by gone
   install it, or write its whole path in the configuration; the gateway searches the PATH it was started with
problem state folder: [FOLDER]/state is open to other users
   chmod 700 [FOLDER]/state
problem file [FOLDER]/state/session.key: other users can read it
   chmod 600 [FOLDER]/state/session.key

"#]],
        str![],
    );
    let output = scene.run(&["doctor"]).code(1);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("problem server bad: down"), "{text}");
    assert!(text.contains("the licence has run out"), "{text}");
}

#[test]
fn the_python_of_handlers_is_looked_at() {
    let without = "#!/bin/sh\necho Traceback >&2\necho \"ModuleNotFoundError: No module named 'toolgate'\" >&2\nexit 1\n";
    // It has the package where that is asked for as the worker would be started.
    let with = "#!/bin/sh\n[ \"$*\" = '-c import toolgate.worker' ]\n";
    let file = "handlers:\n  bare: {modules: [orders.py], python: ./bare}\n  \
                gone: {modules: [orders.py], python: ./gone/python3}\n  \
                good: {modules: [orders.py], python: ./good}\n  \
                project: {modules: [orders.py], uv: shop}\n";
    let scene = Scene::with(&[
        ("toolgate.yaml", file),
        ("orders.py", ""),
        ("shop/pyproject.toml", ""),
        ("bare", without),
        ("good", with),
        ("bin/uv", without),
    ]);
    for program in ["bare", "good", "bin/uv"] {
        std::fs::set_permissions(scene.path(program), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    scene.variable("PATH", &path).check(
        &["doctor", "--offline"],
        1,
        str![[r#"
ok configuration: [FOLDER]/toolgate.yaml is valid
ok program [FOLDER]/bare: [FOLDER]/bare
problem program [FOLDER]/gone/python3: not found; needed by gone
   install Python 3: https://www.python.org/downloads/
ok program [FOLDER]/good: [FOLDER]/good
ok program uv: [FOLDER]/bin/uv
problem handlers bare: [FOLDER]/bare cannot import toolgate: ModuleNotFoundError: No module named 'toolgate'
   in a checkout of Toolgate: [FOLDER]/bare -m pip install ./python; or name another Python
ok handlers good: [FOLDER]/good has the package toolgate
problem handlers project: uv cannot import toolgate: ModuleNotFoundError: No module named 'toolgate'
   in a checkout of Toolgate: uv add --project [FOLDER]/shop ./python
ok state folder: [FOLDER]/home/.local/state/toolgate will be made at the first start

"#]],
        str![],
    );
}

#[test]
fn a_port_that_is_taken_is_found() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let scene = Scene::with(&[("toolgate.yaml", &format!("listen: {{transport: http, port: {port}}}\n"))]);
    let output = scene.run(&["doctor", "--offline", "--json"]).code(1);
    let report: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["severity"] == "problem").unwrap();
    assert_eq!(finding["what"], "used by another program");
}

#[test]
fn without_a_configuration_it_says_how_to_get_one() {
    Scene::with(&[]).check(
        &["doctor"],
        1,
        str![[r#"
problem configuration: none was found
   write one with `toolgate init` or `toolgate import`, or name one with --config
ok state folder: [FOLDER]/home/.local/state/toolgate will be made at the first start

"#]],
        str![],
    );
    let broken = Scene::with(&[("toolgate.yaml", "names: funny\n")]);
    broken.check(&["doctor"], 1, str![[r#"
problem configuration: [FOLDER]/toolgate.yaml:1:8: names: `funny` is not known here (one of prefixed, plain, mcp)
   put the file right
ok state folder: [FOLDER]/home/.local/state/toolgate will be made at the first start

"#]], str![]);
}
