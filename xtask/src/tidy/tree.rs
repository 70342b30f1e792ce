//! The files of the repository, without what builds and installations put there.

use std::fs;
use std::path::{Path, PathBuf};

const NOT_OURS: [&str; 10] = [
    ".git",
    "target",
    "node_modules",
    "__pycache__",
    "corpus",
    "artifacts",
    "results",
    "dist",
    ".pytest_cache",
    ".hypothesis",
];

/// All files below `root`, as paths relative to it, in a fixed order.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let cannot_list = |error| format!("cannot list {}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(cannot_list)? {
            let entry = entry.map_err(cannot_list)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let kind = entry.file_type().map_err(cannot_list)?;
            if kind.is_dir() && !NOT_OURS.contains(&name.as_ref()) && !name.starts_with(".venv") {
                folders.push(entry.path());
            } else if kind.is_file() && name != ".git" {
                found.extend(entry.path().strip_prefix(root).map(Path::to_owned));
            }
        }
    }
    found.sort();
    Ok(found)
}
