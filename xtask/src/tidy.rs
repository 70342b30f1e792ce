//! Rules about the tree that no compiler checks: names, lengths, links, the code map, and no path of a developer's machine.

mod rules;
mod tree;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Checks the whole tree and prints every breach.
pub(crate) fn run(root: &Path) -> ExitCode {
    let breaches = match breaches(root) {
        Ok(breaches) => breaches,
        Err(error) => vec![error],
    };
    for breach in &breaches {
        eprintln!("{breach}");
    }
    println!("{} breaches of the tidy rules", breaches.len());
    if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn breaches(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let files = tree::files(root)?;
    for path in &files {
        found.extend(rules::refused_name(path));
        // What is not text has no lines, links or paths to look at.
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        found.extend(rules::too_long(path, &text));
        found.extend(rules::machine_paths(path, &text));
        if path.extension().is_some_and(|extension| extension == "md") {
            found.extend(rules::dead_links(path, &text, |target| root.join(target).exists()));
        }
    }
    let map = fs::read_to_string(root.join("ARCHITECTURE.md"))
        .map_err(|error| format!("cannot read ARCHITECTURE.md: {error}"))?;
    found.extend(rules::missing_from_map(&files, &map));
    Ok(found)
}
