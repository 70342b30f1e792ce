//! The formats people already have, each turned into the native tree.
//!
//! A format is known by what a file holds rather than by its name, because everybody's file is called `mcp.json`.
//! Conversion happens between trees, so a value keeps the line it was written on through all of it.

mod codex;
mod entry;
mod mcp_servers;
mod otter;
mod owlclaw;
pub(crate) mod spear;
mod vscode;

use std::path::{Path, PathBuf};

use crate::node::{Entry, Node, Origin, Value};
use crate::problem::Problem;

pub(crate) use entry::workspace_of;

/// A format of configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Our own.
    Native,
    /// `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini, ExcelManus.
    McpServers,
    /// `servers` and `inputs` of VS Code.
    VsCode,
    /// OwlClaw's `mcp-server.yaml`.
    OwlClaw,
    /// otter's `[[mcp.servers]]`.
    Otter,
    /// One of Spear's server records.
    Spear,
    /// Codex's `[mcp_servers.NAME]`.
    Codex,
}

/// A file in native form.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) tree: Node,
    /// What was skipped or cannot be said natively; fatal in strict mode.
    pub(crate) warnings: Vec<Problem>,
    /// What is wrong with the file whatever the mode.
    pub(crate) problems: Vec<Problem>,
    pub(crate) format: Format,
    /// Files of one record each that cannot be read.
    pub(crate) unreadable: Vec<(PathBuf, Problem)>,
}

impl Converted {
    fn new(document: &Node, format: Format) -> Self {
        let tree = Node::empty_mapping(&document.origin);
        Self { tree, warnings: Vec::new(), problems: Vec::new(), format, unreadable: Vec::new() }
    }

    fn warn(&mut self, problem: Problem) {
        self.warnings.push(problem);
    }

    /// Leaves out a file that cannot be read.
    fn pass_over(&mut self, file: &Path, problem: Problem) {
        self.unreadable.push((file.to_path_buf(), problem.clone()));
        self.warn(problem);
    }

    /// Adds a server record under a name that is made fit if it has to be.
    fn add_server(&mut self, name: &str, origin: &Origin, record: Node) {
        let fit = entry::fit_name(name);
        if fit != name {
            self.warn(
                Problem::at(origin, format!("servers.{fit}"), format!("`{name}` is called `{fit}` here"))
                    .help("names of servers have letters, digits, `-`, `_` and `.`"),
            );
        }
        if self.tree.get("servers").is_none() {
            self.tree.set("servers", Node::empty_mapping(origin));
        }
        let Some(servers) = self.tree.get_mut("servers") else { return };
        let twice = servers.get(&fit).is_some();
        servers.put(Entry { key: fit.clone(), origin: origin.clone(), node: record });
        if twice {
            self.warn(Problem::at(origin, format!("servers.{fit}"), "defined twice; this one counts"));
        }
    }
}

/// Tells the format of a document that was read from `path`.
pub fn detect(path: &Path, document: &Node) -> Format {
    let json = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonc");
    let is_list = |node: &Node| matches!(node.value, Value::Sequence(_));
    let mcp = document.get("mcp");
    if document.get("mcp_server").is_some() {
        Format::OwlClaw
    } else if document.get("mcpServers").is_some() || document.get("context_servers").is_some() {
        Format::McpServers
    } else if document.get("server_id").is_some() || spear::folder_named_in(document).is_some() {
        Format::Spear
    } else if document.get("mcp_servers").is_some_and(|servers| !is_list(servers)) {
        Format::Codex
    } else if document.get("mcp_servers").is_some()
        || mcp.is_some_and(|mcp| mcp.get("servers").is_none_or(is_list))
    {
        Format::Otter
    } else if mcp.is_some() || json && looks_like_vscode(path, document) {
        Format::VsCode
    } else {
        by_name(path)
    }
}

/// Turns a document of any format into the native tree.
pub(crate) fn convert(path: &Path, mut document: Node) -> Converted {
    match detect(path, &document) {
        Format::Native => {
            // Editors read it, we know our own schema.
            document.remove("$schema");
            Converted {
                tree: document,
                ..Converted::new(&Node::empty_mapping(&Origin::Default), Format::Native)
            }
        }
        Format::McpServers => mcp_servers::convert(path, document),
        Format::VsCode => vscode::convert(path, document),
        Format::OwlClaw => owlclaw::convert(&document),
        Format::Otter => otter::convert(document),
        Format::Spear => spear::record(document),
        Format::Codex => codex::convert(document),
    }
}

/// Files of other programs in which there are no servers yet are known by their names.
fn by_name(path: &Path) -> Format {
    let is = |name: &str| path.ends_with(name);
    let others = [
        ".claude.json",
        ".mcp.json",
        "mcp.json",
        "claude_desktop_config.json",
        "mcp_config.json",
        "cline_mcp_settings.json",
        "settings.json",
    ];
    if is(".codex/config.toml") {
        Format::Codex
    } else if is("mcp-server.yaml") {
        Format::OwlClaw
    } else if others.into_iter().any(is) {
        Format::McpServers
    } else {
        Format::Native
    }
}

/// Our own form can be written as JSON too; VS Code's has `inputs`, a `type` in each record, or its name.
fn looks_like_vscode(path: &Path, document: &Node) -> bool {
    let Some(servers) = document.get("servers") else { return false };
    let typed = servers.entries().iter().any(|entry| entry.node.get("type").is_some());
    typed || document.get("inputs").is_some() || path.ends_with("mcp.json")
}
