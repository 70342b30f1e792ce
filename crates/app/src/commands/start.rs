//! `toolgate start`: serve until told to stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use toolgate_config::{Config, ListenTransport, Loaded};
use toolgate_gateway::downstream::{http, stdio};
use toolgate_gateway::{Gateway, Principal};

use crate::cli::StartArgs;
use crate::startup::{self, StartError};
use crate::{logs, startup::files};

/// Serves until told to stop.
pub(crate) fn run(args: &StartArgs) -> ExitCode {
    let loaded = files::load(args);
    logs::begin(&loaded.config.log);
    if !files::report(&loaded) {
        return ExitCode::from(2);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the runtime could not be started");
            return ExitCode::FAILURE;
        }
    };
    let served = runtime.block_on(serve(&loaded));
    runtime.shutdown_timeout(Duration::from_millis(100));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "toolgate cannot start");
            ExitCode::FAILURE
        }
    }
}

async fn serve(loaded: &Loaded) -> Result<(), StartError> {
    let config = &loaded.config;
    match config.listen.transport {
        ListenTransport::Http => {
            // The port first: nothing is started for a gateway that cannot be reached.
            let address = format!("{}:{}", config.listen.host, config.listen.port);
            let listener = TcpListener::bind(&address)
                .await
                .map_err(|cause| StartError::Listen { address: address.clone(), cause })?;
            let local = listener.local_addr().map_err(|cause| StartError::Listen { address, cause })?;
            let gateway = startup::start(config)?;
            summary(config, &format!("http://{local}/mcp"));
            let serving = tokio::spawn(http::serve(Arc::clone(&gateway), listener));
            until_told().await;
            stop(&gateway, config).await;
            // Connections that do not end are closed with the process.
            let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
        }
        ListenTransport::Stdio => {
            let gateway = startup::start(config)?;
            summary(config, "stdio");
            let caller = std::env::var("MCP_CLIENT_ID").unwrap_or_else(|_| "stdio-client".into());
            let input = tokio::io::BufReader::new(tokio::io::stdin());
            let principal = Arc::new(Principal::named(&caller));
            tokio::select! {
                () = stdio::serve(Arc::clone(&gateway), input, tokio::io::stdout(), principal) => {}
                () = async {
                    until_told().await;
                    gateway.stopping.cancel();
                    // The conversation ends by itself, after what is under way.
                    tokio::time::sleep(config.runtime.shutdown_grace).await;
                } => {}
            }
            stop(&gateway, config).await;
        }
    }
    Ok(())
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
