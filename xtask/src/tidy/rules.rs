//! The single rules. Each is a function from a path and its text to what is wrong, so that it can be tested without files.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A name says what is inside; these say only that nobody knew.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff", "mod"];

const LONGEST_FILE: usize = 400;
const SOURCE_EXTENSIONS: [&str; 10] = ["rs", "mjs", "js", "ts", "tsx", "css", "py", "sh", "md", "proto"];
const GENERATED: &str = "@generated";

/// Where only a developer's machine has anything. Written in pieces, so that this file does not contain them.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "wt"),
    concat!("/tmp/", "target"),
    concat!("/home/", "runner"),
];

/// A file or folder whose name says nothing.
pub(crate) fn refused_name(path: &Path) -> Option<String> {
    let says_nothing = |part: &OsStr| {
        Path::new(part)
            .file_stem()
            .is_some_and(|stem| EMPTY_NAMES.iter().any(|name| stem.eq_ignore_ascii_case(name)))
    };
    path.iter()
        .any(says_nothing)
        .then(|| format!("{}: choose a name that says what is inside", path.display()))
}

/// A source file that is too long to read in one go.
pub(crate) fn too_long(path: &Path, text: &str) -> Option<String> {
    let is_source =
        path.extension().is_some_and(|extension| SOURCE_EXTENSIONS.iter().any(|known| extension == *known));
    let is_generated = text.lines().take(5).any(|line| line.contains(GENERATED));
    let lines = text.lines().count();
    (is_source && !is_generated && lines > LONGEST_FILE)
        .then(|| format!("{}: {lines} lines, split it ({LONGEST_FILE} are allowed)", path.display()))
}

/// Lines that name a place on a developer's machine.
pub(crate) fn machine_paths(path: &Path, text: &str) -> Vec<String> {
    let begins_there = |line: &str, place: &str| {
        line.match_indices(place).any(|(at, _)| {
            let before = line.get(..at).and_then(|head| head.chars().next_back());
            !before.is_some_and(|letter| letter.is_alphanumeric() || "._-}".contains(letter))
        })
    };
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let place = MACHINE_PATHS.iter().find(|place| begins_there(line, place))?;
            Some(format!("{}:{}: names {place}, which other machines do not have", path.display(), index + 1))
        })
        .collect()
}

/// Links of a Markdown file to files that are not there. `exists` is asked with paths relative to the root.
pub(crate) fn dead_links(path: &Path, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut dead = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let file = target.split('#').next().unwrap_or_default();
            let is_elsewhere = file.contains("://") || file.starts_with("mailto:");
            if !file.is_empty() && !is_elsewhere && !exists(&normal(&folder.join(file))) {
                dead.push(format!(
                    "{}:{}: link to {target}, which does not exist",
                    path.display(),
                    index + 1
                ));
            }
        }
    }
    dead
}

/// Crates that the code map does not mention.
pub(crate) fn missing_from_map(files: &[PathBuf], map: &str) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.starts_with("crates") && file.ends_with("Cargo.toml"))
        .filter_map(|file| file.parent())
        .filter(|package| !map.contains(&format!("`{}`", package.display())))
        .map(|package| format!("ARCHITECTURE.md: the code map says nothing about `{}`", package.display()))
        .collect()
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_say_something() {
        let check = |path: &str, refused: bool| {
            assert_eq!(refused_name(Path::new(path)).is_some(), refused, "{path}")
        };
        check("crates/gateway/src/router.rs", false);
        check("crates/gateway/src/mod.rs", true);
        check("crates/gateway/src/utils/text.rs", true);
        check("tests/Helpers.mjs", true);
        check("docs/common-errors.md", false);
        check("docs/common.md", true);
    }

    #[test]
    fn only_written_source_has_a_longest_length() {
        let check = |path: &str, lines: usize, head: &str, refused: bool| {
            let text = format!("{head}\n{}", "line\n".repeat(lines - 1));
            assert_eq!(too_long(Path::new(path), &text).is_some(), refused, "{path} {lines} {head}");
        };
        check("a.rs", 400, "", false);
        check("a.rs", 401, "", true);
        check("a.rs", 401, "// @generated by a tool", false);
        check("Cargo.lock", 4000, "", false);
        check("package-lock.json", 4000, "", false);
    }

    #[test]
    fn paths_of_one_machine_are_refused() {
        let check = |line: &str, refused: bool| {
            assert_eq!(!machine_paths(Path::new("a"), line).is_empty(), refused, "{line}");
        };
        check(concat!("cd /wo", "rk/main"), true);
        check(concat!("see `/ro", "ot/.cargo`"), true);
        check(concat!("some/netwo", "rk/thing"), false);
        check(concat!("src/wo", "rk/queue.rs"), false);
        check("the root / of it", false);
    }

    #[test]
    fn links_must_lead_somewhere() {
        let exists = |path: &Path| path == Path::new("docs/guide.md");
        let check = |from: &str, text: &str, dead: usize| {
            assert_eq!(dead_links(Path::new(from), text, exists).len(), dead, "{text}");
        };
        check("README.md", "[a](docs/guide.md) and [b](docs/guide.md#part)", 0);
        check("docs/other.md", "[a](guide.md), [b](../docs/guide.md), [c](#here)", 0);
        check("README.md", "[a](https://example.com/x) [b](mailto:a@example.com)", 0);
        check("README.md", "[a](guide.md) [b](docs/none.md \"title\")", 2);
        check("README.md", "```\n[a](nothing)\n```\n[b](nothing)", 1);
    }

    #[test]
    fn the_code_map_names_every_crate() {
        let files = ["crates/client/Cargo.toml", "crates/config/Cargo.toml", "crates/client/src/lib.rs"]
            .map(PathBuf::from);
        assert_eq!(missing_from_map(&files, "- `crates/client`: … and crates/config").len(), 1);
        assert!(missing_from_map(&files, "- `crates/client`\n- `crates/config`").is_empty());
    }
}
