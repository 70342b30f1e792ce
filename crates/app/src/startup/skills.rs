//! The skills of a configuration: a server in this process, and a task that keeps it as the folders are.

mod folder_watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use toolgate_bindings::Courier;
use toolgate_client::{InProcess, ServerSpec};
use toolgate_config::SkillsConfig;
use toolgate_gateway::{Desired, Gateway};
use toolgate_protocol::Era;
use toolgate_skills::{Library, Limits, Refused, SkillsServer, scan};

use super::bindings::ToolsOfSkills;
use folder_watch::FolderWatch;

/// Changes that follow each other within this time are one change.
const QUIET: Duration = Duration::from_millis(100);
/// A change is looked at after this time even if others keep coming.
const AT_LATEST: Duration = Duration::from_secs(1);
/// How long anything may take; all is in memory.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer; a file is longer in JSON than it is on the disk.
const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// Begins to serve the skills of a configuration, if it has any: the server that the gateway shall have, which stays as it
/// is until the gateway stops, and the tools that they declare, whose requests the courier sends.
pub(super) fn begin(
    gateway: &Arc<Gateway>,
    config: &SkillsConfig,
    courier: &Courier,
) -> Option<(Desired, Arc<ToolsOfSkills>)> {
    let folders = config.folders();
    if folders.is_empty() {
        return None;
    }
    let limits = limits(config);
    let library = scan(&folders, &limits, None);
    tracing::info!(skills = library.skills().len(), files = library.files().len(), "skills were read");
    warn(library.refused(), &[]);
    // What is watched is told at once when it changes; what is not may be as old as the time between two looks.
    let time_to_live = if config.watch { Duration::ZERO } else { config.cache_ttl };
    let server = Arc::new(SkillsServer::new(library, time_to_live));
    let tools = Arc::new(ToolsOfSkills::new(Arc::clone(&server), courier.clone()));
    let shelf = Shelf { server: Arc::clone(&server), tools: Arc::clone(&tools), folders, limits };
    gateway.tracker.spawn(shelf.keep(Arc::clone(gateway), config.clone()));
    let desired = Desired::from(ServerSpec {
        era: Some(Era::Modern),
        call_timeout: CALL_TIMEOUT,
        max_message_bytes: MAX_MESSAGE,
        ..ServerSpec::in_process(&config.name, InProcess::new(server))
    });
    Some((desired, tools))
}

/// How much is read.
pub(super) fn limits(config: &SkillsConfig) -> Limits {
    Limits {
        skills: config.max_skills,
        file_bytes: config.max_file_bytes as u64,
        total_bytes: config.max_total_bytes as u64,
        ..Limits::default()
    }
}

/// What is served, and where it comes from.
struct Shelf {
    server: Arc<SkillsServer>,
    /// The tools they declare.
    tools: Arc<ToolsOfSkills>,
    folders: Vec<PathBuf>,
    limits: Limits,
}

impl Shelf {
    /// Reads the folders again whenever they change, until the gateway stops.
    async fn keep(self, gateway: Arc<Gateway>, config: SkillsConfig) {
        let woken = Arc::new(Notify::new());
        let mut watch = config.watch.then(|| FolderWatch::over(&self.folders, &woken)).flatten();
        let limits = Arc::new(self.limits);
        let folders = Arc::new(self.folders);
        loop {
            tokio::select! {
                () = gateway.stopping.cancelled() => return,
                () = change(&woken, watch.is_some(), config.cache_ttl) => {}
            }
            // First, so that what is written while they are read is noticed.
            watch = watch.and_then(FolderWatch::follow);
            let before = self.server.library();
            let (folders, limits) = (Arc::clone(&folders), Arc::clone(&limits));
            let known = Arc::clone(&before);
            // Many files, perhaps: not on the threads that serve.
            let read = tokio::task::spawn_blocking(move || scan(&folders, &limits, Some(&known))).await;
            match read {
                Ok(library) => {
                    put_out(&self.server, library, &before);
                    self.tools.follow();
                }
                Err(error) => tracing::error!(%error, "the skills could not be read again"),
            }
        }
    }
}

fn put_out(server: &SkillsServer, library: Library, before: &Library) {
    warn(library.refused(), before.refused());
    let difference = server.replace(library);
    if !difference.is_empty() {
        let (added, changed, removed) = (&difference.added, &difference.changed, &difference.removed);
        tracing::info!(?added, ?changed, ?removed, "skills have changed");
    }
}

/// Says what was left out, as far as it was not said before.
fn warn(refused: &[Refused], before: &[Refused]) {
    for one in refused.iter().filter(|one| !before.contains(one)) {
        tracing::warn!(path = %one.path.display(), why = %one.why, "in the skills folder");
    }
}

/// Waits until something has changed and nothing more changes at the moment, or until it is time to look again.
async fn change(woken: &Notify, is_watched: bool, look_every: Duration) {
    if !is_watched {
        return sleep(look_every).await;
    }
    if timeout(look_every, woken.notified()).await.is_err() {
        return;
    }
    let latest = Instant::now() + AT_LATEST;
    while Instant::now() < latest && timeout(QUIET, woken.notified()).await.is_ok() {}
}
