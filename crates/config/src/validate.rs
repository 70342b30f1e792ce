//! Rules a schema cannot say: keys that need or exclude each other, addresses, patterns, names.
//!
//! They run on the tree, like the check of its shape, so that every problem has its line.

mod bindings;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use crate::load::Section;
use crate::model::{is_path, python_of};
use crate::node::{Entry, Node};
use crate::problem::{Problem, join};
use crate::reference;

/// Longest name of a server.
const MAX_NAME: usize = 64;
/// The length from which nobody guesses the key of sessions.
const SHORTEST_KEY: usize = 32;

/// What is wrong with one record.
pub(crate) fn record(section: Section, entry: &Entry, problems: &mut Vec<Problem>) {
    let (path, record) = (join(section.key(), &entry.key), &entry.node);
    if !is_server_name(&entry.key) {
        problems.push(
            Problem::at(&entry.origin, &path, format!("`{}` cannot be the name of a server", entry.key))
                .help(format!("use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}")),
        );
    }
    let mut complain = |key: &str, what: &str, help: &str| {
        let misshapen = join(&path, key);
        if problems.iter().any(|problem| problem.path == misshapen) {
            // It was written and taken out because of its shape; that it is now missing is no news.
            return;
        }
        let origin = record.get(key).map_or(&entry.origin, |node| &node.origin);
        let path = if record.get(key).is_some() { join(&path, key) } else { path.clone() };
        problems.push(Problem::at(origin, path, what).help(help));
    };
    match section {
        Section::Servers => reach(record, &mut complain),
        Section::Handlers => python(record, &mut complain),
    }
    for key in ["max_concurrency", "max_message_bytes"] {
        if record.get(key).and_then(Node::as_text) == Some("0") {
            complain(key, "0 would stop every call", "leave it out for the default");
        }
    }
    if record.get("long_output").and_then(Node::as_text) == Some("spill")
        && record.get("max_output_bytes").is_none()
    {
        complain(
            "long_output",
            "nothing is too long without `max_output_bytes`",
            "say from which size on outputs are kept",
        );
    }
    for key in ["allowed_tools", "denied_tools"] {
        if record.get(key).is_some_and(|list| list.items().iter().any(|item| item.as_text() == Some(""))) {
            complain(key, "an empty pattern matches nothing", "use `*` for all tools");
        }
    }
    for name in record.get("env_from").map(Node::items).unwrap_or_default() {
        if !name.as_text().is_some_and(reference::is_variable_name) {
            complain("env_from", "this lists names of variables only", "put values under `env`");
        }
    }
}

/// What is wrong with the way to a server.
fn reach(record: &Node, complain: &mut dyn FnMut(&str, &str, &str)) {
    let transport = record.get("transport").and_then(Node::as_text).unwrap_or_default();
    let (command, url) = (written(record, "command"), written(record, "url"));
    match (transport, command, url) {
        ("stdio", None, _) => {
            complain("command", "a stdio server needs a `command`", "the program that starts it")
        }
        ("stdio", Some(_), Some(_)) => {
            complain(
                "url",
                "a server has a `command` or a `url`, not both",
                "remove one, or split it in two servers",
            );
        }
        ("http" | "sse", _, None) => {
            complain("url", &format!("a server with `transport: {transport}` needs a `url`"), "")
        }
        ("http" | "sse", Some(_), Some(_)) => {
            complain(
                "command",
                "a server has a `command` or a `url`, not both",
                "remove one, or split it in two servers",
            );
        }
        ("", None, None) => {
            complain("", "neither `command` nor `url`", "say what to start, or where to connect")
        }
        _ => {}
    }
    if let Some(url) = url.filter(|url| !is_http_url(url)) {
        // The address may hold a password, so it is not repeated.
        let what =
            if url.contains("://") { "only http:// and https:// are spoken" } else { "this is no address" };
        complain("url", what, "write it like https://host/mcp");
    }
    if url.is_some() && record.get("processes").and_then(Node::as_text).is_some_and(|count| count != "1") {
        complain("processes", "only a program that is started can have several", "leave it out");
    }
}

