//! Bound tools are servers beside the others, so their names must be names of servers, and no other's.

use crate::node::Node;
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

fn bad_name(origin: &crate::node::Origin, path: &str, name: &str) -> Problem {
    Problem::at(origin, path, format!("`{name}` cannot be the name of a server"))
        .help(format!("use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}"))
}
