//! Whether the Python that runs handlers has what workers need.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use toolgate_config::{Config, ServerConfig};

use super::Finding;
use super::programs::is_there;

/// How long the import may take; a cold disk can be slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// Every set of handlers whose interpreter is there. That one is missing is said with the other programs.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, server) in config.servers.iter().filter(|(_, server)| server.enabled) {
        let interpreter = server.command.as_deref().filter(|_| server.sources.is_some());
        if let Some(interpreter) = interpreter.filter(|interpreter| is_there(interpreter)) {
            let subject = format!("handlers {name}");
            findings.push(match import(interpreter, server).await {
                Ok(()) => Finding::ok(subject, format!("{interpreter} has the package toolgate")),
                Err(why) => {
                    let what = format!("{interpreter} cannot import toolgate: {why}");
                    Finding::problem(subject, what, remedy(interpreter, server))
                }
            });
        }
    }
    findings
}

/// The package comes with Toolgate's sources. The name alone would install what somebody else may have called so.
fn remedy(interpreter: &str, server: &ServerConfig) -> String {
    let project = server.args.iter().skip_while(|argument| *argument != "--project").nth(1);
    match project.filter(|_| interpreter == "uv") {
        Some(project) => format!("in a checkout of Toolgate: uv add --project {project} ./python"),
        None => {
            format!(
                "in a checkout of Toolgate: {interpreter} -m pip install ./python; or name another Python"
            )
        }
    }
}

/// Imports the worker as it would be started.
async fn import(interpreter: &str, server: &ServerConfig) -> Result<(), String> {
    let before_module = server.args.iter().take_while(|argument| *argument != "-m");
    let mut command = Command::new(interpreter);
    command.args(before_module).args(["-c", "import toolgate.worker"]);
    command.envs(server.env.iter().map(|(name, value)| (name, value.expose())));
    command.stdin(Stdio::null()).kill_on_drop(true);
    if let Some(folder) = &server.cwd {
        command.current_dir(folder);
    }
    let output = timeout(PATIENCE, command.output())
        .await
        .map_err(|_| format!("it took longer than {} s", PATIENCE.as_secs()))?
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("it said nothing").to_owned())
}
