//! Spear: one record per file, in a folder of `*.toml` and `*.json`.
//!
//! The rules of the folder are the seed's: no recursion, hidden and temporary files skipped, links refused, the last
//! file by name wins over an earlier one with the same id. A record without `allowed_tools` exposes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Converted, Format, entry};
use crate::load;
use crate::node::{Entry, Node, Origin, Value};
use crate::problem::Problem;

/// More files than this in one folder are a mistake.
const MAX_FILES: usize = 10_000;
/// Keys of a record that mean the same here.
const SAME: [&str; 4] = ["display_name", "tool_namespace", "allowed_tools", "enabled"];

/// Reads all records of a folder, and says which files they are in.
pub(crate) fn folder(path: &Path) -> (Converted, Vec<PathBuf>) {
    let origin = Origin::File { file: path.into(), line: 0, column: 0 };
    let mut all = Converted::new(&Node::empty_mapping(&origin), Format::Spear);
    let files = match record_files(path, &mut all.warnings) {
        Ok(files) => files,
        Err(error) => {
            all.problems.push(Problem::in_file(path, format!("cannot be read: {error}")));
            Vec::new()
        }
    };
    for file in &files {
        let converted = match load::document(file) {
            Ok(document) if document.get("server_id").is_some() => record(document),
            Ok(_) => {
                let problem =
                    Problem::in_file(file, "skipped: not a server record").help("it needs a `server_id`");
                all.pass_over(file, problem);
                continue;
            }
            Err(problem) => {
                all.pass_over(file, *problem);
                continue;
            }
        };
        all.warnings.extend(converted.warnings);
        let servers = converted.tree.get("servers").map(Node::entries).unwrap_or_default();
        for Entry { key, origin, node } in servers {
            if let Some(earlier) = all.tree.get("servers").and_then(|servers| servers.get(key)) {
                let what = format!("also defined in {}; this one counts", earlier.origin);
                all.warnings.push(Problem::at(origin, entry::server_path(key), what));
            }
            if all.tree.get("servers").is_none() {
                all.tree.set("servers", Node::empty_mapping(origin));
            }
            if let Some(servers) = all.tree.get_mut("servers") {
                servers.put(Entry { key: key.clone(), origin: origin.clone(), node: node.clone() });
            }
        }
    }
    (all, files)
}

/// The folder that Spear's own configuration names: `[mcp] dir = "…"`. With servers beside it, the file is another's.
pub(crate) fn folder_named_in(document: &Node) -> Option<&str> {
    let mcp = document.get("mcp").filter(|mcp| mcp.get("servers").is_none())?;
    mcp.get("dir")?.as_text().filter(|folder| !folder.is_empty())
}

/// Turns one record into the native form. Spear's own configuration has none: what else it says is not about servers.
pub(super) fn record(mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::Spear);
    entry::adopt_texts(&mut document, Path::new(""));
    let origin = document.origin.clone();
    let Some(id) = document.remove("server_id") else { return converted };
    let name = id.as_text().unwrap_or_default().to_owned();
    let path = entry::server_path(&name);
    let mut native = Node::empty_mapping(&origin);
    if let Some(transport) = document.remove("transport") {
        let ours = entry::transport_name(transport.as_text().unwrap_or_default()).to_owned();
        native.set("transport", Node::text(&transport.origin, ours));
    }
    for key in SAME {
        // The seed writes `tool_namespace = ""` for "none".
        if let Some(node) = document.remove(key).filter(|node| node.as_text() != Some("")) {
            native.set(key, node);
        }
    }
    if native.get("allowed_tools").is_none() {
        native.set("allowed_tools", Node::new(origin.clone(), Value::Sequence(Vec::new())));
    }
    for section in ["stdio", "http"] {
        if let Some(node) = document.remove(section) {
            let mut warnings = Vec::new();
            native.merge(entry::convert(node, &path, &mut warnings));
            converted.warnings.append(&mut warnings);
        }
    }
    if let Some(budgets) = document.remove("budgets") {
        add_budgets(&mut native, budgets, &path, &mut converted.warnings);
    }
    if let Some(policy) = document.remove("approval_policy") {
        add_approval(&mut native, policy);
    }
    for entry in document.entries() {
        let known = ["server_id", "transport", "stdio", "http", "budgets", "approval_policy"];
        let known = known.into_iter().chain(SAME);
        converted.warn(crate::check::unknown_key(&entry.origin, &path, &entry.key, known));
    }
    converted.add_server(&name, &id.origin, native);
    converted
}

fn add_budgets(native: &mut Node, budgets: Node, path: &str, warnings: &mut Vec<Problem>) {
    let Value::Mapping(entries) = budgets.value else { return };
    for Entry { key, origin, node } in entries {
        match key.as_str() {
            "tool_timeout_ms" => {
                let text = format!("{}ms", node.as_text().unwrap_or_default());
                native.set("call_timeout", Node::text(&node.origin, text));
            }
            "max_concurrency" => native.set("max_concurrency", node),
            "max_tool_output_bytes" => native.set("max_output_bytes", node),
            _ => {
                let known = ["tool_timeout_ms", "max_concurrency", "max_tool_output_bytes"];
                warnings.push(crate::check::unknown_key(&origin, path, &key, known.into_iter()));
            }
        }
    }
}

/// One word for the server, or a mapping of tools to words in which `default` is the server's.
fn add_approval(native: &mut Node, policy: Node) {
    let Value::Mapping(entries) = policy.value else {
        native.set("approval", policy);
        return;
    };
    let mut tools = Node::empty_mapping(&policy.origin);
    for Entry { key, node, .. } in entries {
        match (key.as_str(), &node.value) {
            ("default", _) => native.set("approval", node),
            ("tools", Value::Mapping(_)) => tools.merge(node),
            _ => tools.set(&key, node),
        }
    }
    if !tools.entries().is_empty() {
        native.set("tool_approvals", tools);
    }
}

/// The record files of a folder in the order of their names.
fn record_files(folder: &Path, warnings: &mut Vec<Problem>) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_FILES) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let wanted = name.ends_with(".toml") || name.ends_with(".json");
        if !wanted || name.starts_with(['.', '~', '#']) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            warnings.push(
                Problem::in_file(&entry.path(), "skipped: links are not followed").help("copy the file here"),
            );
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