/// What is wrong with where handlers are and what runs them.
fn python(record: &Node, complain: &mut dyn FnMut(&str, &str, &str)) {
    let modules = record.get("modules").map(Node::items).unwrap_or_default();
    if modules.is_empty() {
        complain("modules", "no module is listed", "name files, folders or modules");
    }
    for module in modules.iter().filter_map(Node::as_text) {
        if module.starts_with('-') || module.trim().is_empty() {
            complain("modules", "this is no module", "name files, folders or modules, such as `shop.orders`");
        } else if is_path(module) && !Path::new(module).exists() {
            complain(
                "modules",
                &format!("{module} does not exist"),
                "relative paths are relative to this file",
            );
        }
    }
    let said: Vec<_> = ["python", "venv", "uv"].into_iter().filter(|key| record.get(key).is_some()).collect();
    if let [_, second, ..] = said.as_slice() {
        complain(second, "what runs the handlers is said twice", "give one of python, venv and uv");
    }
    if let Some(venv) = written(record, "venv").filter(|venv| !python_of(Path::new(venv)).exists()) {
        let what = format!("there is no Python in {venv}");
        complain("venv", &what, "make it with `python3 -m venv`, and install the package toolgate in it");
    }
    if let Some(project) = written(record, "uv").filter(|project| !Path::new(project).is_dir()) {
        complain("uv", &format!("there is no folder {project}"), "name the folder with pyproject.toml");
    }
}

/// Handlers and skills become servers, so no two of all may have the same name.
pub(crate) fn names(tree: &Node, problems: &mut Vec<Problem>) {
    skills(tree, problems);
    bindings::names(tree, problems);
    for entry in tree.get("handlers").map(Node::entries).unwrap_or_default() {
        if let Some(server) = tree.get("servers").and_then(|servers| servers.get(&entry.key)) {
            let what = format!("a server has this name already, in {}", server.origin);
            let problem = Problem::at(&entry.origin, join("handlers", &entry.key), what);
            problems.push(problem.help("give one of them another name"));
        }
    }
}

/// What is wrong with everything but the servers.
pub(crate) fn whole(tree: &Node, problems: &mut Vec<Problem>) {
    identifiers(tree, &["policy", "rules"], problems);
    identifiers(tree, &["quotas"], problems);
    for (index, quota) in tree.get("quotas").map(Node::items).unwrap_or_default().iter().enumerate() {
        let limits = [
            "budget_per_month",
            "max_per_call",
            "calls_per_minute",
            "calls_per_day",
            "reads_per_minute",
            "concurrency",
        ];
        if !limits.iter().any(|limit| quota.get(limit).is_some()) {
            problems.push(
                Problem::at(&quota.origin, format!("quotas[{index}]"), "this quota limits nothing")
                    .help(format!("give one of {}", limits.join(", "))),
            );
        }
    }
    let issuers =
        tree.get("callers").and_then(|callers| callers.get("jwt")).map(Node::items).unwrap_or_default();
    for (index, issuer) in issuers.iter().enumerate() {
        if issuer.get("jwks_file").is_some() == issuer.get("jwks_url").is_some() {
            problems.push(
                Problem::at(
                    &issuer.origin,
                    format!("callers.jwt[{index}]"),
                    "the issuer's keys are not clear",
                )
                .help("give exactly one of jwks_file and jwks_url"),
            );
        }
    }
    if let Some(tls) = tree.get("listen").and_then(|listen| listen.get("tls"))
        && tls.get("verify_client").and_then(Node::as_text) == Some("true")
        && tls.get("client_ca_file").is_none()
    {
        problems.push(
            Problem::at(&tls.origin, "listen.tls", "clients cannot be verified without an authority")
                .help("give client_ca_file"),
        );
    }
    if let Some(key) = tree.get("listen").and_then(|listen| listen.get("session_key"))
        && key.as_text().is_some_and(|text| text.len() < SHORTEST_KEY)
    {
        let short = format!("a key of less than {SHORTEST_KEY} characters can be guessed");
        problems.push(
            Problem::at(&key.origin, "listen.session_key", short)
                .help("make one with `openssl rand -base64 32` and refer to it: ${ENV:NAME} or ${file:…}"),
        );
    }
    if let Some(webhook) = tree.get("ledger").and_then(|ledger| ledger.get("alert_webhook"))
        && !webhook.as_text().is_some_and(is_http_url)
    {
        problems.push(
            Problem::at(&webhook.origin, "ledger.alert_webhook", "this is no http address")
                .help("write it like https://host/path"),
        );
    }
    bindings::check(tree, problems);
    admin(tree, problems);
}

