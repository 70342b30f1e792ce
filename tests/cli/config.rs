//! `toolgate config …`

use snapbox::str;

use crate::broken_files;
use crate::scene::Scene;

const GOOD: &str =
    "listen:\n  port: 9000\nservers:\n  time:\n    command: uvx\n    args: [mcp-server-time]\n";

#[test]
fn a_good_file_is_valid() {
    let scene = Scene::with(&[("toolgate.yaml", GOOD)]);
    scene.check(
        &["config", "validate"],
        0,
        str![[r#"
valid: 1 server

"#]],
        str![],
    );
    scene.check(
        &["config", "validate", "--json"],
        0,
        str![[r#"
{
  "valid": true,
  "files": [
    "[FOLDER]/toolgate.yaml"
  ],
  "servers": [
    "time"
  ],
  "disabled": {},
  "problems": [],
  "warnings": []
}

"#]],
        str![],
    );
}

#[test]
fn all_problems_are_told_with_their_places() {
    let scene = Scene::with(&[
        ("a.yaml", "listen:\n  prot: 80\n  port: many\nservers:\n  a: {comand: x, url: http://a/}\n"),
        ("b.yaml", "servers:\n  - a\n"),
        ("c.yaml", "servers: {a: [}\n"),
    ]);
    scene.check(
        &["config", "validate", "--config", "a.yaml"],
        2,
        str![[r#"
error: a.yaml:2:3: listen.prot: unknown key `prot` (did you mean `port`?)
error: a.yaml:3:9: listen.port: expected a whole number, found `many`
error: a.yaml:5:7: servers.a.comand: unknown key `comand` (did you mean `command`?)
not valid: 3 problems

"#]],
        str![],
    );
    scene.check(
        &["config", "validate", "--config", "b.yaml"],
        2,
        str![[r#"
error: b.yaml:2:3: servers: expected a mapping of names to servers, found a list
not valid: 1 problem

"#]],
        str![],
    );
    scene.check(
        &["config", "validate", "--config", "c.yaml", "--json"],
        2,
        str![[r#"
{
  "valid": false,
  "files": [
    "c.yaml"
  ],
  "servers": [],
  "disabled": {},
  "problems": [
    {
      "file": "c.yaml",
      "line": 1,
      "column": 15,
      "path": "",
      "what": "while parsing a node, did not find expected node content",
      "help": "",
      "source": null
    }
  ],
  "warnings": []
}

"#]],
        str![],
    );
}

#[test]
fn what_is_missing_is_a_warning_and_strictly_a_problem() {
    let file = "servers:\n  hub: {url: \"https://example.com/mcp\", headers: {Authorization: \"Bearer ${HUB_TOKEN}\"}}\n";
    let scene = Scene::with(&[("toolgate.yaml", file)]);
    scene.check(&["config", "validate"], 0, str![[r#"
warning: [FOLDER]/toolgate.yaml:2:3: servers.hub: disabled: the variable HUB_TOKEN is not set; set it, or give a default with ${HUB_TOKEN:-…}
valid: 0 servers

"#]], str![]);
    scene.check(&["config", "validate", "--strict"], 2, str![[r#"
error: [FOLDER]/toolgate.yaml:2:3: servers.hub: disabled: the variable HUB_TOKEN is not set; set it, or give a default with ${HUB_TOKEN:-…}
not valid: 1 problem

"#]], str![]);
}

#[test]
fn a_file_that_is_named_must_exist_and_one_that_is_looked_for_need_not() {
    let scene = Scene::with(&[]);
    scene.check(
        &["config", "validate", "--config", "none.yaml"],
        2,
        str![[r#"
error: none.yaml: cannot be read (there is no such file)
not valid: 1 problem

"#]],
        str![],
    );
    scene.check(
        &["config", "validate"],
        0,
        str![[r#"
no configuration was found; `toolgate init` writes one

"#]],
        str![],
    );
}

#[test]
fn the_values_in_effect_are_shown_with_their_origins_and_without_secrets() {
    let scene = Scene::with(&[
        ("toolgate.yaml", GOOD),
        ("secret.yaml", "servers: {a: {command: x, env: {KEY: hidden}}}\n"),
    ])
    .variable("TOOLGATE_LOG_LEVEL", "debug");
    let line = [
        "config",
        "show",
        "--config",
        "toolgate.yaml",
        "--config",
        "secret.yaml",
        "--set",
        "listen.host=::1",
    ];
    scene.check(
        &line,
        0,
        str![[r#"
listen.host	::1	flag --set
listen.port	9000	toolgate.yaml:2
servers.a.transport	stdio	secret.yaml:1
servers.a.command	x	secret.yaml:1
servers.a.env.KEY	***	secret.yaml:1
servers.time.transport	stdio	toolgate.yaml:5
servers.time.command	uvx	toolgate.yaml:5
servers.time.args	["mcp-server-time"]	toolgate.yaml:6
log.level	debug	environment TOOLGATE_LOG_LEVEL

"#]],
        str![],
    );
    scene.check(
        &["config", "show", "listen.port", "--json"],
        0,
        str![[r#"
{
  "settings": [
    {
      "path": "listen.port",
      "value": 9000,
      "origin": "[FOLDER]/toolgate.yaml:2"
    }
  ],
  "disabled": {}
}

"#]],
        str![],
    );
    scene.check(
        &["config", "show", "listen.prot"],
        3,
        str![],
        str![[r#"
error: there is no value listen.prot
help: `toolgate config show --all` lists the values there are

"#]],
    );
}

#[test]
fn the_schema_is_the_one_of_the_documentation() {
    let schema = include_str!("../../docs/reference/config.schema.json");
    let output = Scene::with(&[]).run(&["config", "schema"]).code(0);
    assert_eq!(String::from_utf8_lossy(&output.get_output().stdout), schema);
}

#[test]
fn the_seeds_spelling_works() {
    let seed = "mcp_server:\n  transport: http\n  http:\n    port: 8080\n";
    let scene = Scene::with(&[("mcp-server.yaml", seed)]);
    scene.run(&["mcp-server", "config", "validate", "--config", "mcp-server.yaml"]).code(0).stderr_eq(str![]);
}

#[test]
fn tools_without_code_are_checked_with_their_documents() {
    let skill = "---\nname: rates\ndescription: Rates\ntools:\n  - name: rate\n    description: Tell a rate\n    \
                 http: {url: \"https://rates.example/{day}\"}\n---\n";
    let config = "skills: {dir: skills}\negress:\n  allow: [rates.example, https://b.example/]\n\
                  bindings:\n  openapi:\n    shop: {file: shop.yaml}\n";
    let scene = Scene::with(&[
        ("toolgate.yaml", config),
        ("shop.yaml", "swagger: '2.0'\n"),
        ("skills/finance/rates/SKILL.md", skill),
    ]);
    scene.check(
        &["config", "validate"],
        2,
        str![[r#"
error: [FOLDER]/toolgate.yaml:3:26: egress.allow[1]: `https://b.example/` names no host (write HOST, *.DOMAIN or HOST:PORT, where PORT may be *)
error: [FOLDER]/toolgate.yaml:6:18: bindings.openapi.shop.file: [FOLDER]/shop.yaml: this is no OpenAPI document: 'openapi' must begin with 3.0 or 3.1
error: [FOLDER]/skills/finance/rates/SKILL.md:5:5: tools[0]: the tool 'rate' is not offered: it uses the argument 'day', which 'input' does not describe under properties
not valid: 3 problems

"#]],
        str![],
    );
}

#[test]
fn whatever_is_broken_is_told_with_its_place() {
    let scene = Scene::with(&[]);
    for (text, expected) in broken_files::ALL.into_iter().flatten() {
        scene.write("toolgate.yaml", text);
        let output = scene.run(&["config", "validate", "--config", "toolgate.yaml"]).code(2);
        let said = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        let expected: Vec<String> = expected
            .lines()
            // The place and the path are told apart by a blank in the table, and by a colon here.
            .map(|line| {
                let (place, problem) = line.split_once(' ').unwrap();
                let problem = problem.strip_prefix(": ").unwrap_or(problem);
                format!("error: toolgate.yaml:{place}: {problem}")
            })
            .collect();
        let found: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(found, expected, "for:\n{text}");
    }
}
