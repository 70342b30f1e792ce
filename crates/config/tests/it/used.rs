//! Every key that can be written is read by something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toolgate_config::schema;

/// Keys that nothing outside this crate reads, and why that is right.
const EXCEPTIONS: [(&str, &str); 8] = [
    ("Config.handlers", TURNED),
    ("HandlersConfig.dev", TURNED),
    ("HandlersConfig.env_file", TURNED),
    ("HandlersConfig.modules", TURNED),
    ("HandlersConfig.uv", TURNED),
    ("ServerConfig.env_file", "what it holds is put into `env`"),
    ("SkillsConfig.dirs", "read with `dir` through `SkillsConfig::folders`"),
    ("PricesConfig.unit", "a name for those who read the file"),
];
const TURNED: &str = "handlers are turned into servers here";

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
