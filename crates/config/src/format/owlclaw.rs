//! OwlClaw: `mcp_server:` in `mcp-server.yaml`. It configures the gateway and its governance, not servers.

use super::{Converted, Format};
use crate::node::{Entry, Node, Origin, Value};
use crate::problem::{Problem, join};

/// Values that only have another name: theirs under `mcp_server`, ours.
const MOVED: [(&str, &str); 14] = [
    ("transport", "listen.transport"),
    ("http.host", "listen.host"),
    ("http.port", "listen.port"),
    ("http.cors.enabled", "listen.cors.enabled"),
    ("http.cors.allowed_methods", "listen.cors.allowed_methods"),
    ("http.cors.allowed_headers", "listen.cors.allowed_headers"),
    ("http.cors.max_age", "listen.cors.max_age"),
    ("tools.default_timeout_seconds", "runtime.call_timeout"),
    ("tools.async_threshold_seconds", "runtime.progress_after"),
    ("tools.cache_ttl_seconds", "runtime.tools_cache_ttl"),
    ("resources.skills_dir", "skills.dir"),
    ("resources.cache_ttl_seconds", "skills.cache_ttl"),
    ("governance.enabled", "policy.enabled"),
    ("logging.format", "log.format"),
];
/// Values that need more than another name.
const SPECIAL: [&str; 5] =
    ["http.cors.allowed_origins", "http.tls", "governance.default_quota", "logging.level", "logging.output"];
/// The names of a quota: theirs, ours.
const QUOTA: [(&str, &str); 4] = [
    ("monthly_budget", "budget_per_month"),
    ("max_calls_per_minute", "calls_per_minute"),
    ("max_calls_per_day", "calls_per_day"),
    ("max_cost_per_call", "max_per_call"),
];

/// Turns the file into the native form.
pub(super) fn convert(document: &Node) -> Converted {
    let mut converted = Converted::new(document, Format::OwlClaw);
    if let Some(section) = document.get("mcp_server") {
        for entry in section.entries() {
            walk(entry, "", &mut converted);
        }
    }
    for entry in document.entries().iter().filter(|entry| entry.key != "mcp_server") {
        converted.warn(crate::check::unknown_key(&entry.origin, "", &entry.key, ["mcp_server"].into_iter()));
    }
    converted
}

fn walk(entry: &Entry, above: &str, converted: &mut Converted) {
    let path = join(above, &entry.key);
    if let Some((_, ours)) = MOVED.iter().find(|(theirs, _)| *theirs == path) {
        converted.tree.set_path(ours, entry.node.clone());
    } else if SPECIAL.contains(&path.as_str()) {
        special(&path, &entry.node, converted);
    } else if let Value::Mapping(below) = &entry.node.value {
        below.iter().for_each(|entry| walk(entry, &path, converted));
    } else {
        let known = MOVED.iter().map(|(theirs, _)| *theirs).chain(SPECIAL);
        let at = join("mcp_server", above);
        converted.warn(crate::check::unknown_key(&entry.origin, &at, &entry.key, known));
    }
}

fn special(path: &str, node: &Node, converted: &mut Converted) {
    match path {
        "http.cors.allowed_origins" => {
            // In the seed one list says both who may connect and who may read the answers.
            converted.tree.set_path("listen.cors.allowed_origins", node.clone());
            converted.tree.set_path("listen.allowed_origins", node.clone());
        }
        "http.tls" => {
            if node.get("enabled").and_then(Node::as_text) == Some("true") {
                let mut tls = node.clone();
                tls.remove("enabled");
                converted.tree.set_path("listen.tls", tls);
            }
        }
        "governance.default_quota" => {
            let quota = quota(node, &mut converted.warnings);
            converted.tree.set("quotas", Node::new(node.origin.clone(), Value::Sequence(vec![quota])));
        }
        "logging.level" => {
            let level = match node.as_text().unwrap_or_default().to_ascii_lowercase().as_str() {
                "warning" => "warn".to_owned(),
                "critical" => "error".to_owned(),
                other => other.to_owned(),
            };
            converted.tree.set_path("log.level", Node::text(&node.origin, level));
        }
        _ => {
            if node.as_text() != Some("stderr") {
                converted.warn(
                    Problem::at(&node.origin, "mcp_server.logging.output", "logs go to standard error here")
                        .help("redirect it where you want them"),
                );
            }
        }
    }
}

fn quota(node: &Node, warnings: &mut Vec<Problem>) -> Node {
    let origin: &Origin = &node.origin;
    let mut quota = Node::empty_mapping(origin);
    quota.set("id", Node::text(origin, "default"));
    quota.set("per", Node::text(origin, "caller"));
    for entry in node.entries() {
        match QUOTA.iter().find(|(theirs, _)| *theirs == entry.key) {
            Some((_, ours)) => quota.set(ours, entry.node.clone()),
            None => {
                let known = QUOTA.iter().map(|(theirs, _)| *theirs);
                let at = "mcp_server.governance.default_quota";
                warnings.push(crate::check::unknown_key(&entry.origin, at, &entry.key, known));
            }
        }
    }
    quota
}
