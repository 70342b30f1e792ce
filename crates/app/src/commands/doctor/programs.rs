//! Whether the programs that servers are started with are there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toolgate_config::{Config, Transport};

use super::Finding;

/// Every program that a server needs, looked at once.
pub(super) fn check(config: &Config) -> Vec<Finding> {
    let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, server) in config.servers.iter().filter(|(_, server)| server.enabled) {
        if let (Transport::Stdio, Some(command)) = (server.transport, &server.command) {
            needed.entry(command).or_default().push(name);
        }
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    needed.into_iter().map(|(command, servers)| finding(command, &servers, &search)).collect()
}

fn finding(command: &str, servers: &[&str], search: &OsStr) -> Finding {
    let subject = format!("program {command}");
    match find(command, search) {
        Some(path) => Finding::ok(subject, path.display().to_string()),
        None => {
            let what = format!("not found; needed by {}", servers.join(", "));
            Finding::problem(subject, what, remedy(command))
        }
    }
}

/// Whether a program is there.
pub(super) fn is_there(command: &str) -> bool {
    find(command, &std::env::var_os("PATH").unwrap_or_default()).is_some()
}

/// Where a program is, as a shell would find it.
fn find(command: &str, search: &OsStr) -> Option<PathBuf> {
    let path = Path::new(command);
    if command.contains('/') {
        return is_executable(path).then(|| path.to_path_buf());
    }
    std::env::split_paths(search).map(|folder| folder.join(command)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn remedy(command: &str) -> String {
    let name = Path::new(command).file_name().and_then(OsStr::to_str).unwrap_or(command);
    match name {
        "npx" | "node" | "npm" => "install Node.js: https://nodejs.org/en/download",
        "uvx" | "uv" => "install uv: https://docs.astral.sh/uv/getting-started/installation/",
        "python" => "install Python 3, or write python3 in place of python",
        "python3" | "pip" | "pipx" => "install Python 3: https://www.python.org/downloads/",
        "docker" => "install Docker: https://docs.docker.com/get-started/get-docker/",
        "podman" => "install Podman: https://podman.io/docs/installation",
        "bun" | "bunx" => "install Bun: https://bun.sh",
        "deno" => "install Deno: https://docs.deno.com/runtime/getting_started/installation/",
        _ => "install it, or write its whole path in the configuration; the gateway searches the PATH it was started with",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;
    use crate::commands::doctor::Severity;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("tool", 0o755), ("text", 0o644)] {
            fs::write(folder.path().join(name), "").unwrap();
            fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).unwrap();
        }
        let whole = folder.path().join("tool").display().to_string();
        let check = |command: &str, severity| {
            assert_eq!(finding(command, &["a"], folder.path().as_os_str()).severity, severity, "{command}");
        };
        check("tool", Severity::Ok);
        check(&whole, Severity::Ok);
        check("text", Severity::Problem);
        check("none", Severity::Problem);
    }

    #[test]
    fn every_problem_says_what_to_do() {
        let finding = finding("npx", &["files", "memory"], OsStr::new(""));
        assert_eq!(finding.what, "not found; needed by files, memory");
        assert_eq!(finding.help, "install Node.js: https://nodejs.org/en/download");
    }
}
