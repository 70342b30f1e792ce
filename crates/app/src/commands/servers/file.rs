//! The file that `servers add` and `servers remove` change.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toolgate_config::{Overrides, Problem, Request};

use crate::cli::ConfigArgs;
use crate::failure::Failure;
use crate::startup::files;

/// Our own file and its text; the file need not exist yet.
pub(super) fn editable(args: &ConfigArgs) -> Result<(PathBuf, String), Failure> {
    let path = match files::paths(args).as_slice() {
        [] => PathBuf::from("toolgate.yaml"),
        [path] => path.clone(),
        _ => return Err(Failure::invalid("name one file: which of several shall be changed is not clear")),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::failed(format!("{} cannot be read: {error}", path.display()))),
    };
    let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    // OwlClaw's file is YAML too, but has no place for servers.
    let foreign = text.lines().any(|line| line.starts_with("mcp_server:"));
    if yaml && !foreign {
        return Ok((path, text));
    }
    let shown = path.display();
    Err(Failure::invalid(format!("{shown} is not a native YAML file, and only those are changed"))
        .help(format!("`toolgate import --from {shown}` makes one of it; --config names another")))
}

/// Replaces a file, unless the new text has problems that the old one does not have.
pub(super) fn replace_if_sound(path: &Path, text: &str) -> Result<(), Failure> {
    let before = if path.exists() { problems(path) } else { Vec::new() };
    let is_new = |problem: &Problem| {
        !before.iter().any(|known| (&known.path, &known.what) == (&problem.path, &problem.what))
    };
    replace_after(path, text, |written| {
        let lines: Vec<String> = problems(written)
            .into_iter()
            .filter(is_new)
            // The place in the new text is the one people will look at.
            .map(|problem| Problem { file: Some(path.to_path_buf()), ..problem }.to_string())
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(Failure::invalid(format!("nothing was added\n{}", lines.join("\n"))))
    })
}

/// Puts new text in place of a file at once, so that nobody reads half of it. A new file is for its owner only: it may
/// come to hold secrets.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    replace_after(path, text, |_| Ok(()))
}

/// Replaces a file after a look at the one that will take its place, in the same folder.
fn replace_after(
    path: &Path,
    text: &str,
    look: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // What a link leads to is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let failed = |error: io::Error| Failure::failed(format!("{} cannot be written: {error}", path.display()));
    let replaced =
        write_new(&temporary, text).map_err(failed).and_then(|()| look(&temporary)).and_then(|()| {
            if let Ok(metadata) = fs::metadata(&target) {
                fs::set_permissions(&temporary, metadata.permissions()).map_err(failed)?;
            }
            fs::rename(&temporary, &target).map_err(failed)
        });
    replaced.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

fn problems(path: &Path) -> Vec<Problem> {
    let paths = vec![path.to_path_buf()];
    let request =
        Request { paths, overrides: Overrides::default(), strict: false, environment: &files::variable };
    toolgate_config::load(&request).problems
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
