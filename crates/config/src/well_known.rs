//! A catalogue of well-known servers, so that `servers add github` needs no search for package names.

use serde::Serialize;

use crate::node::{Entry, Node, Origin, Value};

/// A well-known server: how it is started and what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WellKnown {
    /// Its usual name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// How it is reached.
    pub start: Start,
    /// What must be added to its arguments, for people, such as `FOLDER…`; empty when nothing.
    pub needs_arguments: &'static str,
    /// Variables it needs.
    pub variables: &'static [Needed],
}

/// How a well-known server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A package run by `npx`.
    Npx(&'static str),
    /// A package run by `uvx`.
    Uvx(&'static str),
    /// A server on the network.
    Url(&'static str),
}

/// A variable a well-known server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Its name.
    pub name: &'static str,
    /// Where to get it.
    pub from: &'static str,
}

const fn known(name: &'static str, start: Start, about: &'static str) -> WellKnown {
    WellKnown { name, about, start, needs_arguments: "", variables: &[] }
}

impl WellKnown {
    const fn with(mut self, needs_arguments: &'static str) -> Self {
        self.needs_arguments = needs_arguments;
        self
    }

    const fn needing(mut self, variables: &'static [Needed]) -> Self {
        self.variables = variables;
        self
    }

    /// The native record, with these arguments after its own. Variables are references, so no secret is written.
    pub fn record(&self, arguments: &[String]) -> Node {
        let origin = Origin::Default;
        let text = |text: &str| Node::text(&origin, text);
        let mut record = Node::empty_mapping(&origin);
        let own: &[&str] = match self.start {
            Start::Npx(package) => {
                record.set("command", text("npx"));
                &["-y", package]
            }
            Start::Uvx(package) => {
                record.set("command", text("uvx"));
                &[package]
            }
            Start::Url(url) => {
                record.set("url", text(url));
                &[]
            }
        };
        let args = own.iter().copied().chain(arguments.iter().map(String::as_str)).map(text);
        let args: Vec<Node> = args.collect();
        if !args.is_empty() {
            record.set("args", Node::new(origin.clone(), Value::Sequence(args)));
        }
        match (self.start, self.variables) {
            (_, []) => {}
            (Start::Url(_), [token, ..]) => {
                let node = text(&format!("Bearer ${{{}}}", token.name));
                let header = Entry { key: "Authorization".to_owned(), origin: origin.clone(), node };
                record.set("headers", Node::new(origin.clone(), Value::Mapping(vec![header])));
            }
            (_, variables) => {
                let names = variables.iter().map(|variable| text(variable.name)).collect();
                record.set("env_from", Node::new(origin.clone(), Value::Sequence(names)));
            }
        }
        record
    }
}

/// All well-known servers, by name.
pub const CATALOGUE: &[WellKnown] = &[
    known("brave-search", Start::Npx("@brave/brave-search-mcp-server"), "Search the web with Brave.")
        .needing(&[Needed { name: "BRAVE_API_KEY", from: "https://brave.com/search/api/" }]),
    known("context7", Start::Npx("@upstash/context7-mcp"), "Current documentation of libraries."),
    known(
        "everything",
        Start::Npx("@modelcontextprotocol/server-everything"),
        "Every feature of MCP, for tests.",
    ),
    known("fetch", Start::Uvx("mcp-server-fetch"), "Fetch web pages as text."),
    known(
        "filesystem",
        Start::Npx("@modelcontextprotocol/server-filesystem"),
        "Read and write files in folders.",
    )
    .with("FOLDER…"),
    known("git", Start::Uvx("mcp-server-git"), "Read and change git repositories.")
        .with("--repository FOLDER"),
    known(
        "github",
        Start::Url("https://api.githubcopilot.com/mcp/"),
        "Issues, pull requests and code on GitHub.",
    )
    .needing(&[Needed { name: "GITHUB_TOKEN", from: "https://github.com/settings/tokens" }]),
    known(
        "gitlab",
        Start::Npx("@modelcontextprotocol/server-gitlab"),
        "Issues, merge requests and code on GitLab.",
    )
    .needing(&[Needed { name: "GITLAB_PERSONAL_ACCESS_TOKEN", from: "your GitLab user settings" }]),
    known("google-maps", Start::Npx("@modelcontextprotocol/server-google-maps"), "Places and routes.")
        .needing(&[Needed { name: "GOOGLE_MAPS_API_KEY", from: "https://console.cloud.google.com" }]),
    known("memory", Start::Npx("@modelcontextprotocol/server-memory"), "A knowledge graph that stays."),
    known("notion", Start::Npx("@notionhq/notion-mcp-server"), "Pages and databases in Notion.")
        .needing(&[Needed { name: "NOTION_TOKEN", from: "https://www.notion.so/profile/integrations" }]),
    known("playwright", Start::Npx("@playwright/mcp@latest"), "Drive a browser."),
    known(
        "postgres",
        Start::Npx("@modelcontextprotocol/server-postgres"),
        "Read-only queries in PostgreSQL.",
    )
    .with("postgresql://HOST/DATABASE"),
    known(
        "puppeteer",
        Start::Npx("@modelcontextprotocol/server-puppeteer"),
        "Drive a browser with Puppeteer.",
    ),
    known("sentry", Start::Url("https://mcp.sentry.dev/mcp"), "Errors and issues in Sentry."),
    known(
        "sequential-thinking",
        Start::Npx("@modelcontextprotocol/server-sequential-thinking"),
        "Think in numbered steps.",
    ),
    known("slack", Start::Npx("@modelcontextprotocol/server-slack"), "Channels and messages in Slack.")
        .needing(&[
            Needed { name: "SLACK_BOT_TOKEN", from: "https://api.slack.com/apps" },
            Needed { name: "SLACK_TEAM_ID", from: "the address of your workspace" },
        ]),
    known("sqlite", Start::Uvx("mcp-server-sqlite"), "Queries in a SQLite file.").with("--db-path FILE"),
    known("time", Start::Uvx("mcp-server-time"), "The time, and time zones."),
];

/// The well-known server of that name.
pub fn find(name: &str) -> Option<&'static WellKnown> {
    CATALOGUE.iter().find(|server| server.name == name)
}

/// The name that was probably meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    crate::problem::nearest(name, CATALOGUE.iter().map(|server| server.name))
}
