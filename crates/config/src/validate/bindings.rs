//! Bound tools are servers beside the others, so their names must be names of servers, and no other's.

use crate::node::{Node, Origin};
use crate::problem::{Problem, join};

use super::{MAX_NAME, is_http_url, is_server_name};

/// What is wrong with the section `bindings`.
pub(super) fn check(tree: &Node, problems: &mut Vec<Problem>) {
    let Some(bindings) = tree.get("bindings") else { return };
    if let Some(name) = bindings.get("name") {
        let text = name.as_text().unwrap_or_default();
        if !is_server_name(text) {
            problems.push(bad_name(&name.origin, "bindings.name", text));
        }
    }
    for entry in bindings.get("openapi").map(Node::entries).unwrap_or_default() {
        let path = join("bindings.openapi", &entry.key);
        if !is_server_name(&entry.key) {
            problems.push(bad_name(&entry.origin, &path, &entry.key));
        }
        if entry.node.get("file").is_some() == entry.node.get("url").is_some() {
            problems.push(
                Problem::at(&entry.origin, &path, "it is not clear where the document is")
                    .help("give exactly one of file and url"),
            );
        }
        for key in ["url", "base_url"] {
            let Some(url) = entry.node.get(key) else { continue };
            if !url.as_text().is_some_and(is_http_url) {
                problems.push(
                    Problem::at(&url.origin, join(&path, key), "this is no http address")
                        .help("write it like https://host/path"),
                );
            }
        }
    }
}

/// No two servers may have the same name, and bound tools are servers too.
pub(super) fn names(tree: &Node, problems: &mut Vec<Problem>) {
    let bindings = tree.get("bindings");
    let documents = bindings.and_then(|bindings| bindings.get("openapi"));
    let is_record = |name: &str| {
        ["servers", "handlers"]
            .iter()
            .filter_map(|section| tree.get(section))
            .any(|all| all.get(name).is_some())
    };
    let skills = skills_name(tree);
    let mut complain = |origin: &Origin, path: String, name: &str| {
        let what = format!("`{name}` is the name of a server already");
        problems.push(Problem::at(origin, path, what).help("give one of them another name"));
    };
    for entry in documents.map(Node::entries).unwrap_or_default() {
        if is_record(&entry.key) || skills == Some(&entry.key) {
            complain(&entry.origin, join("bindings.openapi", &entry.key), &entry.key);
        }
    }
    // Without skills nobody has this name, and without either section no skill's tool can ask anybody.
    let (Some(skills), Some(section)) = (skills, bindings.or_else(|| tree.get("egress"))) else { return };
    let name = bindings.and_then(|bindings| bindings.get("name"));
    let text = name.and_then(Node::as_text).unwrap_or("bindings");
    let is_document = documents.is_some_and(|documents| documents.get(text).is_some());
    if is_record(text) || is_document || skills == text {
        complain(&name.unwrap_or(section).origin, "bindings.name".to_owned(), text);
    }
}

/// The name under which skills are served, where they are.
fn skills_name(tree: &Node) -> Option<&str> {
    let skills = tree.get("skills")?;
    let is_used = skills.get("dir").is_some_and(|dir| dir.as_text().is_some())
        || skills.get("dirs").is_some_and(|dirs| !dirs.items().is_empty());
    is_used.then(|| skills.get("name").and_then(Node::as_text).unwrap_or("skills"))
}

fn bad_name(origin: &Origin, path: &str, name: &str) -> Problem {
    Problem::at(origin, path, format!("`{name}` cannot be the name of a server"))
        .help(format!("use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}"))
}
