//! Broken files and what is said about them: the place, what is wrong, and what would be right.

mod files;

use crate::scene::{folder_with, loaded, loaded_text};
use files::{
    ALL, INCOMPLETE_SERVERS, SENSELESS_RULES, SEVERAL_AT_ONCE, UNKNOWN_KEYS, WRONG_KINDS, WRONG_WORDS,
};

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
    UNKNOWN_KEYS.iter().for_each(|(text, expected)| check(text, expected));
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    WRONG_KINDS.iter().for_each(|(text, expected)| check(text, expected));
}

#[test]
fn words_times_and_sizes_are_checked() {
    WRONG_WORDS.iter().for_each(|(text, expected)| check(text, expected));
}

#[test]
fn servers_must_be_complete() {
    INCOMPLETE_SERVERS.iter().for_each(|(text, expected)| check(text, expected));
}

#[test]
fn there_are_as_many_as_there_should_be() {
    let count: usize = ALL.iter().map(|files| files.len()).sum();
    assert!(count >= 30, "only {count}");
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
    SENSELESS_RULES.iter().for_each(|(text, expected)| check(text, expected));
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
    SEVERAL_AT_ONCE.iter().for_each(|(text, expected)| check(text, expected));
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
