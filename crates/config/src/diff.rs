//! What is different between two configurations, so that a reload touches only that.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value as Json;

use crate::model::{Config, ServerConfig};
use crate::problem::join;

/// Settings that a running gateway puts into effect, with all below them. Every other one is read at start only.
const APPLIED_AT_ONCE: [&str; 12] = [
    "names",
    "log.level",
    "runtime.call_timeout",
    "runtime.health_check_interval",
    "callers",
    "policy",
    "prices",
    "quotas",
    "bindings",
    "egress",
    "admin.token_file",
    "admin.token_env",
];

/// The difference between two configurations. It holds names only, no values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Servers only the new one has.
    pub added: BTreeSet<String>,
    /// Servers only the old one has.
    pub removed: BTreeSet<String>,
    /// Servers whose record changed, and which of its keys.
    pub changed: BTreeMap<String, Vec<String>>,
    /// Other settings that changed and apply at once.
    pub settings: Vec<String>,
    /// Other settings that changed and apply at the next start.
    pub needs_restart: Vec<String>,
    /// Servers that stay as they were because what is written of them now cannot be read, and why.
    pub kept: BTreeMap<String, String>,
}

impl Difference {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two configurations by value.
pub fn difference(old: &Config, new: &Config) -> Difference {
    let mut difference = Difference::default();
    for (name, record) in &old.servers {
        match new.servers.get(name) {
            None => {
                difference.removed.insert(name.clone());
            }
            Some(other) if other != record => {
                difference.changed.insert(name.clone(), changed_keys(record, other));
            }
            Some(_) => {}
        }
    }
    let added = new.servers.keys().filter(|name| !old.servers.contains_key(*name));
    difference.added.extend(added.cloned());
    let mut paths = Vec::new();
    compare(&without_servers(old), &without_servers(new), "", &mut paths);
    // Two keys are masked alike.
    let key = "listen.session_key".to_owned();
    if old.listen.session_key != new.listen.session_key && !paths.contains(&key) {
        paths.push(key);
    }
    (difference.settings, difference.needs_restart) =
        paths.into_iter().partition(|path| is_applied_at_once(path));
    difference
}

fn is_applied_at_once(path: &str) -> bool {
    APPLIED_AT_ONCE.iter().any(|setting| {
        path.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

fn changed_keys(old: &ServerConfig, new: &ServerConfig) -> Vec<String> {
    let mut keys = Vec::new();
    // What may be secret is masked when serialised, so these are compared as they are.
    for (key, same) in [
        ("args", old.args == new.args),
        ("url", old.url == new.url),
        ("env", old.env == new.env),
        ("headers", old.headers == new.headers),
        ("auth_ref", old.credential == new.credential),
    ] {
        if !same {
            keys.push(key.to_owned());
        }
    }
    let (old, new) = (as_object(old), as_object(new));
    for (key, value) in &old {
        if new.get(key) != Some(value) && !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

fn as_object(value: &impl Serialize) -> serde_json::Map<String, Json> {
    match serde_json::to_value(value) {
        Ok(Json::Object(members)) => members,
        _ => serde_json::Map::new(),
    }
}

fn without_servers(config: &Config) -> Json {
    let mut members = as_object(config);
    // Handlers are among the servers.
    members.remove("servers");
    members.remove("handlers");
    Json::Object(members)
}

fn compare(old: &Json, new: &Json, path: &str, paths: &mut Vec<String>) {
    match (old, new) {
        (Json::Object(before), Json::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let null = Json::Null;
                let (before, after) = (before.get(key).unwrap_or(&null), after.get(key).unwrap_or(&null));
                compare(before, after, &join(path, key), paths);
            }
        }
        _ if old != new => paths.push(path.to_owned()),
        _ => {}
    }
}
