//! OpenAPI 3.0 and 3.1 documents as tools: one for each operation that is chosen.
//!
//! Documents are long, wrong in places, and written by others. So every operation stands for itself: one that cannot be
//! offered is left out with its reason, and the others are tools. References lead within the document only.

mod body;
mod naming;
mod parameters;
mod references;
mod schema;
mod security;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderName, Method};
use serde_json::{Map, Value, json};
use toolgate_config::Secret;
use toolgate_governance::Pattern;
use url::Url;

use crate::binding::{Binding, defaults_of};
use crate::template::BadTemplate;
use crate::tool::{BadSchema, Effects, Tool, Tools, check_schema};
use crate::url_template::{BadUrl, UrlTemplate};
pub use naming::Naming;
use references::Document;

/// The methods of a path that become tools.
const METHODS: [(&str, Method); 5] = [
    ("get", Method::GET),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("patch", Method::PATCH),
    ("delete", Method::DELETE),
];
/// How long a description may be, in characters.
const MAX_DESCRIPTION: usize = 2000;

/// Which operations become tools, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Only operations with one of these ids; all without any.
    pub operations: Vec<Pattern>,
    /// Only operations with one of these tags.
    pub tags: Vec<Pattern>,
    /// Only operations on one of these paths.
    pub paths: Vec<Pattern>,
    /// No operations with one of these ids.
    pub exclude: Vec<Pattern>,
    /// How tools are named.
    pub naming: Naming,
    /// Where requests go, in place of the document's servers.
    pub base_url: Option<String>,
    /// Where the document is from: servers in it may be relative to that.
    pub document_url: Option<Url>,
    /// Secrets by the names of the document's security schemes.
    pub credentials: BTreeMap<String, Secret>,
    /// Headers of every request.
    pub headers: Vec<(HeaderName, Secret)>,
    /// How long a call takes at most.
    pub timeout: Duration,
    /// How often reading requests are repeated.
    pub retries: u32,
    /// How many tools there are at most.
    pub max_tools: usize,
}

/// What a document gives.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The tools.
    pub tools: Tools,
    /// Operations that were chosen and cannot be offered, with the reasons.
    pub left_out: Vec<(String, LeftOut)>,
}

/// Why a document gives no tools at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    /// It is something else.
    #[error("this is no OpenAPI document: 'openapi' must begin with 3.0 or 3.1")]
    Version,
    /// It describes nothing.
    #[error("the document has no 'paths'")]
    NoPaths,
}

/// Why an operation is no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    /// A reference leads nowhere, or out of the document.
    #[error("the reference '{0}' leads to nothing in this document")]
    Reference(String),
    /// A parameter is written in a way that is not supported.
    #[error("the parameter '{0}' has a style that is not supported")]
    Style(String),
    /// A parameter cannot be sent.
    #[error("the parameter '{0}' is not described as it must be")]
    Parameter(String),
    /// None of its body types is supported.
    #[error("none of the types of its body is supported: {0}")]
    BodyType(String),
    /// There is no secret for it.
    #[error("it needs one of the security schemes {0}; give a secret under auth")]
    Credential(String),
    /// Its arguments could not be checked.
    #[error("its arguments are described by no valid JSON Schema: {0}")]
    Schema(#[from] BadSchema),
    /// Its server is not clear.
    #[error("it is not clear where it is: {0}; give base_url")]
    Server(BadUrl),
    /// Its path is no template.
    #[error(transparent)]
    Path(#[from] BadTemplate),
    /// There are too many.
    #[error("there are more tools than max_tools allows")]
    TooMany,
    /// Its name is taken.
    #[error("another operation has the same name")]
    SameName,
}

/// Makes tools of a document.
pub fn tools(document: &Value, settings: &Settings) -> Result<Built, BadDocument> {
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        return Err(BadDocument::Version);
    }
    let paths = document.get("paths").and_then(Value::as_object).ok_or(BadDocument::NoPaths)?;
    let document = Document::new(document);
    let mut built = Built::default();
    for (path, item) in paths {
        let Ok(item) = document.resolve(item) else {
            built.left_out.push((path.clone(), LeftOut::Reference(path.clone())));
            continue;
        };
        for (word, method) in METHODS {
            let Some(operation) = item.get(word).and_then(Value::as_object) else { continue };
            let found = Operation { document, path, item, operation, method };
            if !found.is_chosen(settings) {
                continue;
            }
            let name = settings.naming.name(found.id(), word, path);
            let added = if built.tools.len() < settings.max_tools {
                found
                    .tool(&name, settings)
                    .and_then(|tool| if built.tools.add(tool) { Ok(()) } else { Err(LeftOut::SameName) })
            } else {
                Err(LeftOut::TooMany)
            };
            if let Err(why) = added {
                built.left_out.push((name, why));
            }
        }
    }
    Ok(built)
}

