//! Broken files and what is said about them: the place, what is wrong, and what would be right.

use crate::scene::{folder_with, loaded, loaded_text};

/// All problems of a file, one a line: line, column, path, what, help.
fn said(name: &str, text: &str) -> String {
    let loaded = loaded_text(name, text);
    let line = |problem: &toolgate_config::Problem| {
        let help = if problem.help.is_empty() { String::new() } else { format!(" ({})", problem.help) };
        format!("{}:{} {}: {}{help}", problem.line, problem.column, problem.path, problem.what)
    };
    loaded.problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn check(text: &str, expected: &str) {
    assert_eq!(said("toolgate.yaml", text), expected, "for:\n{text}");
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_right_one() {
    check("lisen:\n  port: 1\n", "1:1 lisen: unknown key `lisen` (did you mean `listen`?)");
    check("listen:\n  prot: 80\n", "2:3 listen.prot: unknown key `prot` (did you mean `port`?)");
    check(
        "servers:\n  a:\n    comand: x\n    url: http://a/\n",
        "3:5 servers.a.comand: unknown key `comand` (did you mean `command`?)",
    );
    check(
        "servers:\n  a: {command: x, callTimeout: 5s}\n",
        "2:19 servers.a.callTimeout: unknown key `callTimeout` (did you mean `call_timeout`?)",
    );
    check("log: {colour: red}\n", "1:7 log.colour: unknown key `colour` (known here: level, format)");
    check(
        "policy:\n  rules:\n    - effect: allow\n      tool: [x]\n",
        "4:7 policy.rules[0].tool: unknown key `tool` (did you mean `tools`?)",
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    check("listen: 8080\n", "1:9 listen: expected a mapping, found a number");
    check("listen:\n  port: many\n", "2:9 listen.port: expected a whole number, found `many`");
    check("listen:\n  port: 70000\n", "2:9 listen.port: 70000 is out of range (it must be from 0 to 65535)");
    check("listen:\n  port: 80.5\n", "2:9 listen.port: expected a whole number, found a number");
    check(
        "runtime: {auto_reload: maybe}\n",
        "1:24 runtime.auto_reload: expected true or false, found `maybe`",
    );
    check(
        "servers:\n  a:\n    command: x\n    args: -y\n",
        "4:11 servers.a.args: expected a list, found `-y` (write `[…]`, or one line with `- ` for each)",
    );
    check("servers:\n  a:\n    command: [x, y]\n", "3:14 servers.a.command: expected text, found a list");
    check("servers: [a, b]\n", "1:10 servers: expected a mapping of names to servers, found a list");
    check("- a\n- b\n", "1:1 : the file must hold a mapping, not a list");
    check(
        "prices:\n  tools:\n    - price: -1\n",
        "3:14 prices.tools[0].price: -1 is out of range (it must be at least 0)",
    );
}

#[test]
fn words_times_and_sizes_are_checked() {
    check(
        "listen: {transport: htp}\n",
        "1:21 listen.transport: `htp` is not known here (did you mean `http`? one of stdio, http)",
    );
    check("names: camel\n", "1:8 names: `camel` is not known here (one of prefixed, plain, mcp)");
    check(
        "servers:\n  a:\n    command: x\n    call_timeout: soon\n",
        "4:19 servers.a.call_timeout: `soon` is not a length of time; write for example 30s, 500ms, 5m, 2h or 7d",
    );
    check(
        "runtime:\n  call_timeout: -5\n",
        "2:17 runtime.call_timeout: `-5` is not a length of time; write for example 30s, 500ms, 5m, 2h or 7d",
    );
    check(
        "listen:\n  max_body_bytes: 10 elephants\n",
        "2:19 listen.max_body_bytes: `10 elephants` is not an amount of bytes; \
         write for example 65536, 64KB, 10MB or 1GB",
    );
}

#[test]
fn servers_must_be_complete() {
    check(
        "servers:\n  a:\n    enabled: true\n",
        "2:3 servers.a: neither `command` nor `url` (say what to start, or where to connect)",
    );
    check("servers:\n  a:\n", "2:3 servers.a: this server has no record (give a command or a url)");
    check(
        "servers:\n  a:\n    transport: stdio\n    url: http://x/\n",
        "2:3 servers.a: a stdio server needs a `command` (the program that starts it)",
    );
    check(
        "servers:\n  a:\n    transport: sse\n",
        "2:3 servers.a: a server with `transport: sse` needs a `url`",
    );
    check(
        "servers:\n  a:\n    command: x\n    url: http://x/\n",
        "4:10 servers.a.url: a server has a `command` or a `url`, not both \
         (remove one, or split it in two servers)",
    );
    check(
        "servers:\n  a:\n    url: ws://x/\n",
        "3:10 servers.a.url: only http:// and https:// are spoken (write it like https://host/mcp)",
    );
    check(
        "servers:\n  a:\n    url: example.com\n",
        "3:10 servers.a.url: this is no address (write it like https://host/mcp)",
    );
    check(
        "servers:\n  \"a b\":\n    command: x\n",
        "2:3 servers.\"a b\": `a b` cannot be the name of a server \
         (use letters, digits, `-`, `_` and `.`, at most 64)",
    );
    check(
        "servers:\n  a:\n    command: x\n    max_concurrency: 0\n",
        "4:22 servers.a.max_concurrency: 0 would stop every call (leave it out for the default)",
    );
    check(
        "servers:\n  a:\n    command: x\n    allowed_tools: [\"\"]\n",
        "4:20 servers.a.allowed_tools: an empty pattern matches nothing (use `*` for all tools)",
    );
}

#[test]
fn skills_have_a_name_of_their_own() {
    check(
        "servers:\n  docs: {command: x}\nskills: {dir: shelf, name: docs}\n",
        "3:28 skills.name: `docs` is the name of a server already (give the skills another name)",
    );
    check("servers:\n  docs: {command: x}\nskills: {name: docs}\n", "");
    check("servers:\n  docs: {command: x}\nskills: {dir: shelf}\n", "");
}

#[test]
fn governance_must_make_sense() {
    check(
        "policy:\n  rules:\n    - tools: [x]\n",
        "3:7 policy.rules[0]: `effect` is missing (it is required)",
    );
    check(
        "policy:\n  rules:\n    - {id: a, effect: allow}\n    - {id: a, effect: deny}\n",
        "4:12 policy.rules[1].id: `a` is used twice \
         (refusals name the rule by its id, so it must be one rule's alone)",
    );
    check(
        "quotas:\n  - per: caller\n",
        "2:5 quotas[0]: this quota limits nothing (give one of budget_per_month, max_per_call, calls_per_minute, \
         calls_per_day, reads_per_minute, concurrency)",
    );
    check(
        "callers:\n  jwt:\n    - {issuer: i, audience: a}\n",
        "3:7 callers.jwt[0]: the issuer's keys are not clear (give exactly one of jwks_file and jwks_url)",
    );
    check(
        "listen:\n  tls: {cert_file: c, key_file: k, verify_client: true}\n",
        "2:8 listen.tls: clients cannot be verified without an authority (give client_ca_file)",
    );
    check(
        "admin: {listen: nowhere}\n",
        "1:17 admin.listen: `nowhere` is neither HOST:PORT nor a path (write 127.0.0.1:9090 or /admin)",
    );
    check(
        "ledger: {alert_webhook: mailto:me}\n",
        "1:25 ledger.alert_webhook: this is no http address (write it like https://host/path)",
    );
}

#[test]
fn syntax_errors_have_their_place_in_every_format() {
    check("listen:\n  port: 1\n  port: 2\n", "3:3 : the key `port` is here a second time");
    check("a: 1\n---\nb: 2\n", "2:1 : a second document begins here; only one is allowed");
    assert!(said("toolgate.yaml", "listen: {port: 1\nlog: x\n").starts_with("2:"), "an open brace");
    assert_eq!(
        said("mcp.json", "{\n  \"mcpServers\": {\n    oops\n"),
        "3:5 : expected a key in double quotes or `}`"
    );
    assert_eq!(said("mcp.json", "{\"a\": nope}"), "1:7 : `nope` is not a value; text needs quotes");
    assert_eq!(said("mcp.json", "{\"mcpServers\": {}"), "1:18 : the file ends before the closing `}`");
    assert_eq!(said("mcp.json", "{} {}"), "1:4 : `{` after the end of the document");
    assert!(said("otter.toml", "[mcp]\nenabled = \n").starts_with("2:"), "a value is missing");
    assert_eq!(
        said("toolgate.toml", "[listen]\nprot = 1\n"),
        "2:1 listen.prot: unknown key `prot` (did you mean `port`?)"
    );
}

#[test]
fn all_problems_are_said_at_once() {
    check(
        "lisen: 1\nlog:\n  level: loud\nservers:\n  a: {}\n  b: {url: x}\nquotas:\n  - {}\n",
        "1:1 lisen: unknown key `lisen` (did you mean `listen`?)\n\
         3:10 log.level: `loud` is not known here (one of error, warn, info, debug, trace)\n\
         5:3 servers.a: neither `command` nor `url` (say what to start, or where to connect)\n\
         6:12 servers.b.url: this is no address (write it like https://host/mcp)\n\
         8:5 quotas[0]: this quota limits nothing (give one of budget_per_month, max_per_call, calls_per_minute, \
         calls_per_day, reads_per_minute, concurrency)",
    );
}

#[test]
fn what_is_sound_in_a_broken_file_is_still_read() {
    let loaded =
        loaded_text("toolgate.yaml", "listen: {port: 1234}\nnames: x\nservers:\n  a: {command: x}\n  b: 1\n");
    assert_eq!(loaded.problems.len(), 2);
    assert_eq!(loaded.config.listen.port, 1234);
    assert_eq!(loaded.config.servers.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn files_are_bounded() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    check(&deep, "1:65 : nested deeper than 64 levels");
    let bomb: String = (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{inner}]\n")
    });
    assert!(said("toolgate.yaml", &bomb).contains("values, aliases expanded"));
    let large = format!("# {}\n", "x".repeat(5 << 20));
    assert!(said("toolgate.yaml", &large).contains("larger than 4194304 bytes"));
    assert!(said("mcp.json", &"[".repeat(1 << 20)).contains("nested deeper than 64 levels"));
}

#[test]
fn a_file_that_is_not_there_is_a_problem() {
    let folder = folder_with(&[]);
    let loaded = loaded(&[folder.path().join("toolgate.yaml")]);
    assert_eq!(loaded.problems[0].what, "cannot be read");
    assert_eq!(loaded.problems[0].help, "there is no such file");
}
