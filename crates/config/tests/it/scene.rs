//! A scene to load in: files in a folder of its own, and only the variables that are named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolgate_config::{Loaded, Overrides, Request, load};

/// A file among the fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Loads with no variable set.
pub(crate) fn loaded(paths: &[PathBuf]) -> Loaded {
    loaded_with(paths, &[])
}

/// Loads with exactly these variables set.
pub(crate) fn loaded_with(paths: &[PathBuf], variables: &[(&str, &str)]) -> Loaded {
    run(paths, variables, false)
}

/// Loads in strict mode with no variable set.
pub(crate) fn loaded_strictly(paths: &[PathBuf]) -> Loaded {
    run(paths, &[], true)
}

/// Writes one file and loads it.
pub(crate) fn loaded_text(name: &str, text: &str) -> Loaded {
    let folder = folder_with(&[(name, text)]);
    loaded(&[folder.path().join(name)])
}

/// A folder of its own with these files.
pub(crate) fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn run(paths: &[PathBuf], variables: &[(&str, &str)], strict: bool) -> Loaded {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    load(&Request {
        paths: paths.to_vec(),
        overrides: Overrides::default(),
        strict,
        environment: &|name| variables.get(name).map(|value| (*value).to_owned()),
    })
}
