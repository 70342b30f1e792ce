//! Under which names clients see the tools and prompts of many servers.
//!
//! The difficulty: a name must be short, made of few characters and different from every other one, and it must stay
//! the same whichever servers are up, because models and policies remember it. So a name is made from the server's and
//! the tool's own name alone wherever that is unambiguous, a short digest of both is added where it is not, and the
//! way back is a table, never string surgery.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::digest::{Digest, letters};

/// The longest name that is given, in characters. Plain names stay as their servers made them.
const MAX_NAME: usize = 64;

/// How names are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// `server__tool`.
    #[default]
    Prefixed,
    /// The server's own name; where two servers use it, the first one keeps it and the others are prefixed.
    Plain,
    /// `mcp_server_tool`, with `-` in the server's name as `_`.
    Mcp,
}

/// The name that was given to one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: Arc<str>,
    /// Whether another entry has the name that this one would have had.
    pub(super) clashed: bool,
}

/// A name before it is known whether another entry wants it too.
struct Wanted {
    name: String,
    /// Whether it says the server's and the tool's name in full. Such a name goes before one that was cleaned.
    exact: bool,
}

/// Names all entries. `servers` are all configured servers in their order, up or not, and `namespaces` what stands for each
/// in names; `entries` are pairs of a place in `servers` and the server's own name, without repetition. All names are
/// different from each other.
pub(super) fn give(
    naming: Naming,
    servers: &[&str],
    namespaces: &[&str],
    entries: &[(usize, &str)],
) -> Vec<Given> {
    let prefixes = Prefixes::of(namespaces);
    let mut table = Table::new(servers, entries);
    match naming {
        Naming::Prefixed => table.settle(|server, tool| prefixes.joined(server, tool)),
        Naming::Mcp => table.settle(|server, tool| mcp(namespaces.get(server).unwrap_or(&""), tool)),
        Naming::Plain => {
            table.settle_exact(|_, tool| Wanted { name: tool.to_owned(), exact: true });
            table.settle(|server, tool| prefixes.joined(server, tool));
        }
    }
    table.finish()
}

/// The names given so far.
struct Table<'a> {
    servers: &'a [&'a str],
    entries: &'a [(usize, &'a str)],
    given: Vec<Option<Arc<str>>>,
    clashed: Vec<bool>,
    taken: HashSet<Arc<str>>,
}

impl<'a> Table<'a> {
    fn new(servers: &'a [&'a str], entries: &'a [(usize, &'a str)]) -> Table<'a> {
        let taken = HashSet::with_capacity(entries.len());
        Table {
            servers,
            entries,
            given: vec![None; entries.len()],
            clashed: vec![false; entries.len()],
            taken,
        }
    }

    /// Gives every entry without a name one: exact names first, then cleaned ones that only one entry wants, at last
    /// names with a digest.
    fn settle(&mut self, wish: impl Fn(usize, &str) -> Wanted) {
        let wanted = self.settle_exact(wish);
        let mut wanting: HashMap<&str, usize> = HashMap::new();
        for (_, name) in &wanted {
            *wanting.entry(name).or_default() += 1;
        }
        let mut rest = Vec::new();
        for (place, name) in &wanted {
            let alone = wanting.get(name.as_str()) == Some(&1) && name.len() <= MAX_NAME;
            if !(alone && self.claim(*place, name)) {
                rest.push((*place, name));
            }
        }
        for (place, name) in rest {
            self.clashed[place] |= name.len() <= MAX_NAME;
            self.claim_with_digest(place, name);
        }
    }

    /// Gives exact names to the first entry that wants them and tells which entries are left, with what they want.
    fn settle_exact(&mut self, wish: impl Fn(usize, &str) -> Wanted) -> Vec<(usize, String)> {
        let mut left = Vec::new();
        for (place, (server, tool)) in self.entries.iter().enumerate() {
            if self.given[place].is_some() {
                continue;
            }
            let wanted = wish(*server, tool);
            if !(wanted.exact && self.claim(place, &wanted.name)) {
                self.clashed[place] |= wanted.exact;
                left.push((place, wanted.name));
            }
        }
        left
    }

    fn claim(&mut self, place: usize, name: &str) -> bool {
        if self.taken.contains(name) {
            return false;
        }
        let name: Arc<str> = Arc::from(name);
        self.taken.insert(name.clone());
        self.given[place] = Some(name);
        true
    }

    /// A digest may meet a name that a server made to look like it; then the next digest is tried.
    fn claim_with_digest(&mut self, place: usize, name: &str) {
        let (server, tool) = self.entries[place];
        let server = self.servers.get(server).copied().unwrap_or_default();
        let mut attempt: u64 = 0;
        loop {
            let digest = Digest::new("name").part(server.as_bytes()).part(tool.as_bytes());
            let suffix = letters(digest.part(&attempt.to_be_bytes()).short());
            let kept = name.get(..name.len().min(MAX_NAME - suffix.len() - 1)).unwrap_or_default();
            if self.claim(place, &format!("{kept}_{suffix}")) {
                return;
            }
            attempt += 1;
        }
    }

    fn finish(self) -> Vec<Given> {
        let given = self.given.into_iter().zip(self.clashed);
        given.filter_map(|(name, clashed)| Some(Given { name: name?, clashed })).collect()
    }
}

