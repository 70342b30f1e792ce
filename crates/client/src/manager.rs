//! All servers of a configuration, connected at once, each on its own: one that fails takes nothing from the others.
//!
//! Every server has a task that follows its news and fetches its lists when it is ready or says that they changed. The
//! tools are merged into a new [`ToolRegistry`], which takes the place of the old one; an agent that holds an old one can
//! go on with it.

mod board;
mod documents;
mod follow;
mod lists;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use toolgate_config::diff::{self, Difference};
use toolgate_config::discover::{self, Search};
use toolgate_config::{Config, Homes, Loaded, Overrides, Problem, Request};

use crate::child::nursery::Nursery;
use crate::server::Server;
use crate::spec::ServerSpec;
use crate::status::State;
use crate::tool_registry::{Offer, ToolFigures, ToolRegistry};
use board::Board;

pub use documents::{NotGiven, Prompt, Resource};
pub use record::server_spec;

/// How many pieces of news of one server may wait.
const NEWS: usize = 64;

/// What a manager shall do.
#[derive(Clone, Debug)]
pub struct ManagerSettings {
    /// Files or folders, in any known format; a later one wins over an earlier one.
    pub paths: Vec<PathBuf>,
    /// Names that the agent's own tools have. A server's tool of such a name is left out with a warning.
    pub reserved: BTreeSet<String>,
    /// A longer result is cut.
    pub max_result_chars: usize,
    /// How long servers may take to connect before the agent goes on without them, and to stop.
    pub patience: Duration,
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            reserved: BTreeSet::new(),
            max_result_chars: 5_000,
            patience: Duration::from_secs(30),
        }
    }
}

impl ManagerSettings {
    /// With the configuration that is found: by variable, argument, workspace and home directory, in that order. None
    /// found is no failure.
    pub fn found(argument: Option<&Path>, workspace: &Path) -> Self {
        Self::found_with(argument, workspace, &|name| std::env::var(name).ok())
    }

    fn found_with(
        argument: Option<&Path>,
        workspace: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let argument = argument.map(Path::to_path_buf);
        let search = Search { argument, workspace: workspace.to_path_buf(), environment };
        Self { paths: discover::find(&search).into_iter().collect(), ..Self::default() }
    }
}

/// How a server is.
#[derive(Clone, Debug)]
pub struct ServerHealth {
    pub name: Arc<str>,
    pub state: State,
    /// Why it is in this state, where it is not simply ready.
    pub cause: Option<String>,
    /// How many of its tools there are for the agent.
    pub tools: usize,
}

/// All servers of a configuration.
#[derive(Debug)]
pub struct Manager {
    settings: ManagerSettings,
    board: Arc<Board>,
    /// Made when the configuration is first read, and kept.
    nursery: OnceLock<Nursery>,
    current: Mutex<Current>,
}

/// What is in effect.
#[derive(Debug, Default)]
struct Current {
    config: Config,
    homes: Homes,
    members: BTreeMap<String, Member>,
}

