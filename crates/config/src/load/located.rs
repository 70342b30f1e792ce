//! Relative paths mean the folder of the file they stand in, wherever the gateway is started from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Section;
use crate::format::workspace_of;
use crate::model::is_path;
use crate::node::{Node, Origin, Value};
use crate::reference::{Resolver, absolute, escape, folder_of, split_reference};

/// Stands for every key of a mapping.
const EVERY: &str = "*";
/// Settings that are paths. Those inside of lists are found in every item.
const SETTINGS: [&[&str]; 11] = [
    &["state_dir"],
    &["listen", "tls", "cert_file"],
    &["listen", "tls", "key_file"],
    &["listen", "tls", "client_ca_file"],
    &["skills", "dir"],
    &["skills", "dirs"],
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

/// What becomes of a path that was written there.
type Change<'a> = &'a dyn Fn(&Origin, &str) -> String;

/// Puts the folder of its file before every relative path of the settings.
pub(super) fn settings(resolver: &Resolver<'_>, tree: &mut Node) {
    let located = |origin: &Origin, path: &str| locate(resolver, path, &folder_of(origin));
    SETTINGS.iter().for_each(|keys| change(tree, keys, &located));
}

/// The same for the record of a server. Other programs mean the folder of the project, which may be one further up.
pub(super) fn record(resolver: &Resolver<'_>, section: Section, record: &mut Node, foreign: bool) {
    // A worker is started in another folder than ours, so nothing in its arguments may be relative to ours.
    let folder = |origin: &Origin| match section {
        Section::Handlers => absolute(&folder_of(origin)),
        Section::Servers if foreign => project_of(origin),
        Section::Servers => folder_of(origin),
    };
    change_record(section, record, &|origin, path| locate(resolver, path, &folder(origin)));
}

/// Makes relative paths of a tree that will be written into `folder` mean there what they mean where they stand. Servers
/// in `foreign` are from other programs. What stays right stays as it is, so that a project can be moved.
pub(super) fn relocate(tree: &mut Node, folder: &Path, foreign: &BTreeSet<String>) {
    let into = absolute(folder);
    let moved = |base: PathBuf, path: &str| {
        let base = absolute(&base);
        if base == into || path.starts_with(['/', '~', '$']) || path.is_empty() {
            return path.to_owned();
        }
        let whole: PathBuf = Path::new(&escape(&base.to_string_lossy())).join(path).components().collect();
        whole.to_string_lossy().into_owned()
    };
    let beside = |origin: &Origin, path: &str| moved(folder_of(origin), path);
    SETTINGS.iter().for_each(|keys| change(tree, keys, &beside));
    change_files(tree, &beside);
    for section in Section::ALL {
        for entry in tree.get_mut(section.key()).and_then(Node::entries_mut).into_iter().flatten() {
            let is_foreign = foreign.contains(&entry.key);
            let base = |origin: &Origin| if is_foreign { project_of(origin) } else { folder_of(origin) };
            change_record(section, &mut entry.node, &|origin, path| moved(base(origin), path));
            change(&mut entry.node, &["auth_ref"], &|origin, text| match text.strip_prefix("file:") {
                Some(path) => format!("file:{}", beside(origin, path)),
                None => text.to_owned(),
            });
        }
    }
}

fn locate(resolver: &Resolver<'_>, path: &str, folder: &Path) -> String {
    if path.is_empty() {
        return String::new();
    }
    // Without a `.` in the middle, for people.
    let located: PathBuf = resolver.located(path, folder).components().collect();
    located.to_string_lossy().into_owned()
}

fn project_of(origin: &Origin) -> PathBuf {
    match origin {
        Origin::File { file, .. } => workspace_of(file).to_path_buf(),
        _ => PathBuf::new(),
    }
}

/// Changes the paths of a record.
fn change_record(section: Section, record: &mut Node, to: Change<'_>) {
    OF_SERVERS.iter().for_each(|keys| change(record, keys, to));
    if section == Section::Handlers {
        OF_HANDLERS.iter().for_each(|keys| change(record, keys, to));
        let if_path =
            |origin: &Origin, text: &str| if is_path(text) { to(origin, text) } else { text.to_owned() };
        OF_HANDLERS_IF_PATHS.iter().for_each(|key| change(record, &[key], &if_path));
    }
}

/// Changes the texts at a place; of a list, each.
fn change(node: &mut Node, keys: &[&str], to: Change<'_>) {
    if let Value::Sequence(items) = &mut node.value {
        return items.iter_mut().for_each(|item| change(item, keys, to));
    }
    match (keys, &mut node.value) {
        ([], Value::Text(text)) => *text = to(&node.origin, text),
        ([EVERY, rest @ ..], Value::Mapping(entries)) => {
            entries.iter_mut().for_each(|entry| change(&mut entry.node, rest, to));
        }
        ([key, rest @ ..], _) => {
            if let Some(inner) = node.get_mut(key) {
                change(inner, rest, to);
            }
        }
        _ => {}
    }
}

/// Changes the path in every `${file:…}`.
fn change_files(node: &mut Node, to: Change<'_>) {
    match &mut node.value {
        Value::Text(text) if text.contains("${file:") => {
            let mut out = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once("${file:") {
                let Some((path, after)) = split_reference(after) else { break };
                // Two dollars are one that is meant as such, and begin no reference.
                let is_plain = before.ends_with('$');
                let path = if is_plain { path.to_owned() } else { to(&node.origin, path) };
                out.extend([before, "${file:", &path, "}"]);
                rest = after;
            }
            out.push_str(rest);
            *text = out;
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| change_files(item, to)),
        Value::Mapping(entries) => entries.iter_mut().for_each(|entry| change_files(&mut entry.node, to)),
        _ => {}
    }
}