/// One operation and what is around it.
struct Operation<'a> {
    document: Document<'a>,
    path: &'a str,
    item: &'a Value,
    operation: &'a Map<String, Value>,
    method: Method,
}

impl<'a> Operation<'a> {
    fn id(&self) -> Option<&'a str> {
        self.operation.get("operationId").and_then(Value::as_str).filter(|id| !id.is_empty())
    }

    fn is_chosen(&self, settings: &Settings) -> bool {
        let any = |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.fits(name));
        let id = self.id().unwrap_or_default();
        let tags = self.operation.get("tags").and_then(Value::as_array).into_iter().flatten();
        let mut tags = tags.filter_map(Value::as_str);
        (settings.operations.is_empty() || any(&settings.operations, id))
            && (settings.tags.is_empty() || tags.any(|tag| any(&settings.tags, tag)))
            && (settings.paths.is_empty() || any(&settings.paths, self.path))
            && !any(&settings.exclude, id)
    }

    fn tool(&self, name: &str, settings: &Settings) -> Result<Tool, LeftOut> {
        let mut input = parameters::read(&self.document, self.item, self.operation)?;
        let url = format!("{}{}", self.server(settings)?, input.renamed_path(self.path)?);
        let mut binding =
            Binding::new(self.method.clone(), UrlTemplate::parse(&url).map_err(LeftOut::Server)?);
        binding.body = body::read(&self.document, self.operation, &mut input)?;
        input.bind(&mut binding);
        security::apply(&self.document, self.operation, &settings.credentials, &mut binding)?;
        binding.fixed_headers.extend(settings.headers.iter().cloned());
        let effects = Effects {
            read_only: self.method == Method::GET,
            idempotent: !matches!(self.method, Method::POST | Method::PATCH),
            destructive: self.method == Method::DELETE,
        };
        binding.timeout = settings.timeout;
        binding.retries = if effects.idempotent { settings.retries } else { 0 };
        let input_schema = input.schema();
        check_schema(&input_schema)?;
        binding.defaults = defaults_of(&input_schema);
        let summary = self.text("summary");
        Ok(Tool {
            name: name.to_owned(),
            title: summary.map(str::to_owned),
            description: self.description(summary),
            input_schema,
            effects,
            meta: Map::new(),
            binding,
        })
    }

    fn description(&self, summary: Option<&str>) -> String {
        let mut words: Vec<&str> = [summary, self.text("description")].into_iter().flatten().collect();
        words.dedup();
        let plain = format!("{} {}", self.method, self.path);
        let words = if words.is_empty() { plain } else { words.join("\n\n") };
        words.chars().take(MAX_DESCRIPTION).collect()
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.operation.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Where requests go, without a slash at the end.
    fn server(&self, settings: &Settings) -> Result<String, LeftOut> {
        let written = match &settings.base_url {
            Some(base) => base.clone(),
            None => {
                let stated = [
                    self.operation.get("servers"),
                    self.item.get("servers"),
                    self.document.root().get("servers"),
                ];
                let first = stated.into_iter().flatten().find_map(|servers| servers.get(0));
                first.map_or_else(|| "/".to_owned(), with_variables)
            }
        };
        let absolute = match (&settings.document_url, written.contains("://")) {
            (Some(base), false) => base.join(&written).map(String::from).unwrap_or(written),
            _ => written,
        };
        let absolute = absolute.trim_end_matches('/').to_owned();
        UrlTemplate::parse(&absolute).map_err(LeftOut::Server)?;
        Ok(absolute)
    }
}

/// The address of a server with the defaults of its variables.
fn with_variables(server: &Value) -> String {
    let mut url = server.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        let default = variable.get("default").unwrap_or(&json!("")).as_str().unwrap_or_default().to_owned();
        url = url.replace(&format!("{{{name}}}"), &default);
    }
    url
}
