//! `toolgate start`: serve until told to stop.

mod standard_streams;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolgate_admin::Operations;
use toolgate_config::{Config, ListenTransport, Loaded, Overrides};
use toolgate_gateway::downstream::{http, stdio};
use toolgate_gateway::{Gateway, Principal};

use crate::alerts;
use crate::cli::ConfigArgs;
use crate::connection;
use crate::control::{Control, Desk};
use crate::logs;
use crate::reload;
use crate::startup::{self, Running, StartError, files};

const AFTER_HELP: &str = "\
Examples:
  toolgate start                                        one client over stdin and stdout
  toolgate start --transport http --port 8080           many clients on http://127.0.0.1:8080/mcp
  toolgate start --config mcp.json --config extra.yaml  several files; a later one wins
  toolgate start --server time=\"uvx mcp-server-time\"    no file at all

The configuration is read again when its files change, on SIGHUP and by `toolgate reload`.";

/// How long after its client left a gateway on standard input and output may take to end. Clients wait five seconds.
const END: Duration = Duration::from_millis(4500);

/// How to serve.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct StartArgs {
    /// How clients connect: stdio serves the one that started us, http serves many
    #[arg(long, value_enum)]
    transport: Option<TransportArg>,
    /// Address to listen on
    #[arg(long)]
    host: Option<String>,
    /// Port to listen on; 0 takes a free one
    #[arg(long)]
    port: Option<u16>,
    /// Form of the log: json or text
    #[arg(long, value_name = "FORM")]
    log_format: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// How clients connect.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum TransportArg {
    /// One client over standard input and output
    Stdio,
    /// Many clients over HTTP
    Http,
}

impl TransportArg {
    /// The word for it in a configuration.
    pub(super) fn word(self) -> &'static str {
        match self {
            TransportArg::Stdio => "stdio",
            TransportArg::Http => "http",
        }
    }
}

impl StartArgs {
    fn load(&self) -> Loaded {
        let overrides = Overrides {
            transport: self.transport.map(|transport| transport.word().to_owned()),
            host: self.host.clone(),
            port: self.port,
            log_format: self.log_format.clone(),
            ..self.config.overrides()
        };
        files::load(&self.config, overrides)
    }
}

/// Serves until told to stop.
pub(crate) fn run(args: &StartArgs) -> ExitCode {
    let loaded = args.load();
    logs::begin(&loaded.config.log);
    if !files::report(&loaded) {
        return ExitCode::from(2);
    }
    let runtime = match backstage() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the runtime could not be started");
            return ExitCode::FAILURE;
        }
    };
    let served = runtime.block_on(serve(args, loaded));
    runtime.shutdown_timeout(Duration::from_millis(100));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "toolgate cannot start");
            ExitCode::FAILURE
        }
    }
}

/// Where servers, the ledger and operators are looked after. Clients are served by threads of their own.
fn backstage() -> std::io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread().worker_threads(processors.div_ceil(2)).enable_all().build()
}

async fn serve(args: &StartArgs, loaded: Loaded) -> Result<(), StartError> {
    let config = loaded.config.clone();
    match config.listen.transport {
        ListenTransport::Http => {
            // The port first: nothing is started for a gateway that cannot be reached.
            let address = format!("{}:{}", config.listen.host, config.listen.port);
            let listener = TcpListener::bind(&address)
                .await
                .map_err(|cause| StartError::Listen { address: address.clone(), cause })?;
            let local = listener.local_addr().map_err(|cause| StartError::Listen { address, cause })?;
            let tls = config
                .listen
                .tls
                .as_ref()
                .map(startup::tls::acceptor)
                .transpose()
                .map_err(StartError::Tls)?;
            let scheme = if tls.is_some() { "https" } else { "http" };
            let listening = format!("{scheme}://{local}/mcp");
            let running = startup::start(&config, files::state_dir(&config))?;
            let gateway = Arc::clone(&running.gateway);
            attend(&gateway, &config).await?;
            let control = look_after(running, args, loaded, &listening);
            summary(&config, &listening);
            let lanes = http::lanes(&gateway, tls).map_err(StartError::Threads)?;
            let serving = tokio::spawn(http::serve(Arc::clone(&gateway), listener, lanes));
            until_told().await;
            drop(control);
            stop(&gateway, &config).await;
            // Connections that do not end are closed with the process.
            let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
        }
        ListenTransport::Stdio => {
            let running = startup::start(&config, files::state_dir(&config))?;
            let gateway = Arc::clone(&running.gateway);
            attend(&gateway, &config).await?;
            let control = look_after(running, args, loaded, "stdio");
            summary(&config, "stdio");
            let mut conversation = converse(Arc::clone(&gateway), Arc::new(on_stdio(&config)))?;
            let ended = tokio::select! {
                ended = &mut conversation => ended,
                () = until_told() => {
                    gateway.stopping.cancel();
                    // The conversation ends by itself: after what is under way, which it gives up when that takes long.
                    conversation.await
                }
            };
            drop(control);
            let ended = ended.unwrap_or_else(|_| Instant::now());
            // Servers that take longer to leave are killed by their guards when this process ends.
            if tokio::time::timeout_at(ended + END, stop(&gateway, &config)).await.is_err() {
                tracing::warn!("some servers did not end in time and are killed");
            }
        }
    }
    Ok(())
}

