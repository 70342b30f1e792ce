//! The things that rules are about, as a request names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::Action;

/// The kinds of things a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something to call.
    Tool,
    /// Something to read, named by its address.
    Resource,
    /// A prepared text to get.
    Prompt,
}

/// One thing of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// What kind of thing it is.
    pub kind: Kind,
    /// The server it belongs to.
    pub server: &'a str,
    /// Its name (or address) as the server gives it.
    pub name: &'a str,
    /// The name under which clients know it; only requests that narrow their own view look at this one.
    pub exposed: &'a str,
}

impl Kind {
    /// The action that uses a thing of this kind.
    pub fn action(self) -> Action {
        match self {
            Kind::Tool => Action::Call,
            Kind::Resource => Action::Read,
            Kind::Prompt => Action::Get,
        }
    }

    /// The word for it in sentences.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Resource => "resource",
            Kind::Prompt => "prompt",
        }
    }
}

impl<'a> Subject<'a> {
    /// A tool that clients know by the name its server gives it.
    pub fn tool(server: &'a str, name: &'a str) -> Subject<'a> {
        Subject { kind: Kind::Tool, server, name, exposed: name }
    }

    /// A resource, by its address.
    pub fn resource(server: &'a str, address: &'a str) -> Subject<'a> {
        Subject { kind: Kind::Resource, server, name: address, exposed: address }
    }

    /// A prompt that clients know by the name its server gives it.
    pub fn prompt(server: &'a str, name: &'a str) -> Subject<'a> {
        Subject { kind: Kind::Prompt, server, name, exposed: name }
    }

    /// The same thing under the name that clients know.
    #[must_use]
    pub fn exposed_as(self, exposed: &'a str) -> Subject<'a> {
        Subject { exposed, ..self }
    }
}
