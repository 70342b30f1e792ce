//! The four cells: a legacy or modern client before a legacy or modern server, over stdio and over HTTP.

use harness::{Client, Era, Gateway, Upstream};
use serde_json::{Value, json};

/// How the server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Stdio,
    Http,
}

/// One cell: a gateway before a server that is called `s`.
pub(crate) struct Cell {
    pub(crate) gateway: Gateway,
    pub(crate) client: Client,
    pub(crate) name: String,
    // Last, so that the gateway goes first.
    upstream: Option<Upstream>,
}

impl Cell {
    pub(crate) fn open(client: Era, server: Era, wire: Wire) -> Cell {
        let (gateway, upstream) = match wire {
            Wire::Stdio => (Gateway::before("s", scripted(&[server.word()])), None),
            Wire::Http => {
                let upstream = Upstream::start(server, &[]);
                (Gateway::before("s", upstream.url()), Some(upstream))
            }
        };
        let name = format!("{client:?} client, {server:?} server, {wire:?}");
        Cell { client: Client::new(&gateway, client), gateway, name, upstream }
    }

    /// What the server has seen.
    pub(crate) fn seen(&self) -> Vec<Value> {
        match &self.upstream {
            Some(upstream) => upstream.script().seen(),
            None => {
                let seen = Client::legacy(&self.gateway).call("s__seen", &json!({}));
                seen.result()["structuredContent"]["seen"].as_array().unwrap().clone()
            }
        }
    }
}

/// Plays a scene in all cells.
pub(crate) fn in_every_cell(scene: impl Fn(&Cell)) {
    for wire in [Wire::Stdio, Wire::Http] {
        for server in Era::BOTH {
            for client in Era::BOTH {
                scene(&Cell::open(client, server, wire));
            }
        }
    }
}

/// The command line of a scripted server on stdio.
pub(crate) fn scripted(words: &[&str]) -> String {
    format!("{} {}", env!("CARGO_BIN_EXE_scripted_server"), words.join(" "))
}
