//! Every key that can be written is read by something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toolgate_config::schema;

use crate::scene::{folder_with, loaded};

/// Keys that nothing outside this crate reads, and why that is right.
const EXCEPTIONS: [(&str, &str); 16] = [
    ("Config.handlers", TURNED),
    ("HandlersConfig.dev", TURNED),
    ("HandlersConfig.env_file", TURNED),
    ("HandlersConfig.modules", TURNED),
    ("HandlersConfig.uv", TURNED),
    ("ServerConfig.env_file", "what it holds is put into `env`"),
    ("SkillsConfig.dirs", "read with `dir` through `SkillsConfig::folders`"),
    ("CorsConfig.allowed_headers", WARNED),
    ("CorsConfig.allowed_methods", WARNED),
    ("CorsConfig.max_age", WARNED),
    ("ListenConfig.tls", WARNED),
    ("PricesConfig.unit", "a name for those who read the file"),
    ("TlsConfig.cert_file", WARNED),
    ("TlsConfig.client_ca_file", WARNED),
    ("TlsConfig.key_file", WARNED),
    ("TlsConfig.verify_client", WARNED),
];
const TURNED: &str = "handlers are turned into servers here";
const WARNED: &str = "it does nothing yet, and whoever writes it is told";

/// The names of all keys that hold a value rather than further keys of their own.
fn leaves() -> BTreeSet<(String, String)> {
    let schema = schema::json_schema();
    let definitions = schema["$defs"].as_object().unwrap();
    let is_section = |property: &Value| {
        let name = property["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.is_some_and(|name| definitions[name].get("properties").is_some())
    };
    let root = "Config".to_owned();
    let sections = definitions.iter().chain([(&root, &schema)]);
    let mut leaves = BTreeSet::new();
    for (section, definition) in sections {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            if !is_section(property) {
                leaves.insert((section.clone(), key.clone()));
            }
        }
    }
    leaves
}

/// The text of all sources that know the configuration, but its own and tests.
fn readers(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                readers(&path, text);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let source = fs::read_to_string(&path).unwrap();
            if source.contains("toolgate_config") {
                text.push_str(&source);
            }
        }
    }
}

/// Whether a field of this name is read: `.key` and then no letter.
fn is_read(text: &str, key: &str) -> bool {
    let access = format!(".{key}");
    let mut uses = text.match_indices(&access);
    uses.any(|(at, _)| {
        let next = text[at + access.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '(')
    })
}

#[test]
fn every_key_is_read_outside_this_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for name in
        ["admin", "app", "bindings", "client", "gateway", "governance", "identity", "ledger", "skills"]
    {
        readers(&crates.join(name).join("src"), &mut text);
    }
    let leaves = leaves();
    assert!(leaves.len() > 80, "only {} keys were found", leaves.len());
    let unread: Vec<String> = leaves
        .iter()
        .filter(|(_, key)| !is_read(&text, key))
        .map(|(section, key)| format!("{section}.{key}"))
        .filter(|path| !EXCEPTIONS.iter().any(|(exception, _)| exception == path))
        .collect();
    assert_eq!(unread, [""; 0], "written and never read");
}

#[test]
fn whoever_writes_a_key_without_effect_is_told() {
    for (text, path) in [
        ("listen: {tls: {cert_file: c, key_file: k}}\n", "listen.tls"),
        ("listen: {cors: {allowed_methods: [GET]}}\n", "listen.cors.allowed_methods"),
        ("listen: {cors: {allowed_headers: [a]}}\n", "listen.cors.allowed_headers"),
        ("listen: {cors: {max_age: 1m}}\n", "listen.cors.max_age"),
    ] {
        let folder = folder_with(&[("toolgate.yaml", text)]);
        let loaded = loaded(&[folder.path().join("toolgate.yaml")]);
        let warned: Vec<&str> = loaded.warnings.iter().map(|warning| &*warning.path).collect();
        assert_eq!(warned, [path], "{text}");
    }
}
