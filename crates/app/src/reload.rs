//! Live change: load all, validate all, then put it into effect, or change nothing and say why.
//!
//! One task owns the configuration that is in effect. It is woken by the files, by SIGHUP and by `toolgate reload`, and
//! loads one time after the other, so that two changes at once cannot overtake each other.

mod watch;

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use toolgate_config::diff::{self, Difference};
use toolgate_config::{Config, Loaded};
use toolgate_gateway::Gateway;

use crate::{logs, startup};
use watch::Watch;

/// How many commands may wait for a reload.
const WAITING: usize = 8;
/// Settings that the gateway reads once, besides those that the difference names itself.
const READ_ONCE: [&str; 4] = ["names", "listen", "runtime.max_sessions", "skills"];

/// Loads the configuration anew, from where it was loaded at the start.
type Load = Arc<dyn Fn() -> Loaded + Send + Sync>;

/// Why a reload changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReloaded {
    #[error("the configuration is not valid, so nothing was changed: {0}")]
    Invalid(String),
    #[error("the gateway is stopping")]
    Stopping,
}

/// Asks for reloads.
#[derive(Debug, Clone)]
pub(crate) struct Reloader {
    requests: mpsc::Sender<oneshot::Sender<Result<Difference, NotReloaded>>>,
}

impl Reloader {
    /// Reloads, and says what changed.
    pub(crate) async fn reload(&self) -> Result<Difference, NotReloaded> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(answer).await.map_err(|_| NotReloaded::Stopping)?;
        answered.await.map_err(|_| NotReloaded::Stopping)?
    }
}

/// Begins to keep a gateway as its configuration wants it. The task ends with the gateway.
pub(crate) fn begin(
    gateway: &Arc<Gateway>,
    loaded: Loaded,
    load: impl Fn() -> Loaded + Send + Sync + 'static,
) -> Reloader {
    let (requests, asked) = mpsc::channel(WAITING);
    let keeper = Keeper {
        gateway: Arc::clone(gateway),
        load: Arc::new(load),
        watch: Watch::over(&loaded.files, loaded.config.runtime.auto_reload),
        current: loaded.config,
    };
    gateway.tracker.spawn(keeper.run(asked));
    Reloader { requests }
}

/// The one that owns the configuration in effect.
struct Keeper {
    gateway: Arc<Gateway>,
    load: Load,
    watch: Watch,
    current: Config,
}

impl Keeper {
    async fn run(mut self, mut asked: mpsc::Receiver<oneshot::Sender<Result<Difference, NotReloaded>>>) {
        let mut hangup = signal(SignalKind::hangup())
            .inspect_err(|error| tracing::warn!(%error, "SIGHUP cannot be heard"))
            .ok();
        let stopping = self.gateway.stopping.clone();
        loop {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let asker = tokio::select! {
                () = stopping.cancelled() => return,
                () = self.watch.changed() => None,
                _ = hung_up => None,
                Some(asker) = asked.recv() => Some(asker),
            };
            let outcome = self.reload().await;
            if let Some(asker) = asker {
                // A command that was ended meanwhile needs no answer.
                let _ = asker.send(outcome);
            }
        }
    }

    async fn reload(&mut self) -> Result<Difference, NotReloaded> {
        let load = Arc::clone(&self.load);
        self.watch.note();
        // Files, and sometimes the keyring: not on the threads that serve.
        let loaded = match tokio::task::spawn_blocking(move || load()).await {
            Ok(loaded) => loaded,
            Err(error) => return Err(self.keep(error.to_string())),
        };
        // What was read is watched even if it was bad, so that putting it right is noticed.
        self.watch.look_at(&loaded.files);
        startup::files::report(&loaded);
        if !loaded.problems.is_empty() {
            let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
            return Err(self.keep(problems.join("; ")));
        }
        let mut difference = diff::difference(&self.current, &loaded.config);
        let (once, at_once) =
            std::mem::take(&mut difference.settings).into_iter().partition(|path| is_read_once(path));
        difference.settings = at_once;
        difference.needs_restart.extend::<Vec<String>>(once);
        if let Err(error) = startup::apply(&self.gateway, &loaded.config) {
            return Err(self.keep(error.to_string()));
        }
        logs::set_level(loaded.config.log.level);
        self.gateway.reload_problem.store(None);
        self.current = loaded.config;
        tell(&difference);
        Ok(difference)
    }

    /// Stays with the configuration in effect, and lets it be known why.
    fn keep(&self, problem: String) -> NotReloaded {
        tracing::error!(problem, "the configuration was not reloaded; nothing was changed");
        self.gateway.reload_problem.store(Some(Arc::new(problem.clone())));
        NotReloaded::Invalid(problem)
    }
}

fn is_read_once(path: &str) -> bool {
    READ_ONCE.iter().any(|setting| {
        path.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn tell(difference: &Difference) {
    if difference.is_empty() {
        tracing::info!("the configuration was read again; nothing has changed");
        return;
    }
    tracing::info!(
        added = ?difference.added,
        removed = ?difference.removed,
        changed = ?difference.changed.keys(),
        settings = ?difference.settings,
        "the configuration was reloaded"
    );
    if !difference.needs_restart.is_empty() {
        tracing::warn!(settings = ?difference.needs_restart, "these settings change with the next start");
    }
}

#[cfg(test)]
mod tests;
