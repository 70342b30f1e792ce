//! Help, completions, manual pages, and what is printed where.

use snapbox::str;

use crate::scene::Scene;

#[test]
fn the_version_and_the_help_are_there() {
    let scene = Scene::with(&[]);
    scene.run(&["--version"]).code(0).stdout_eq(str!["toolgate [..]\n"]).stderr_eq(str![]);
    let help = scene.run(&["help"]).code(0).stderr_eq(str![]);
    let help = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    for command in
        ["start", "config", "servers", "tools", "resources", "prompts", "import", "reload", "doctor", "init"]
    {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is missing:\n{help}");
    }
    assert!(help.contains("Exit codes:"));
}

#[test]
fn wrong_usage_is_told() {
    let scene = Scene::with(&[]);
    scene.run(&[]).code(2).stdout_eq(str![]);
    scene.check(
        &["tool", "list"],
        2,
        str![],
        str![[r#"
error: unrecognized subcommand 'tool'

  tip: a similar subcommand exists: 'tools'

Usage: toolgate [OPTIONS] <COMMAND>

For more information, try '--help'.

"#]],
    );
    scene.check(
        &["start", "--port", "80000"],
        2,
        str![],
        str![[r#"
error: invalid value '80000' for '--port <PORT>': 80000 is not in 0..=65535

For more information, try '--help'.

"#]],
    );
    scene.check(
        &["start", "--server", "time"],
        2,
        str![],
        str![[r#"
error: invalid value 'time' for '--server <NAME=URL-OR-COMMAND>': must have the form NAME=URL-OR-COMMAND

For more information, try '--help'.

"#]],
    );
}

#[test]
fn a_gateway_that_cannot_start_says_why() {
    let scene = Scene::with(&[("toolgate.yaml", "names: funny\n")]);
    let output = scene.run(&["start", "--log-format", "text"]).code(2).stdout_eq(str![]);
    let log = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(log.contains("toolgate.yaml:1:8: names"), "{log}");
}

#[test]
fn completions_know_the_commands() {
    let scene = Scene::with(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = scene.run(&["completions", shell]).code(0).stderr_eq(str![]);
        let script = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(script.contains("toolgate") && script.contains("doctor"), "{shell}");
    }
    scene.check(
        &["completions", "csh"],
        2,
        str![],
        str![[r#"
error: invalid value 'csh' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]

  tip: a similar value exists: 'zsh'

For more information, try '--help'.

"#]],
    );
    scene.check(
        &["completions"],
        2,
        str![],
        str![[r#"
error: the following required arguments were not provided:
  <SHELL>

Usage: toolgate completions <SHELL>

For more information, try '--help'.

"#]],
    );
}

#[test]
fn completions_begin_as_their_shells_want_them() {
    let scene = Scene::with(&[]);
    scene.check(
        &["completions", "bash"],
        0,
        str![[r#"
_toolgate() {
    local i cur prev opts cmd
    COMPREPLY=()
...
"#]],
        str![],
    );
    // Shells look for the first line before they read the rest.
    scene.check(
        &["completions", "zsh"],
        0,
        str![[r#"
#compdef toolgate

autoload -U is-at-least

_toolgate() {
...
"#]],
        str![],
    );
    scene.check(
        &["completions", "fish"],
        0,
        str![[r#"
# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_toolgate_global_optspecs
    string join \n json h/help V/version
end
...
"#]],
        str![],
    );
}

#[test]
fn manual_pages_are_written() {
    let scene = Scene::with(&[]);
    scene.check(
        &["man", "man1"],
        0,
        str![[r#"
written into man1

"#]],
        str![],
    );
    for page in ["toolgate.1", "toolgate-tools-call.1"] {
        assert!(scene.read(&format!("man1/{page}")).contains(".TH"), "{page}");
    }
    scene.write("taken", "");
    scene.run(&["man", "taken"]).code(1).stdout_eq(str![]);
}
