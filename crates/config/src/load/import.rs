//! Files of any format as one native tree, references left as they are: what `toolgate import` writes.

use std::path::{Path, PathBuf};

use super::{Request, load, located, read};
use crate::environment::Overrides;
use crate::node::Node;
use crate::problem::Problem;

/// A native tree made from any format.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The tree, for [`crate::write::to_yaml`].
    pub tree: Node,
    /// Files that could not be read; in strict mode, what is otherwise a warning.
    pub problems: Vec<Problem>,
    /// What the native form cannot say, or what was skipped.
    pub warnings: Vec<Problem>,
}

/// Reads files into one native tree that will be written into `folder`.
///
/// What the file of another program may hold and ours may not, is left out: a bad entry costs only itself there, and here
/// it would be the whole file. Whether an entry is bad can depend on variables, so they are looked up.
pub fn import(
    paths: &[PathBuf],
    folder: &Path,
    strict: bool,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Imported {
    let mut gathered = read::gather(paths, strict);
    let request =
        Request { paths: paths.to_vec(), overrides: Overrides::default(), strict: false, environment };
    let skipped = load(&request).skipped.servers;
    for (name, mut problems) in skipped {
        if let Some(servers) = gathered.tree.get_mut("servers") {
            servers.remove(&name);
        }
        gathered.report(&mut problems, strict);
    }
    located::relocate(&mut gathered.tree, folder, &gathered.lenient);
    Imported { tree: gathered.tree, problems: gathered.problems, warnings: gathered.warnings }
}
