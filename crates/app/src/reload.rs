//! Live change: load all, validate all, then put it into effect, or change nothing and say why.
//!
//! One task owns the configuration that is in effect. It is woken by the files, by SIGHUP and by `toolgate reload`, and
//! loads one time after the other, so that two changes at once cannot overtake each other.

mod folder_id;
mod watch;

pub(crate) use folder_id::FolderId;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use toolgate_config::diff::{self, Difference};
use toolgate_config::{Config, Homes, Loaded, ServerConfig};
use toolgate_gateway::Gateway;

use crate::startup::{Running, python_files};
use crate::{logs, startup};
use watch::Watch;

/// How many commands may wait for a reload.
const WAITING: usize = 8;

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

/// What changed.
type Outcome = Result<Difference, NotReloaded>;

/// Asks for reloads.
#[derive(Debug, Clone)]
pub(crate) struct Reloader {
    wishes: mpsc::Sender<Wish>,
}

/// Somebody who waits for a reload.
#[derive(Debug)]
struct Wish {
    /// Only what would change is wanted.
    dry_run: bool,
    answer: oneshot::Sender<Outcome>,
}

impl Reloader {
    /// Reloads and says what changed, or only says what would change.
    pub(crate) async fn reload(&self, dry_run: bool) -> Outcome {
        let (answer, answered) = oneshot::channel();
        self.wishes.send(Wish { dry_run, answer }).await.map_err(|_| NotReloaded::Stopping)?;
        answered.await.map_err(|_| NotReloaded::Stopping)?
    }
}

/// Begins to keep a gateway as its configuration wants it. The task ends with the gateway.
pub(crate) fn begin(
    running: Running,
    loaded: Loaded,
    load: impl Fn() -> Loaded + Send + Sync + 'static,
) -> Reloader {
    let (wishes, wished) = mpsc::channel(WAITING);
    let tracker = running.gateway.tracker.clone();
    put_on_report(&running.gateway, &loaded);
    let keeper = Keeper {
        running,
        load: Arc::new(load),
        // A file is often written just before a gateway is started with it; that is no change.
        watch: Watch::over(&loaded.files, None, "", loaded.config.runtime.auto_reload),
        python: watch_handlers(&loaded.config),
        homes: Homes::of(&loaded),
        started_with: loaded.config.clone(),
        current: loaded.config,
    };
    tracker.spawn(keeper.run(wished));
    Reloader { wishes }
}

/// The one that owns the configuration in effect.
struct Keeper {
    running: Running,
    load: Load,
    watch: Watch,
    /// The files of handlers.
    python: Watch,
    /// What was read at the start, and with it all that needs a restart to change.
    started_with: Config,
    current: Config,
    /// The files in which the servers in effect were written.
    homes: Homes,
}

/// A configuration that was read, and what of the one in effect it has taken over.
struct Anew {
    loaded: Loaded,
    /// Servers that stay as they are, because what is written of them now cannot be read, and why.
    kept: BTreeMap<String, String>,
}

impl Keeper {
    async fn run(mut self, mut wished: mpsc::Receiver<Wish>) {
        let mut hangup = signal(SignalKind::hangup())
            .inspect_err(|error| tracing::warn!(%error, "SIGHUP cannot be heard"))
            .ok();
        let stopping = self.running.gateway.stopping.clone();
        loop {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let wish = tokio::select! {
                () = stopping.cancelled() => return,
                () = self.python.changed() => {
                    self.renew_handlers();
                    continue;
                }
                () = self.watch.changed() => None,
                _ = hung_up => None,
                Some(wish) = wished.recv() => Some(wish),
            };
            match wish {
                None => drop(self.reload().await),
                // A command that was ended meanwhile needs no answer.
                Some(Wish { dry_run: false, answer }) => drop(answer.send(self.reload().await)),
                Some(Wish { dry_run: true, answer }) => {
                    let outcome = self.load().await.and_then(|anew| self.compared(&anew));
                    drop(answer.send(outcome));
                }
            }
        }
    }

