//! The Python files behind handlers: where they are, and what tells one version of them from the next.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolgate_config::{Config, LoadedFiles, Sources};

/// Folders below a module that are looked at, and how deep. A project has fewer; more is something else.
const MOST_FOLDERS: usize = 1000;
const DEEPEST: usize = 12;

/// The folders with the files of all handlers that are watched. What the gateway itself writes is not: the journal that is
/// kept beside them changes with every call.
pub(crate) fn folders(config: &Config) -> LoadedFiles {
    let watched = config.servers.values().filter_map(|server| server.sources.as_ref());
    let own = [config.state_dir.as_ref(), config.ledger.dir.as_ref()];
    let is_own = |folder: &PathBuf| own.iter().flatten().any(|own| folder.starts_with(own));
    let watched = watched.filter(|sources| sources.watch).flat_map(folders_of);
    let mut folders: Vec<PathBuf> = watched.filter(|folder| !is_own(folder)).collect();
    folders.sort();
    folders.dedup();
    LoadedFiles { files: Vec::new(), folders }
}

/// A number that is another one when any of the files is; nothing where they are not watched.
pub(super) fn version(sources: &Sources) -> Option<u64> {
    if !sources.watch {
        return None;
    }
    let mut files: Vec<PathBuf> = folders_of(sources)
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    files.sort();
    files.dedup();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let seen = fs::metadata(&file).ok();
        let looks = seen.map(|seen| (seen.mtime(), seen.mtime_nsec(), seen.len(), seen.ino()));
        (file, looks).hash(&mut hasher);
    }
    Some(hasher.finish())
}

fn folders_of(sources: &Sources) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for root in sources.roots() {
        descend(&root, DEEPEST, &mut folders);
    }
    folders
}

fn descend(folder: &Path, depth: usize, folders: &mut Vec<PathBuf>) {
    if folders.len() >= MOST_FOLDERS || folders.iter().any(|known| known == folder) {
        return;
    }
    folders.push(folder.to_path_buf());
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links are not followed, because they may lead back.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && holds_sources(&entry.path()) {
            descend(&entry.path(), depth, folders);
        }
    }
}

/// Whether a folder may hold files that people write: none that tools fill.
fn holds_sources(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_filled_by_tools = name.starts_with('.') || matches!(&*name, "__pycache__" | "node_modules");
    !is_filled_by_tools && !folder.join("pyvenv.cfg").exists()
}

#[cfg(test)]
mod tests {
    use toolgate_config::ServerConfig;

    use super::*;

    #[test]
    fn what_tools_write_beside_the_files_is_no_new_version() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["shop/parts", "shop/__pycache__", "shop/.venv", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let sources =
            Sources { modules: vec!["shop.orders".into()], folder: folder.path().to_path_buf(), watch: true };
        let mut before = version(&sources);
        let mut check = |file: &str, is_new: bool| {
            fs::write(at(file), "x = 1\n").unwrap();
            let now = version(&sources);
            assert_eq!(now != before, is_new, "{file}");
            before = now;
        };
        check("shop/orders.py", true);
        check("shop/parts/more.py", true);
        check("shop/notes.txt", false);
        check("shop/__pycache__/orders.py", false);
        check("shop/.venv/module.py", false);
        check("other/module.py", false);
        assert_eq!(version(&Sources { watch: false, ..sources.clone() }), None);

        fs::create_dir_all(at("shop/state/ledger")).unwrap();
        let server = ServerConfig { sources: Some(sources), ..ServerConfig::default() };
        let servers = [("shop".to_owned(), server)].into();
        let config = Config { servers, state_dir: Some(at("shop/state")), ..Config::default() };
        assert_eq!(folders(&config).folders, [at("shop"), at("shop/parts")]);
    }
}