/// Serves the client on standard input and output, on a thread with a runtime of its own: as with connections over HTTP, a
/// call is then received, sent to its server and answered without waking another thread.
fn converse(gateway: Arc<Gateway>, principal: Arc<Principal>) -> Result<JoinHandle<Instant>, StartError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(StartError::Threads)?;
    Ok(tokio::task::spawn_blocking(move || {
        let ended = runtime.block_on(async {
            let input = tokio::io::BufReader::new(standard_streams::input());
            // A task like those of its requests, so that all take turns.
            let serving = stdio::serve(gateway, input, standard_streams::output(), principal);
            tokio::spawn(serving).await.unwrap_or_else(|_| Instant::now())
        });
        // A thread that waits for a terminal would wait for ever.
        runtime.shutdown_background();
        ended
    }))
}

/// Begins to serve operators and to tell them when something is wrong.
async fn attend(gateway: &Arc<Gateway>, config: &Config) -> Result<(), StartError> {
    alerts::begin(gateway, config);
    startup::admin::open(gateway, config).await
}

/// Begins to follow changes of the configuration and to answer our own commands.
fn look_after(running: Running, args: &StartArgs, loaded: Loaded, listening: &str) -> Option<Control> {
    let gateway = Arc::clone(&running.gateway);
    let state_dir = files::state_dir(&loaded.config);
    let mut anew = args.clone();
    // What was found at the start counts: a file that vanishes for a moment must not make us find another, or none.
    anew.config.config = files::paths(&args.config);
    let sources = connection::absolute(&anew.config.config);
    let reloader = reload::begin(running, loaded, move || anew.load());
    let state_dir = state_dir?;
    let desk = Desk {
        operations: Operations::new(&gateway),
        gateway,
        reloader,
        listening: listening.to_owned(),
        sources,
    };
    match Control::listen(&state_dir, desk) {
        Ok(Some(control)) => Some(control),
        Ok(None) => {
            tracing::info!(
                state_dir = %state_dir.display(),
                "another gateway uses this state folder; commands will ask that one"
            );
            None
        }
        Err(error) => {
            tracing::warn!(%error, state_dir = %state_dir.display(), "commands cannot ask this gateway");
            None
        }
    }
}

/// The caller on standard input: the name it claims, in the groups that the configuration knows of that name. Whoever
/// started us may as well change the configuration, so the name needs no proof.
fn on_stdio(config: &Config) -> Principal {
    let claimed = std::env::var("MCP_CLIENT_ID").ok();
    let caller = toolgate_identity::Caller::on_stdio(claimed.as_deref());
    let known = config.callers.known.get(&*caller.id);
    let groups = known.into_iter().flat_map(|known| &known.groups).map(|group| group.as_str().into());
    Principal::new(caller.id, groups.collect())
}

fn summary(config: &Config, listening: &str) {
    let servers: Vec<&str> = config.servers.keys().map(String::as_str).collect();
    tracing::info!(
        listening,
        servers = servers.len(),
        names = ?servers,
        version = env!("CARGO_PKG_VERSION"),
        "ready"
    );
}

async fn stop(gateway: &Gateway, config: &Config) {
    tracing::info!("stopping: requests under way may finish");
    gateway.stop(config.runtime.shutdown_grace.min(Duration::from_secs(4))).await;
}

async fn until_told() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::warn!("signals cannot be heard");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