/// What stands before `__` for each server.
///
/// No prefix has `__` in it or `_` at its end, so the first `__` of a name always ends the prefix: `a` with `b__c` and
/// `a__b` with `c` cannot meet, whether or not both servers are up.
struct Prefixes(Vec<(String, bool)>);

impl Prefixes {
    fn of(servers: &[&str]) -> Prefixes {
        let cleaned: Vec<(String, bool)> = servers.iter().map(|server| clean_prefix(server)).collect();
        let unclear = |place: usize| {
            let (prefix, exact) = &cleaned[place];
            !exact && cleaned.iter().enumerate().any(|(other, (same, _))| other != place && same == prefix)
        };
        let prefix = |place: usize, server: &str| {
            if !unclear(place) {
                return cleaned[place].clone();
            }
            let suffix = letters(Digest::new("server").part(server.as_bytes()).short());
            (format!("{}-{suffix}", cleaned[place].0), false)
        };
        Prefixes(servers.iter().enumerate().map(|(place, server)| prefix(place, server)).collect())
    }

    fn joined(&self, server: usize, tool: &str) -> Wanted {
        let (prefix, prefix_exact) =
            self.0.get(server).map_or(("", false), |(prefix, exact)| (prefix, *exact));
        let cleaned = clean(tool);
        let exact = prefix_exact && cleaned == tool;
        let name = format!("{prefix}__{cleaned}");
        Wanted { exact: exact && name.len() <= MAX_NAME, name }
    }
}

fn mcp(server: &str, tool: &str) -> Wanted {
    let server = server.replace('-', "_");
    let (prefix, cleaned) = (clean(&server), clean(tool));
    let exact = prefix == server && cleaned == tool;
    let name = format!("mcp_{prefix}_{cleaned}");
    Wanted { exact: exact && name.len() <= MAX_NAME, name }
}

/// The server's name as a prefix, and whether nothing had to be changed.
fn clean_prefix(server: &str) -> (String, bool) {
    let mut prefix = String::with_capacity(server.len());
    for letter in clean(server).chars() {
        if letter != '_' || !prefix.ends_with('_') {
            prefix.push(letter);
        }
    }
    let kept = prefix.trim_end_matches('_').len();
    prefix.truncate(kept);
    if prefix.is_empty() {
        prefix.push_str("server");
    }
    let exact = prefix == server;
    (prefix, exact)
}

/// Every character that not all clients take becomes `_`.
fn clean(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests;
