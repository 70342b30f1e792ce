//! What comes in from outside: its licences, its sources, and what must not come in at all, as `deny.toml` says.
//!
//! `cargo deny` does this and more, but takes longer to build than everything here. What it alone can do is to ask for
//! known vulnerabilities.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Every crate of every build, with what it says of its licence.
const TREE: [&str; 10] = [
    "tree",
    "--workspace",
    "--all-features",
    "--locked",
    "--target=all",
    "--edges=normal,build,dev",
    "--prefix=none",
    "--format={p}|{l}",
    "--quiet",
    "--no-dedupe",
];

/// What `deny.toml` says.
#[derive(Debug, Default)]
struct Rules {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
}

/// Checks all crates and prints every breach.
pub(crate) fn run(root: &Path) -> ExitCode {
    let breaches = breaches(root).unwrap_or_else(|problem| vec![problem]);
    for breach in &breaches {
        eprintln!("{breach}");
    }
    println!("{} breaches of deny.toml", breaches.len());
    if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn breaches(root: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(root.join("deny.toml"))
        .map_err(|error| format!("cannot read deny.toml: {error}"))?;
    let rules = Rules::read(&text);
    if rules.licences.is_empty() {
        return Err("deny.toml allows no licence".to_owned());
    }
    let tree = Command::new("cargo").args(TREE).current_dir(root).output();
    let tree = tree.map_err(|error| format!("cannot run cargo: {error}"))?;
    if !tree.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&tree.stderr)));
    }
    let crates = String::from_utf8_lossy(&tree.stdout);
    let crates: BTreeSet<&str> = crates.lines().filter(|line| !line.is_empty()).collect();
    Ok(crates.into_iter().filter_map(|line| rules.breach(line)).collect())
}

impl Rules {
    /// Reads the lists that count here. The file is ours and is written in one way: an entry a line.
    fn read(text: &str) -> Rules {
        let mut rules = Rules::default();
        let (mut section, mut list) = ("", "");
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name;
            } else if let Some((key, "[")) = line.split_once(" = ") {
                list = key;
            } else if line == "]" {
                list = "";
            } else if let Some(quoted) = line.split('"').nth(1) {
                match (section, list) {
                    ("licenses", "allow") => drop(rules.licences.insert(quoted.to_owned())),
                    ("bans", "deny") => drop(rules.banned.insert(quoted.to_owned())),
                    _ => {}
                }
            }
        }
        rules
    }

    /// What is wrong with a crate, written as `name v1.0.0 (source)|licence`.
    fn breach(&self, line: &str) -> Option<String> {
        let (package, licence) = line.split_once('|')?;
        let name = package.split(' ').next().unwrap_or_default();
        if self.banned.contains(name) {
            return Some(format!("{package}: it must not be used, see deny.toml"));
        }
        // Nothing is said of the public registry; our own crates are named with their folder.
        let source = package.split_once('(').map_or("", |(_, source)| source.trim_end_matches(')'));
        if source.contains("://") || source.starts_with("registry") {
            return Some(format!("{package}: it does not come from crates.io"));
        }
        let is_ours = source.starts_with('/');
        let is_allowed = is_ours || self.allows(licence);
        (!is_allowed).then(|| format!("{package}: its licence '{licence}' is not in deny.toml"))
    }

    /// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be met. `OR` binds less than `AND`.
    fn allows(&self, expression: &str) -> bool {
        // An old way to write `OR`.
        let expression = expression.replace('/', " OR ");
        let expression = expression.trim();
        if let Some(parts) = split(expression, " OR ") {
            return parts.iter().any(|part| self.allows(part));
        }
        if let Some(parts) = split(expression, " AND ") {
            return parts.iter().all(|part| self.allows(part));
        }
        match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
            Some(inner) => self.allows(inner),
            None => self.licences.contains(expression),
        }
    }
}

/// The parts between an operator that stands outside of all parentheses; nothing where it does not occur.
fn split<'a>(expression: &'a str, operator: &str) -> Option<Vec<&'a str>> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && expression[at..].starts_with(operator) => {
                parts.push(&expression[begin..at]);
                begin = at + operator.len();
            }
            _ => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(&expression[begin..]);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = r#"
[licenses]
allow = [
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "MIT",
  "Unicode-3.0",
]
confidence-threshold = 0.9

[bans]
multiple-versions = "warn"
deny = [
  { name = "openssl", reason = "rustls is the TLS library" },
]
"#;

    #[test]
    fn every_crate_is_judged() {
        let rules = Rules::read(DENY);
        assert_eq!((rules.licences.len(), rules.banned.len()), (4, 1));
        let check = |line: &str, expected: Option<&str>| {
            let breach = rules.breach(line);
            let fits = match (&breach, expected) {
                (Some(breach), Some(expected)) => breach.contains(expected),
                (breach, expected) => breach.is_none() && expected.is_none(),
            };
            assert!(fits, "{line}: {breach:?}");
        };
        check("a v1.0.0|MIT", None);
        check("a v1.0.0 (proc-macro)|MIT/Apache-2.0", None);
        check("a v1.0.0|Apache-2.0 WITH LLVM-exception OR GPL-3.0", None);
        check("a v1.0.0|(MIT OR GPL-3.0) AND Unicode-3.0", None);
        check("a v1.0.0|(MIT OR Apache-2.0) AND GPL-3.0", Some("licence"));
        check("a v1.0.0|GPL-3.0", Some("licence"));
        check("a v1.0.0|", Some("licence"));
        check("a v1.0.0 (proc-macro)|GPL-3.0", Some("licence"));
        check("ours v0.1.0 (/folder/ours)|", None);
        check("openssl v0.10.0|Apache-2.0", Some("must not"));
        check("a v1.0.0 (https://github.com/a/a#1234)|MIT", Some("crates.io"));
        check("a v1.0.0 (registry `other`)|MIT", Some("crates.io"));
    }
}
