//! One server record as the programs of the field write it.
//!
//! They agree on `command`, `args`, `env` and `url` and differ in everything else, mostly in the names of the same
//! things. One table holds all names; the formats only differ in where the records are and in a few extras.

use std::path::Path;

use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, join};
use crate::{reference, validate};

/// A bare number below this is seconds, from it on milliseconds. Programs differ; a time too long does less harm than
/// one too short, and nobody waits three hours for a tool.
const MILLISECONDS_FROM: f64 = 10_000.0;

/// Names for the same thing: theirs, ours.
const RENAMED: [(&str, &str); 30] = [
    ("command", "command"),
    ("args", "args"),
    ("env", "env"),
    ("env_from", "env_from"),
    ("env_vars", "env_from"),
    ("env_file", "env_file"),
    ("envFile", "env_file"),
    ("cwd", "cwd"),
    ("workingDirectory", "cwd"),
    ("working_dir", "cwd"),
    ("url", "url"),
    ("serverUrl", "url"),
    ("httpUrl", "url"),
    ("headers", "headers"),
    ("http_headers", "headers"),
    ("auth_ref", "auth_ref"),
    ("transport", "transport"),
    ("type", "transport"),
    ("enabled", "enabled"),
    ("timeout", "call_timeout"),
    ("tool_timeout_sec", "call_timeout"),
    ("startup_timeout_sec", "connect_timeout"),
    ("display_name", "display_name"),
    ("tool_namespace", "tool_namespace"),
    ("allowed_tools", "allowed_tools"),
    ("enabled_tools", "allowed_tools"),
    ("includeTools", "allowed_tools"),
    ("disabled_tools", "denied_tools"),
    ("disabledTools", "denied_tools"),
    ("excludeTools", "denied_tools"),
];

/// Keys about the other program's own behaviour, which mean nothing here.
const THEIRS: [&str; 13] = [
    "name",
    "description",
    "alwaysAllow",
    "autoApprove",
    "trust",
    "gallery",
    "version",
    "id",
    "oauth",
    "dev",
    "icon",
    "required",
    "disabled",
];

/// Turns one record into the native one. `path` is where it will stand, for the warnings.
pub(super) fn convert(record: Node, path: &str, warnings: &mut Vec<Problem>) -> Node {
    let mut native = Node::empty_mapping(&record.origin);
    if !matches!(record.value, Value::Mapping(_)) {
        // The check of the shape will say so, with its place.
        return record;
    }
    let switched_off = record.get("disabled").and_then(Node::as_text) == Some("true");
    let Value::Mapping(entries) = record.value else { return native };
    for entry in entries {
        let known = RENAMED.iter().find(|(theirs, _)| *theirs == entry.key);
        match known {
            Some((_, "command")) => command(&mut native, entry.node),
            Some((_, "transport")) => {
                let name =
                    entry.node.as_text().map(transport_name).map(|name| Node::text(&entry.node.origin, name));
                native.set("transport", name.unwrap_or(entry.node));
            }
            Some((_, key @ ("call_timeout" | "connect_timeout"))) => native.set(key, timeout(entry.node)),
            Some((_, "args")) if native.get("args").is_some() => append_arguments(&mut native, entry.node),
            Some((_, key)) => native.set(key, entry.node),
            None if THEIRS.contains(&entry.key.as_str()) => {}
            None => warnings.push(unknown(&entry, path)),
        }
    }
    if switched_off {
        let origin = native.origin.clone();
        native.set("enabled", Node::new(origin, Value::Boolean(false)));
    }
    old_transport_by_address(&mut native);
    native
}

/// The native name of a transport under any of the names it goes by; an unknown one stays, to be reported.
pub(super) fn transport_name(name: &str) -> &str {
    match name.to_ascii_lowercase().replace(['-', '_', ' '], "").as_str() {
        "stdio" | "local" => "stdio",
        "http" | "streamablehttp" | "remote" => "http",
        "sse" | "httpsselegacy" | "httpsse" => "sse",
        _ => name,
    }
}

