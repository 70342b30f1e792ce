//! OpenAPI documents: from a file, which is read with every load of the configuration, or fetched until it comes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolgate_bindings::openapi::{self, Naming, Settings};
use toolgate_bindings::request::Request;
use toolgate_bindings::tool::Tools;
use toolgate_bindings::{BindingsServer, Courier};
use toolgate_config::{OpenApiConfig, OperationNaming, Secret};
use toolgate_gateway::Gateway;
use toolgate_governance::Pattern;
use url::Url;

/// How long a document may take to come, and the pauses between attempts to get it.
const DOCUMENT_PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A document and the server of its tools.
#[derive(Debug)]
pub(super) struct Document {
    server: Arc<BindingsServer>,
    courier: Courier,
    /// Ends the task that fetches it.
    fetching: CancellationToken,
}

impl Document {
    /// One that has no tools before it is served.
    pub(super) fn new(courier: Courier) -> Document {
        let server = Arc::new(BindingsServer::new(Tools::default(), courier.clone()));
        Document { server, courier, fetching: CancellationToken::new() }
    }

    /// What serves its tools.
    pub(super) fn server(&self) -> &Arc<BindingsServer> {
        &self.server
    }

    /// Reads the document, or begins to fetch it. Its tools stay what they are until it is there.
    pub(super) fn serve(&mut self, gateway: &Gateway, name: &str, config: &OpenApiConfig) {
        self.stop();
        match (&config.file, &config.url) {
            (Some(file), _) => match toolgate_config::read_document(file) {
                Ok(document) => put_out(&self.server, name, &document, &settings(config, None)),
                Err(problem) => {
                    tracing::error!(server = name, %problem, "the OpenAPI document cannot be read")
                }
            },
            (None, Some(url)) => {
                self.fetching = gateway.stopping.child_token();
                let fetching = self.fetching.clone();
                let (server, courier) = (Arc::clone(&self.server), self.courier.clone());
                let task = fetch(server, courier, name.to_owned(), config.clone(), url.clone());
                gateway.tracker.spawn(async move { fetching.run_until_cancelled(task).await });
            }
            (None, None) => {}
        }
    }

    /// Fetches it no longer.
    pub(super) fn stop(&self) {
        self.fetching.cancel();
    }
}

/// What a configuration says about a document, as far as it can be read; the rest is refused when it is loaded.
pub(super) fn settings(config: &OpenApiConfig, document_url: Option<Url>) -> Settings {
    let patterns = |texts: &[String]| texts.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
    let header =
        |(name, value): (&String, &Secret)| Some((HeaderName::try_from(name.as_str()).ok()?, value.clone()));
    Settings {
        operations: patterns(&config.operations),
        tags: patterns(&config.tags),
        paths: patterns(&config.paths),
        exclude: patterns(&config.exclude),
        naming: match config.naming {
            OperationNaming::OperationId => Naming::OperationId,
            OperationNaming::MethodPath => Naming::MethodPath,
        },
        base_url: config.base_url.clone(),
        document_url,
        credentials: config.auth.clone(),
        headers: config.headers.iter().filter_map(header).collect(),
        timeout: config.timeout,
        retries: config.retries.min(toolgate_bindings::binding::MOST_RETRIES),
        max_tools: config.max_tools,
    }
}

/// Fetches a document until it comes, with growing pauses.
async fn fetch(
    server: Arc<BindingsServer>,
    courier: Courier,
    name: String,
    config: OpenApiConfig,
    url: String,
) {
    let settings = settings(&config, Url::parse(&url).ok());
    let request = Request { method: Method::GET, url, headers: BTreeMap::new(), body: bytes::Bytes::new() };
    let mut pause = FIRST_PAUSE;
    loop {
        let why = match courier.send(&request, DOCUMENT_PATIENCE, 0).await {
            Ok(fetched) if fetched.status.is_success() => {
                let text = String::from_utf8_lossy(&fetched.body);
                match toolgate_config::parse_document(&text, Path::new("openapi")) {
                    Ok(document) => return put_out(&server, &name, &document, &settings),
                    Err(problem) => problem.to_string(),
                }
            }
            Ok(fetched) => format!("the server answers {}", fetched.status),
            Err(error) => error.to_string(),
        };
        tracing::warn!(server = name, why, "the OpenAPI document did not come; it is asked for again");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn put_out(server: &BindingsServer, name: &str, document: &serde_json::Value, settings: &Settings) {
    match openapi::tools(document, settings) {
        Ok(built) => {
            for (operation, why) in &built.left_out {
                tracing::warn!(server = name, operation, %why, "an operation is left out");
            }
            if server.replace(built.tools) {
                tracing::info!(
                    server = name,
                    tools = server.tools().len(),
                    "the tools of an OpenAPI document have changed"
                );
            }
        }
        Err(error) => tracing::error!(server = name, %error, "the OpenAPI document cannot be used"),
    }
}
