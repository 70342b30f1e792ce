//! Relative paths mean the folder of the file they stand in, wherever the gateway is started from.

use std::path::PathBuf;

use super::Section;
use crate::format::workspace_of;
use crate::model::is_path;
use crate::node::{Node, Origin, Value};
use crate::reference::{Resolver, folder_of};

/// Stands for every key of a mapping.
const EVERY: &str = "*";
/// Settings that are paths. Those inside of lists are found in every item.
const SETTINGS: [&[&str]; 10] = [
    &["state_dir"],
    &["listen", "tls", "cert_file"],
    &["listen", "tls", "key_file"],
    &["listen", "tls", "client_ca_file"],
    &["skills", "dir"],
    &["bindings", "openapi", EVERY, "file"],
    &["callers", "keys_file"],
    &["callers", "jwt", "jwks_file"],
    &["ledger", "dir"],
    &["admin", "token_file"],
];
/// The same in the record of a server.
const OF_SERVERS: [&[&str]; 2] = [&["cwd"], &["env_file"]];
/// The same in the record of handlers, besides.
const OF_HANDLERS: [&[&str]; 2] = [&["venv"], &["uv"]];
/// The same, where the value is not the name of a module or of a program.
const OF_HANDLERS_IF_PATHS: [&str; 2] = ["modules", "python"];

/// Puts the folder of its file before every relative path of the settings.
pub(super) fn settings(resolver: &Resolver<'_>, tree: &mut Node) {
    SETTINGS.iter().for_each(|keys| locate(resolver, tree, keys, &folder_of));
}

/// The same for the record of a server. Other programs mean the folder of the project, which may be one further up.
pub(super) fn record(resolver: &Resolver<'_>, section: Section, record: &mut Node, foreign: bool) {
    let of_project = |origin: &Origin| match origin {
        Origin::File { file, .. } => workspace_of(file).to_path_buf(),
        _ => PathBuf::new(),
    };
    // A worker is started in another folder than ours, so nothing in its arguments may be relative to ours.
    let folder: &dyn Fn(&Origin) -> PathBuf = match section {
        Section::Handlers => &absolute_folder_of,
        Section::Servers if foreign => &of_project,
        Section::Servers => &folder_of,
    };
    OF_SERVERS.iter().for_each(|keys| locate(resolver, record, keys, folder));
    if section == Section::Handlers {
        OF_HANDLERS.iter().for_each(|keys| locate(resolver, record, keys, folder));
        OF_HANDLERS_IF_PATHS.iter().for_each(|key| locate_paths(resolver, record, key, folder));
    }
}

fn absolute_folder_of(origin: &Origin) -> PathBuf {
    let folder = folder_of(origin);
    std::path::absolute(PathBuf::from(".").join(&folder)).unwrap_or(folder)
}

fn locate_paths(resolver: &Resolver<'_>, record: &mut Node, key: &str, folder: &dyn Fn(&Origin) -> PathBuf) {
    let Some(node) = record.get_mut(key) else { return };
    let nodes = match &mut node.value {
        Value::Sequence(items) => items.as_mut_slice(),
        _ => std::slice::from_mut(node),
    };
    for node in nodes.iter_mut().filter(|node| node.as_text().is_some_and(is_path)) {
        locate(resolver, node, &[], folder);
    }
}

fn locate(resolver: &Resolver<'_>, node: &mut Node, keys: &[&str], folder: &dyn Fn(&Origin) -> PathBuf) {
    if let Value::Sequence(items) = &mut node.value {
        return items.iter_mut().for_each(|item| locate(resolver, item, keys, folder));
    }
    match (keys, &mut node.value) {
        ([], Value::Text(path)) if !path.is_empty() => {
            let located = resolver.located(path, &folder(&node.origin));
            // Without a `.` in the middle, for people.
            *path = located.components().collect::<PathBuf>().to_string_lossy().into_owned();
        }
        ([EVERY, rest @ ..], Value::Mapping(entries)) => {
            entries.iter_mut().for_each(|entry| locate(resolver, &mut entry.node, rest, folder));
        }
        ([key, rest @ ..], _) => {
            if let Some(inner) = node.get_mut(key) {
                locate(resolver, inner, rest, folder);
            }
        }
        _ => {}
    }
}