/// A name a server can have here: other characters become `-`.
pub(super) fn fit_name(name: &str) -> String {
    if validate::is_server_name(name) {
        return name.to_owned();
    }
    let fit: String = name
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect();
    let fit = fit.trim_matches(['-', '.']);
    if fit.is_empty() { "server".to_owned() } else { fit.to_owned() }
}

/// Makes the texts of a foreign record mean here what they meant there: `$$` is two dollars, and the places of an
/// editor have their paths.
pub(super) fn adopt_texts(node: &mut Node, workspace: &Path) {
    match &mut node.value {
        Value::Text(text) if text.contains('$') => {
            let folder = reference::escape(&workspace.to_string_lossy());
            *text = text
                .replace("$$", "$$$$")
                .replace("${workspaceFolder}", &folder)
                .replace("${workspaceRoot}", &folder)
                .replace("${userHome}", "${HOME}")
                .replace("${pathSeparator}", std::path::MAIN_SEPARATOR_STR)
                .replace("${/}", std::path::MAIN_SEPARATOR_STR);
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| adopt_texts(item, workspace)),
        Value::Mapping(entries) => {
            entries.iter_mut().for_each(|entry| adopt_texts(&mut entry.node, workspace))
        }
        _ => {}
    }
}

/// The folder a project's file belongs to: that of the file, or the one above an editor's own folder.
pub(crate) fn workspace_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(Path::new(""));
    let editors = [".vscode", ".cursor", ".windsurf", ".claude", ".codex"];
    if editors.iter().any(|editor| folder.ends_with(editor)) {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    }
}

fn unknown(entry: &Entry, path: &str) -> Problem {
    let names = RENAMED.iter().map(|(theirs, _)| *theirs);
    let mut problem = crate::check::unknown_key(&entry.origin, path, &entry.key, names);
    problem.what = format!("ignored the unknown key `{}`", entry.key);
    problem
}

/// Some programs take the whole command line as a list, and Zed a mapping with `path`.
fn command(native: &mut Node, node: Node) {
    match node.value {
        Value::Sequence(items) => {
            let mut items = items.into_iter();
            if let Some(program) = items.next() {
                native.set("command", program);
            }
            prepend_arguments(native, items.collect(), node.origin);
        }
        Value::Mapping(entries) => {
            for entry in entries {
                let key = if entry.key == "path" { "command" } else { entry.key.as_str() };
                native.set(key, entry.node);
            }
        }
        _ => native.set("command", node),
    }
}

fn prepend_arguments(native: &mut Node, mut items: Vec<Node>, origin: crate::node::Origin) {
    items.extend(native.get("args").map(Node::items).unwrap_or_default().iter().cloned());
    if !items.is_empty() {
        native.set("args", Node::new(origin, Value::Sequence(items)));
    }
}

fn append_arguments(native: &mut Node, more: Node) {
    let mut items = native.get("args").map(Node::items).unwrap_or_default().to_vec();
    items.extend(more.items().iter().cloned());
    native.set("args", Node::new(more.origin, Value::Sequence(items)));
}

fn timeout(node: Node) -> Node {
    match &node.value {
        Value::Number(text) if text.parse::<f64>().is_ok_and(|number| number >= MILLISECONDS_FROM) => {
            Node::text(&node.origin, format!("{text}ms"))
        }
        _ => node,
    }
}

/// Programs that know only `url` try both transports; the old one is known by its usual address.
fn old_transport_by_address(native: &mut Node) {
    if native.get("transport").is_some() {
        return;
    }
    let Some(url) = native.get("url") else { return };
    let address = url.as_text().unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
    if address.trim_end_matches('/').ends_with("/sse") {
        let transport = Node::text(&url.origin, "sse");
        native.set("transport", transport);
    }
}

/// Where a record will stand, for warnings.
pub(super) fn server_path(name: &str) -> String {
    join("servers", name)
}
