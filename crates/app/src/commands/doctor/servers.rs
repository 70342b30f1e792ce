//! Whether every server answers.

use serde_json::Value;
use toolgate_config::Loaded;

use super::Finding;
use crate::connection::{Connection, Purpose};
use crate::failure::Failure;

/// Asks the running gateway, or connects to every server from here.
pub(super) async fn check(loaded: &Loaded, running: Option<Value>) -> Result<Vec<Finding>, Failure> {
    let status = match running {
        Some(status) => status,
        None if loaded.config.servers.is_empty() => return Ok(Vec::new()),
        None => {
            let mut connection = Connection::own(loaded, Purpose::Look)?;
            let status = connection.status().await;
            connection.close().await;
            status?
        }
    };
    let mut findings: Vec<Finding> =
        status.get("servers").and_then(Value::as_array).into_iter().flatten().map(finding).collect();
    if let Some(problem) = status.get("reload_problem").and_then(Value::as_str) {
        let what = format!("the last reload changed nothing: {problem}");
        findings.push(Finding::problem("gateway", what, "put the file right; it is read again by itself"));
    }
    let waiting: Vec<&str> = status
        .get("needs_restart")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !waiting.is_empty() {
        let what = format!("settings that have changed since it started: {}", waiting.join(", "));
        findings.push(Finding::warning("gateway", what, "restart it to put them into effect"));
    }
    Ok(findings)
}

fn finding(server: &Value) -> Finding {
    let text = |key: &str| server.get(key).and_then(Value::as_str).unwrap_or_default();
    let subject = format!("server {}", text("name"));
    let state = text("state");
    match state {
        "ready" => {
            let tools = server.get("tools").and_then(Value::as_u64).unwrap_or(0);
            Finding::ok(subject, format!("answers, {tools} tools"))
        }
        "asleep" => Finding::ok(subject, "starts with its first call"),
        "connecting" => Finding::warning(subject, "still starting", "look again in a moment"),
        _ => Finding::problem(subject, format!("{state}: {}", text("cause")), remedy(text("cause"))),
    }
}

/// What to do, as far as the cause tells.
fn remedy(cause: &str) -> &'static str {
    let cause = cause.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| cause.contains(word));
    if has(&["401", "403", "unauthorized", "forbidden"]) {
        "its token is missing or wrong: check headers or auth_ref"
    } else if has(&["refused", "unreachable", "timed out", "dns", "resolve"]) {
        "check its url, and whether it runs there"
    } else if has(&["no module named"]) {
        "install what is missing in the Python that runs it"
    } else if has(&["no such file", "not found"]) {
        "check its command and arguments"
    } else {
        "start it by hand with the same command and look at what it says"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::doctor::Severity;

    #[test]
    fn states_become_findings() {
        let check = |state: &str, cause: &str, severity, help: &str| {
            let finding = finding(&json!({"name": "a", "state": state, "cause": cause, "tools": 2}));
            assert_eq!((finding.severity, finding.help.as_str()), (severity, help), "{state} {cause}");
        };
        check("ready", "", Severity::Ok, "");
        check("asleep", "", Severity::Ok, "");
        check("connecting", "", Severity::Warning, "look again in a moment");
        check(
            "down",
            "Connection refused (os error 111)",
            Severity::Problem,
            "check its url, and whether it runs there",
        );
        check(
            "down",
            "HTTP 401",
            Severity::Problem,
            "its token is missing or wrong: check headers or auth_ref",
        );
        check(
            "down",
            "No module named toolgate",
            Severity::Problem,
            "install what is missing in the Python that runs it",
        );
        check("down", "No such file or directory", Severity::Problem, "check its command and arguments");
    }
}