    async fn reload(&mut self) -> Outcome {
        self.watch.note();
        let outcome = self.load().await.and_then(|anew| self.put_into_effect(anew));
        match &outcome {
            Ok(difference) => {
                self.running.gateway.reload_problem.store(problem_of(difference).map(Arc::new));
                self.running.gateway.needs_restart.store(Arc::new(difference.needs_restart.clone()));
                tell(difference);
            }
            Err(error) => {
                tracing::error!(problem = %error, "the configuration was not reloaded");
                self.running.gateway.reload_problem.store(Some(Arc::new(error.to_string())));
            }
        }
        outcome
    }

    async fn load(&self) -> Result<Anew, NotReloaded> {
        let load = Arc::clone(&self.load);
        // Files, and sometimes the keyring: not on the threads that serve.
        let loaded = tokio::task::spawn_blocking(move || load()).await;
        let mut loaded = loaded.map_err(|error| NotReloaded::Invalid(error.to_string()))?;
        let kept = self.homes.keep_unreadable(&self.current, &mut loaded);
        Ok(Anew { loaded, kept })
    }

    /// What a configuration changes; an error where it is not valid.
    fn compared(&self, anew: &Anew) -> Outcome {
        let Anew { loaded, kept } = anew;
        if !loaded.problems.is_empty() {
            let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
            return Err(NotReloaded::Invalid(problems.join("; ")));
        }
        let mut difference = diff::difference(&self.current, &loaded.config);
        // What waits for a restart is said again with every reload, until it is undone.
        difference.needs_restart = diff::difference(&self.started_with, &loaded.config).needs_restart;
        difference.kept.clone_from(kept);
        Ok(difference)
    }

    fn put_into_effect(&mut self, anew: Anew) -> Outcome {
        // What was read is watched even if it was bad, so that putting it right is noticed.
        self.watch.look_at(&anew.loaded.files, anew.loaded.began);
        startup::files::report(&anew.loaded);
        let difference = self.compared(&anew)?;
        let Anew { loaded, kept } = anew;
        self.python = watch_handlers(&loaded.config);
        startup::apply(&mut self.running, &loaded.config)
            .map_err(|error| NotReloaded::Invalid(error.to_string()))?;
        logs::set_level(loaded.config.log.level);
        put_on_report(&self.running.gateway, &loaded);
        self.homes.follow(&loaded, &kept);
        self.current = loaded.config;
        Ok(difference)
    }

    /// Starts handlers anew whose files have changed. What answered before goes on until they do, too.
    fn renew_handlers(&mut self) {
        tracing::info!("files of handlers have changed");
        // Before they are looked at, so that what is written meanwhile counts as the next change.
        self.python = watch_handlers(&self.current);
        startup::apply_servers(&self.running, &self.current);
    }
}

/// Tells the gateway what it reports of the configuration and does not act on.
fn put_on_report(gateway: &Gateway, loaded: &Loaded) {
    gateway.disabled.store(Arc::new(loaded.disabled.clone()));
    let shown = |(name, server): (&String, &ServerConfig)| Some((name.clone(), server.display_name.clone()?));
    gateway.display_names.store(Arc::new(loaded.config.servers.iter().filter_map(shown).collect()));
}

/// Watches the files of handlers, where there are any.
fn watch_handlers(config: &Config) -> Watch {
    let folders = python_files::folders(config);
    Watch::over(&folders, None, ".py", !folders.folders.is_empty())
}

/// What is wrong although a reload changed what it could.
fn problem_of(difference: &Difference) -> Option<String> {
    let kept: Vec<String> =
        difference.kept.iter().map(|(name, why)| format!("server {name} stays as it was: {why}")).collect();
    (!kept.is_empty()).then(|| kept.join("; "))
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
    for (server, problem) in &difference.kept {
        tracing::error!(
            server,
            problem,
            "the server stays as it was, because what is written of it cannot be read"
        );
    }
    if !difference.needs_restart.is_empty() {
        tracing::warn!(
            settings = ?difference.needs_restart,
            "these settings differ from those at the start and change with the next one"
        );
    }
}

#[cfg(test)]
mod tests;