/// What works and is probably not meant.
pub(crate) fn doubts(tree: &Node, warnings: &mut Vec<Problem>) {
    let listen = tree.get("listen");
    let host = listen.and_then(|listen| listen.get("host"));
    let http = listen.and_then(|listen| listen.get("transport")).and_then(Node::as_text) == Some("http");
    let anonymous = tree.get("callers").and_then(|callers| callers.get("anonymous")).and_then(Node::as_text)
        == Some("allow");
    if let Some(host) = host.filter(|host| http && anonymous && !host.as_text().is_some_and(is_loopback)) {
        warnings.push(
            Problem::at(&host.origin, "listen.host", "others can reach this address and need no credentials")
                .help("leave out callers.anonymous, or listen on 127.0.0.1"),
        );
    }
}

/// Whether a name can stand for a server everywhere: in exposed names, addresses and files.
pub(crate) fn is_server_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Skills are a server beside the others, so their name must be one, and no other's.
fn skills(tree: &Node, problems: &mut Vec<Problem>) {
    let Some(skills) = tree.get("skills") else { return };
    let is_used = skills.get("dir").is_some_and(|dir| dir.as_text().is_some())
        || skills.get("dirs").is_some_and(|dirs| !dirs.items().is_empty());
    let name = skills.get("name");
    let origin = name.map_or(&skills.origin, |name| &name.origin);
    let text = name.and_then(Node::as_text).unwrap_or("skills");
    if !is_server_name(text) {
        problems.push(
            Problem::at(origin, "skills.name", format!("`{text}` cannot be the name of a server"))
                .help(format!("use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}")),
        );
    }
    let is_taken = |section: &str| tree.get(section).is_some_and(|records| records.get(text).is_some());
    if is_used && (is_taken("servers") || is_taken("handlers")) {
        problems.push(
            Problem::at(origin, "skills.name", format!("`{text}` is the name of a server already"))
                .help("give the skills another name"),
        );
    }
}

fn admin(tree: &Node, problems: &mut Vec<Problem>) {
    let Some(admin) = tree.get("admin") else { return };
    if let Some(listen) = admin.get("listen") {
        let text = listen.as_text().unwrap_or_default();
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        if !text.starts_with('/') && port.and_then(|port| port.parse::<u16>().ok()).is_none() {
            problems.push(
                Problem::at(
                    &listen.origin,
                    "admin.listen",
                    format!("`{}` is neither HOST:PORT nor a path", listen.shown()),
                )
                .help("write 127.0.0.1:9090 or /admin"),
            );
        }
    }
    if let (Some(_), Some(second)) = (admin.get("token_file"), admin.get("token_env")) {
        problems.push(
            Problem::at(&second.origin, "admin.token_env", "there are two tokens")
                .help("give only one of token_file and token_env"),
        );
    }
}

/// Identifiers in a list are there to tell entries apart.
fn identifiers(tree: &Node, path: &[&str], problems: &mut Vec<Problem>) {
    let list = path.iter().try_fold(tree, |node, key| node.get(key));
    let mut seen = BTreeSet::new();
    for (index, item) in list.map(Node::items).unwrap_or_default().iter().enumerate() {
        let Some(id) = item.get("id") else { continue };
        let text = id.as_text().unwrap_or_default();
        if !seen.insert(text) {
            problems.push(
                Problem::at(
                    &id.origin,
                    format!("{}[{index}].id", path.join(".")),
                    format!("`{}` is used twice", id.shown()),
                )
                .help("refusals name the rule by its id, so it must be one rule's alone"),
            );
        }
    }
}

fn written<'a>(record: &'a Node, key: &str) -> Option<&'a str> {
    record.get(key).and_then(Node::as_text).filter(|text| !text.trim().is_empty())
}

fn is_http_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        !host.is_empty() && !host.starts_with(':') && !url.contains(char::is_whitespace)
    })
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
