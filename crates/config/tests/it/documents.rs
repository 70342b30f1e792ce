//! What is generated is fresh, and what is shown as an example works.

use std::path::{Path, PathBuf};

use crate::scene::{loaded, loaded_with};
use toolgate_config::schema;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The file must hold `expected`; `UPDATE=1` writes it.
fn check_fresh(name: &str, expected: &str) {
    let path = repository().join("docs/reference").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/{name} is out of date; run the tests once with UPDATE=1");
}

#[test]
fn generated_pages_are_fresh() {
    check_fresh("config.schema.json", &schema::json_schema_text());
    check_fresh("config.md", &schema::reference_page());
    check_fresh("environment.md", &schema::environment_page());
}

#[test]
fn every_key_is_documented() {
    let schema = schema::json_schema();
    let definitions = schema["$defs"].as_object().unwrap();
    for (name, section) in definitions.iter().chain([(&"Config".to_owned(), &schema)]) {
        for (key, property) in section["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}.{key} has no description");
        }
    }
}

#[test]
fn the_reference_page_has_a_section_for_everything() {
    let page = schema::reference_page();
    for section in
        ["`listen`", "`listen.cors`", "`listen.tls`", "`servers.NAME`", "`policy.rules[]`", "`quotas[]`"]
    {
        assert!(page.contains(&format!("## {section}\n")), "{section}");
    }
    assert!(page.contains("| `port` | whole number | `8080` |"), "{page}");
    assert!(page.contains("| `call_timeout` | time | `\"5m\"` |"), "{page}");
}

#[test]
fn every_example_loads() {
    let mut count = 0;
    for entry in std::fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        count += 1;
        let loaded = loaded_with(std::slice::from_ref(&path), &[("GITHUB_TOKEN", "abc")]);
        assert_eq!(loaded.problems, [], "{}", path.display());
        assert_eq!(loaded.warnings, [], "{}", path.display());
        assert!(!loaded.config.servers.is_empty(), "{}", path.display());
    }
    assert!(count >= 3, "only {count} examples");
}

#[test]
fn the_governed_example_says_what_it_seems_to() {
    let governed = loaded(&[repository().join("examples/governed.yaml")]);
    assert!(governed.disabled.contains_key("github"), "GITHUB_TOKEN is not set");
    let config = governed.config;
    assert_eq!(config.policy.rules.len(), 4);
    assert_eq!(config.policy.approval[0].timeout.as_secs(), 600);
    assert_eq!(config.ledger.retention.size, Some(20 << 30));
    assert_eq!(config.quotas[1].concurrency, Some(4));
}
