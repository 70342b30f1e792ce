//! The port, and the permissions of what others must not read.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use toolgate_config::{Config, ListenTransport};

use super::Finding;
use crate::startup::files;

/// The port and the files. `running` is the status of the gateway that runs with this configuration.
pub(super) fn check(config: &Config, running: Option<&Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(status) = running {
        let text = |key: &str| status.get(key).map(Value::to_string).unwrap_or_default();
        findings.push(Finding::ok("gateway", format!("running as process {}", text("pid"))));
    }
    findings.extend(port(config, running));
    findings.extend(state_dir(config));
    let secrets = [&config.callers.keys_file, &config.admin.token_file];
    findings.extend(secrets.into_iter().flatten().filter_map(|path| secret_file(path.as_path())));
    findings
}

fn port(config: &Config, running: Option<&Value>) -> Option<Finding> {
    if config.listen.transport != ListenTransport::Http {
        return None;
    }
    let address = format!("{}:{}", config.listen.host, config.listen.port);
    let subject = format!("port {address}");
    Some(match TcpListener::bind(&address) {
        Ok(_) => Finding::ok(subject, "free"),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match running {
            Some(status) if listens_on(status, config.listen.port) => {
                Finding::ok(subject, "used by the running gateway")
            }
            _ => Finding::problem(
                subject,
                "used by another program",
                "end it, or choose another with listen.port",
            ),
        },
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Finding::problem(subject, error.to_string(), "choose a port from 1024 on with listen.port")
        }
        Err(error) => Finding::problem(subject, error.to_string(), "put listen.host right"),
    })
}

fn listens_on(status: &Value, port: u16) -> bool {
    status.get("listening").and_then(Value::as_str).is_some_and(|url| url.contains(&format!(":{port}/")))
}

fn state_dir(config: &Config) -> Vec<Finding> {
    let subject = "state folder";
    let Some(folder) = files::state_dir(config) else {
        let help = "set state_dir, or the variable HOME";
        return vec![Finding::warning(subject, "there is no place for it, so nothing is remembered", help)];
    };
    let shown = folder.display();
    let metadata = match fs::metadata(&folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return vec![Finding::ok(subject, format!("{shown} will be made at the first start"))];
        }
        Err(error) => {
            return vec![Finding::problem(subject, format!("{shown}: {error}"), "make it readable")];
        }
    };
    if !metadata.is_dir() {
        return vec![Finding::problem(
            subject,
            format!("{shown} is not a folder"),
            "move it away, or set state_dir",
        )];
    }
    let mut findings = Vec::new();
    if metadata.permissions().mode() & 0o077 != 0 {
        let what = format!("{shown} is open to other users");
        findings.push(Finding::problem(subject, what, format!("chmod 700 {shown}")));
    }
    if metadata.permissions().readonly() {
        findings.push(Finding::problem(
            subject,
            format!("{shown} is read-only"),
            format!("chmod 700 {shown}"),
        ));
    }
    findings.extend(secret_file(&folder.join("session.key")));
    if findings.is_empty() {
        findings.push(Finding::ok(subject, shown.to_string()));
    }
    findings
}

/// A file that only its owner may read. One that is not there is not looked at: what needs it says so.
fn secret_file(path: &Path) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let shown = path.display();
    (mode & 0o077 != 0).then(|| {
        Finding::problem(format!("file {shown}"), "other users can read it", format!("chmod 600 {shown}"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::commands::doctor::Severity;

    #[test]
    fn a_port_that_is_taken_is_a_problem() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = Config::default();
        config.listen.transport = ListenTransport::Http;
        config.listen.port = taken.local_addr().unwrap().port();
        let severity = |running: Option<&Value>| port(&config, running).unwrap().severity;
        assert_eq!(severity(None), Severity::Problem);
        let ours = serde_json::json!({"listening": format!("http://127.0.0.1:{}/mcp", config.listen.port)});
        assert_eq!(severity(Some(&ours)), Severity::Ok);
        drop(taken);
        assert_eq!(severity(None), Severity::Ok);
    }

    #[test]
    fn what_others_can_read_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { state_dir: Some(folder.path().to_path_buf()), ..Config::default() };
        let key = folder.path().join("session.key");
        fs::write(&key, "").unwrap();
        let check = |folder_mode, key_mode, expected: &[&str]| {
            fs::set_permissions(folder.path(), Permissions::from_mode(folder_mode)).unwrap();
            fs::set_permissions(&key, Permissions::from_mode(key_mode)).unwrap();
            let helps: Vec<String> = state_dir(&config).into_iter().map(|finding| finding.help).collect();
            let expected: Vec<String> = expected
                .iter()
                .map(|text| {
                    text.replace("KEY", &key.display().to_string())
                        .replace("DIR", &folder.path().display().to_string())
                })
                .collect();
            assert_eq!(helps, expected);
        };
        check(0o700, 0o600, &[""]);
        check(0o755, 0o600, &["chmod 700 DIR"]);
        check(0o700, 0o644, &["chmod 600 KEY"]);
    }
}
