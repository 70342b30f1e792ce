//! Tools bound to HTTP: servers in this process for those of skills and for each OpenAPI document.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use tokio::time::sleep;
use toolgate_bindings::egress::HostPattern;
use toolgate_bindings::openapi::{self, Naming, Settings};
use toolgate_bindings::request::Request;
use toolgate_bindings::tool::Tools;
use toolgate_bindings::{BindingsServer, Courier, Egress, frontmatter};
use toolgate_client::{InProcess, ServerSpec, Transport};
use toolgate_config::{Config, EgressConfig, OpenApiConfig, OperationNaming, Secret};
use toolgate_gateway::{Desired, Gateway};
use toolgate_governance::Pattern;
use toolgate_protocol::Era;
use toolgate_skills::Library;
use url::Url;

use super::files;

/// How long the gate waits for a call; each tool has a time of its own, which is shorter.
const CALL_TIMEOUT: Duration = Duration::from_secs(610);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How many calls there may be at a time, and how many may wait.
const CALLS: usize = 64;
const WAITING: usize = 1024;
/// How long a result may be beyond the answer it is made of: JSON inside of JSON takes more room.
const ROOM_FOR_QUOTES: usize = 8;
/// How long a document may take to come, and the pauses between attempts to get it.
const DOCUMENT_PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The tools that skills declare: a server, and what makes tools of a library.
#[derive(Debug)]
pub(crate) struct BoundSkills {
    server: Arc<BindingsServer>,
    secrets: Vec<String>,
}

impl BoundSkills {
    /// Begins to serve the tools of these skills. Nothing where there are none and nothing could be asked anyway.
    pub(crate) fn begin(config: &Config, library: &Library) -> Option<(BoundSkills, Desired)> {
        let courier = Courier::new(egress(&config.egress));
        let secrets = config.bindings.secrets.clone();
        let tools = declared(library, &secrets);
        if tools.is_empty() && courier.egress().is_closed() {
            return None;
        }
        let desired_bytes = courier.egress().max_answer_bytes;
        let server = Arc::new(BindingsServer::new(tools, courier));
        let desired = desired(&config.bindings.name, &server, desired_bytes);
        Some((BoundSkills { server, secrets }, desired))
    }

    /// Serves the tools of another library from now on.
    pub(crate) fn follow(&self, library: &Library) {
        if self.server.replace(declared(library, &self.secrets)) {
            tracing::info!(tools = self.server.tools().len(), "the tools of skills have changed");
        }
    }
}

/// Begins to serve the OpenAPI documents of a configuration.
pub(crate) fn openapi(gateway: &Arc<Gateway>, config: &Config) -> Vec<Desired> {
    let documents = config.bindings.openapi.iter();
    let begun = documents.map(|(name, document)| {
        let courier = Courier::new(egress(&config.egress));
        let max_bytes = courier.egress().max_answer_bytes;
        let server = Arc::new(BindingsServer::new(Tools::default(), courier.clone()));
        match (&document.file, &document.url) {
            (Some(file), _) => serve_file(&server, name, document, file),
            (None, Some(url)) => {
                let task =
                    serve_url(Arc::clone(&server), courier, name.clone(), document.clone(), url.clone());
                let stopping = gateway.stopping.clone();
                gateway.tracker.spawn(async move { stopping.run_until_cancelled(task).await });
            }
            (None, None) => {}
        }
        desired(name, &server, max_bytes)
    });
    begun.collect()
}

fn serve_file(server: &BindingsServer, name: &str, config: &OpenApiConfig, file: &Path) {
    match toolgate_config::read_document(file) {
        Ok(document) => put_out(server, name, &document, &settings(config, None)),
        Err(problem) => tracing::error!(server = name, %problem, "the OpenAPI document cannot be read"),
    }
}

/// Fetches a document until it comes, with growing pauses.
async fn serve_url(
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
            tracing::info!(server = name, tools = built.tools.len(), "an OpenAPI document was read");
            server.replace(built.tools);
        }
        Err(error) => tracing::error!(server = name, %error, "the OpenAPI document cannot be used"),
    }
}

fn settings(config: &OpenApiConfig, document_url: Option<Url>) -> Settings {
    // An empty pattern would fit nothing, so it is left out.
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

/// The tools of all skills. Of two with the same name, that of the first skill is served.
fn declared(library: &Library, secrets: &[String]) -> Tools {
    let variable = |name: &str| {
        let allowed = secrets.iter().any(|secret| secret == name);
        allowed.then(|| files::variable(name)).flatten()
    };
    let mut tools = Tools::default();
    for skill in library.skills().filter(|skill| skill.flaw.is_none()) {
        let (good, bad) = frontmatter::tools(&skill.frontmatter, skill.uri(), &variable);
        for tool in good {
            let name = tool.name.clone();
            if !tools.add(tool) {
                tracing::warn!(
                    skill = skill.uri(),
                    tool = name,
                    "another skill has a tool of this name; it is left out"
                );
            }
        }
        for why in bad {
            tracing::warn!(skill = skill.uri(), %why, "in the frontmatter of a skill");
        }
    }
    tools
}

fn egress(config: &EgressConfig) -> Egress {
    let patterns = |texts: &[String]| {
        let read = texts.iter().map(|text| HostPattern::parse(text));
        // What cannot be read allows nothing.
        read.filter_map(|pattern| {
            pattern.inspect_err(|error| tracing::error!(%error, "in the section egress")).ok()
        })
        .collect()
    };
    Egress {
        allow: patterns(&config.allow),
        private: patterns(&config.private),
        redirects: config.redirects,
        max_answer_bytes: config.max_answer_bytes,
    }
}

fn desired(name: &str, server: &Arc<BindingsServer>, max_answer_bytes: usize) -> Desired {
    let server: Arc<BindingsServer> = Arc::clone(server);
    Desired {
        spec: ServerSpec {
            name: name.into(),
            transport: Transport::InProcess(InProcess::new(server)),
            era: Some(Era::Modern),
            on_demand: false,
            idle_stop: None,
            call_timeout: CALL_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            max_concurrency: CALLS,
            max_waiting: WAITING,
            max_message_bytes: max_answer_bytes.saturating_mul(ROOM_FOR_QUOTES),
            processes: 1,
        },
        isolated: false,
        max_output_bytes: None,
        keeps_long_output: false,
        tool_timeouts: Vec::new(),
        trusts_prices: false,
        files: None,
    }
}
