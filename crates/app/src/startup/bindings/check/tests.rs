use std::fs;

use tempfile::TempDir;
use toolgate_config::{Overrides, Request};

use super::*;

/// What is said of a configuration in a folder with these other files, all checks made.
fn checked(folder: &TempDir, config: &str) -> Loaded {
    let path = folder.path().join("toolgate.yaml");
    fs::write(&path, config).unwrap();
    let request =
        Request { paths: vec![path], overrides: Overrides::default(), strict: false, environment: &|_| None };
    let mut loaded = toolgate_config::load(&request);
    sections(&mut loaded);
    tools(&mut loaded);
    loaded
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const SHOP: &str = r#"{"openapi": "3.1.0", "servers": [{"url": "https://shop.example"}],
    "paths": {"/orders": {"get": {"operationId": "list"}, "post": {"operationId": "create", "security": [{"key": []}]}}},
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}}"#;

#[test]
fn sections_that_cannot_work_are_refused_with_their_place() {
    let folder =
        folder(&[("shop.json", SHOP), ("old.yaml", "swagger: '2.0'\n"), ("torn.json", "{\n \"openapi\": ")]);
    let check = |config: &str, place: &str, words: &str| {
        let loaded = checked(&folder, config);
        let said: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        let is_said = |problem: &String| problem.contains(place) && problem.contains(words);
        assert!(said.len() == 1 && said.iter().any(is_said), "{config}: {said:?}");
    };
    check(
        "egress:\n  allow: [a.example, https://b.example/]\n",
        "toolgate.yaml:2:22: egress.allow[1]",
        "names no host (write HOST",
    );
    check("egress: {private: [\"host:x\"]}\n", "egress.private[0]", "names no host");
    let openapi = |record: &str| format!("bindings:\n  openapi:\n    s: {{{record}}}\n");
    check(
        &openapi("file: gone.yaml"),
        "toolgate.yaml:3:15: bindings.openapi.s.file",
        "there is no such file",
    );
    check(&openapi("file: torn.json"), "torn.json:2:", "");
    check(&openapi("file: old.yaml"), "bindings.openapi.s.file", "old.yaml: this is no OpenAPI document");
    check(&openapi("file: shop.json, tags: [\"\"]"), "bindings.openapi.s.tags[0]", "pattern is empty");
    check(&openapi("file: shop.json, headers: {\"a b\": c}"), "headers.\"a b\"", "name of a header");
    check(&openapi("file: shop.json, timeout: 1h"), "bindings.openapi.s.timeout", "up to 10m");
    check(&openapi("file: shop.json, max_tools: 0"), "bindings.openapi.s.max_tools", "leave it out");
    check(&openapi("file: shop.json, retries: 9"), "bindings.openapi.s.retries", "5");
    check(&openapi("file: shop.json, base_url: shop"), "bindings.openapi.s.base_url", "https://host/path");
    check(&openapi(""), "bindings.openapi.s", "exactly one of file and url");
    check(&openapi("url: \"https://x.example/api\""), "bindings.openapi.s.url", "egress.allow");
    let twice = "servers: {s: {url: \"https://x.example\"}}\n";
    check(&format!("{twice}{}", openapi("file: shop.json")), "bindings.openapi.s", "another name");
}

#[test]
fn documents_are_watched_and_what_is_left_out_is_said() {
    let folder = folder(&[("shop.json", SHOP)]);
    let loaded = checked(&folder, "bindings: {openapi: {s: {file: shop.json}}}\n");
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    assert!(loaded.files.files.contains(&folder.path().join("shop.json")));
    let said: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert!(
        said.len() == 1 && said[0].contains("`create` is left out") && said[0].contains("auth"),
        "{said:?}"
    );
    let loaded = checked(&folder, "bindings: {openapi: {s: {file: shop.json, tags: [none]}}}\n");
    assert!(loaded.warnings[0].to_string().contains("no operation"), "{:?}", loaded.warnings);
}

#[test]
fn a_bad_tool_of_a_skill_is_named_with_its_line() {
    let skill = "---\nname: rates\ndescription: Rates\ntools:\n  - name: good\n    description: d\n    \
                 http: {url: \"https://h.example/\"}\n  - name: bad\n    description: d\n    http: {url: \"https://h.example/{x}\"}\n---\nText\n";
    let folder = folder(&[("skills/finance/rates/SKILL.md", skill)]);
    let loaded = checked(&folder, "skills: {dir: skills}\n");
    let said: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("rates/SKILL.md:8:") && said[0].contains("tools[1]: the tool 'bad'"),
        "{said:?}"
    );
    assert!(said[0].contains("argument 'x'"), "{said:?}");
}
