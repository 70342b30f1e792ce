//! Sections `bindings` and `egress`: tools that are HTTP requests, and where these may go.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};
use crate::secret::Secret;

/// Tools that need no code: HTTP requests declared in skills and OpenAPI documents. They go only where `egress` allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BindingsConfig {
    /// The name under which the tools declared in skills are a server beside the others.
    pub name: String,
    /// Variables of the environment that skills may send as secrets, such as `${ENV:NAME}` in a header. No others are.
    /// `NAME@HOST` may go to that host only, which is written as under `egress`.
    pub secrets: Vec<String>,
    /// OpenAPI documents, each a server of this name beside the others.
    pub openapi: BTreeMap<String, OpenApiConfig>,
}

/// An OpenAPI 3.0 or 3.1 document whose operations become tools. Exactly one of `file` and `url` is needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OpenApiConfig {
    /// The document, in YAML or JSON.
    pub file: Option<PathBuf>,
    /// Where the document is fetched from at the start.
    pub url: Option<String>,
    /// Where requests go, in place of the servers that the document names.
    pub base_url: Option<String>,
    /// Only operations with one of these ids, which are patterns. All without any.
    pub operations: Vec<String>,
    /// Only operations with one of these tags.
    pub tags: Vec<String>,
    /// Only operations on one of these paths, such as `/orders/*`.
    pub paths: Vec<String>,
    /// No operations with one of these ids.
    pub exclude: Vec<String>,
    /// What tools are named after.
    pub naming: OperationNaming,
    /// Secrets by the names of the document's security schemes: an API key, a token, or `user:password`. Written as
    /// references, `${ENV:NAME}` or `${file:PATH}`.
    pub auth: BTreeMap<String, Secret>,
    /// Headers of every request. Values may be references.
    pub headers: BTreeMap<String, Secret>,
    /// How long a call may take, repetitions included.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub timeout: Duration,
    /// How often a request that can be repeated without harm (GET, PUT, DELETE) is sent again where no answer comes.
    #[schemars(range(max = 5))]
    pub retries: u32,
    /// How many tools are made of the document; further operations are left out.
    pub max_tools: usize,
}

/// What a tool is named after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationNaming {
    /// The operation's id, or method and path where it has none.
    #[default]
    OperationId,
    /// Method and path, such as `get_orders_id`.
    MethodPath,
}

/// Where the gateway may send requests for tools that are bound to HTTP. By default nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EgressConfig {
    /// Hosts that may be asked: `api.example.com`, `*.example.com`, `api.example.com:8443`, `api.example.com:*`. Without a
    /// port, the usual one. They are asked at public addresses only.
    pub allow: Vec<String>,
    /// Hosts that may be asked even at private addresses, such as `localhost:3000` or `10.0.0.7`.
    pub private: Vec<String>,
    /// How many redirects are followed, each checked like a request; at most 3. Only for GET.
    #[schemars(range(max = 3))]
    pub redirects: u8,
    /// A longer answer is refused.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_answer_bytes: usize,
}

impl Default for BindingsConfig {
    fn default() -> Self {
        Self { name: "bindings".into(), secrets: Vec::new(), openapi: BTreeMap::new() }
    }
}

impl Default for OpenApiConfig {
    fn default() -> Self {
        Self {
            file: None,
            url: None,
            base_url: None,
            operations: Vec::new(),
            tags: Vec::new(),
            paths: Vec::new(),
            exclude: Vec::new(),
            naming: OperationNaming::default(),
            auth: BTreeMap::new(),
            headers: BTreeMap::new(),
            timeout: Duration::from_secs(30),
            retries: 1,
            max_tools: 200,
        }
    }
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self { allow: Vec::new(), private: Vec::new(), redirects: 0, max_answer_bytes: 4 * 1024 * 1024 }
    }
}