#[derive(Debug)]
struct Member {
    spec: ServerSpec,
    server: Server,
    following: JoinHandle<()>,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Manager {
    /// Loads the configuration and connects all servers in parallel; returns when each is ready or has failed. A
    /// configuration that is not valid is logged, and gives a manager without servers.
    pub async fn connect(settings: ManagerSettings) -> Manager {
        let manager = Manager::without_servers(settings);
        if let Err(problems) = manager.reload().await {
            for problem in problems {
                tracing::error!(%problem, "the configuration is not valid, so there are no servers");
            }
        }
        manager
    }

    /// Of each tool that has been called, how often, how often in vain, and how long it took.
    pub fn figures(&self) -> BTreeMap<String, ToolFigures> {
        self.board.figures()
    }

    /// The tools as they are now. Ask again to see changes.
    pub fn registry(&self) -> Arc<ToolRegistry> {
        self.board.registry()
    }

    /// Loads the configuration again. Only servers whose record changed are started anew, beside the old ones, which answer
    /// until the new ones can and then finish what they have. Where anything is wrong, nothing changes. In formats in which a
    /// bad entry costs only itself, a server whose entry cannot be read any more stays as it was; [`Difference::kept`]
    /// names it and says why.
    pub async fn reload(&self) -> Result<Difference, Vec<Problem>> {
        // Held while files are read, so that of two reloads at once none undoes what the other has read later.
        let mut current = self.current.lock().await;
        let mut loaded = load(&self.settings.paths);
        if !loaded.problems.is_empty() {
            return Err(loaded.problems);
        }
        for warning in &loaded.warnings {
            tracing::warn!(%warning, "configuration");
        }
        let kept = current.homes.keep_unreadable(&current.config, &mut loaded);
        for (server, problem) in &kept {
            tracing::error!(
                server,
                problem,
                "what is written of the server cannot be read; it stays as it was"
            );
        }
        current.homes.follow(&loaded, &kept);
        let difference = Difference { kept, ..diff::difference(&current.config, &loaded.config) };
        self.board.trust_for(loaded.config.runtime.tools_cache_ttl);
        self.replace_members(&mut current, self.wanted(&loaded.config));
        current.config = loaded.config;
        drop(current);
        self.board.settled(self.settings.patience).await;
        Ok(difference)
    }

    /// How each server is.
    pub async fn health(&self) -> Vec<ServerHealth> {
        let current = self.current.lock().await;
        let members = current.members.values().map(|member| {
            let status = member.server.status();
            let name = Arc::clone(member.server.name());
            let tools = self.board.tools_of(&name);
            ServerHealth { name, state: status.state, cause: status.cause, tools }
        });
        members.collect()
    }

    /// Stops all servers: calls under way get the time that the settings say.
    pub async fn shutdown(self) {
        self.current.lock().await.members.clear();
        self.board.close(self.settings.patience).await;
    }

    fn without_servers(settings: ManagerSettings) -> Manager {
        let board = Arc::new(Board::new(settings.reserved.clone(), settings.max_result_chars));
        Manager { settings, board, nursery: OnceLock::new(), current: Mutex::default() }
    }

    /// The servers of a configuration that are switched on, and what each offers.
    fn wanted(&self, config: &Config) -> Vec<(ServerSpec, Offer)> {
        let runtime = &config.runtime;
        let nursery =
            self.nursery.get_or_init(|| Nursery::new(runtime.max_children, runtime.max_cold_starts));
        let enabled = config.servers.iter().filter(|(_, record)| record.enabled);
        enabled
            .filter_map(|(name, record)| {
                Some((server_spec(name, record, runtime, nursery)?, Offer::of(record)))
            })
            .collect()
    }

    /// Makes the members those that are wanted.
    fn replace_members(&self, current: &mut Current, wanted: Vec<(ServerSpec, Offer)>) {
        let mut before = std::mem::take(&mut current.members);
        for (spec, offer) in wanted {
            let name = spec.name.to_string();
            let member = match before.remove(&name) {
                Some(member) if member.spec == spec => {
                    self.board.offer(&name, offer);
                    member
                }
                _ => self.begin(spec, offer),
            };
            current.members.insert(name, member);
        }
        self.board.keep_only(current.members.keys());
    }

    fn begin(&self, spec: ServerSpec, offer: Offer) -> Member {
        let (sender, news) = mpsc::channel(NEWS);
        // What it lists must be learned once; until then it cannot sleep.
        let server = Server::start(ServerSpec { on_demand: false, ..spec.clone() }, sender);
        let generation = self.board.expect(&server, offer);
        let board = Arc::clone(&self.board);
        let following = tokio::spawn(follow::follow(server.clone(), generation, news, board));
        Member { spec, server, following }
    }
}

fn load(paths: &[PathBuf]) -> Loaded {
    toolgate_config::load(&Request {
        paths: paths.to_vec(),
        overrides: Overrides::default(),
        strict: false,
        environment: &|name| std::env::var(name).ok(),
    })
}

#[cfg(test)]
mod tests;
