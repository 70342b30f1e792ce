//! What a server lists for an agent: tools, prompts and resources, page by page.

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::{Kind as MessageKind, Method, Object};

use crate::call::CallError;
use crate::server::Server;

/// More pages than this are a server that never ends its list.
const MOST_PAGES: usize = 1_000;

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tools,
    Prompts,
    Resources,
}

/// All lists of one server.
#[derive(Debug, Default)]
pub(super) struct Lists {
    tools: Vec<Value>,
    prompts: Vec<Value>,
    resources: Vec<Value>,
}

/// Why a list is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotListed {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the server answered '{0}' with {1}")]
    Unusable(&'static str, String),
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Tools, Kind::Prompts, Kind::Resources];

    fn method(self) -> Method {
        match self {
            Kind::Tools => Method::ToolsList,
            Kind::Prompts => Method::PromptsList,
            Kind::Resources => Method::ResourcesList,
        }
    }

    /// The member of capabilities and of answers.
    fn key(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Prompts => "prompts",
            Kind::Resources => "resources",
        }
    }
}

impl Lists {
    pub(super) fn of(&self, kind: Kind) -> &[Value] {
        match kind {
            Kind::Tools => &self.tools,
            Kind::Prompts => &self.prompts,
            Kind::Resources => &self.resources,
        }
    }

    pub(super) fn set(&mut self, kind: Kind, listed: Vec<Value>) {
        match kind {
            Kind::Tools => self.tools = listed,
            Kind::Prompts => self.prompts = listed,
            Kind::Resources => self.resources = listed,
        }
    }
}

/// The lists whose changes a server does not announce.
pub(super) fn unannounced(server: &Server) -> Vec<Kind> {
    let capabilities = capabilities(server);
    let announces = |kind: Kind| {
        let declared = Object::parse(&capabilities).ok();
        let declared = declared.as_ref().and_then(|declared| declared.get(kind.key()));
        declared.is_some_and(|declared| {
            Object::parse(declared).is_ok_and(|declared| declared.get("listChanged") == Some(b"true"))
        })
    };
    Kind::ALL.into_iter().filter(|kind| !announces(*kind)).collect()
}

/// Everything in one list of a server; nothing where it does not have such a list.
pub(super) async fn fetch(server: &Server, kind: Kind) -> Result<Vec<Value>, NotListed> {
    let unusable = |what: String| NotListed::Unusable(kind.method().name(), what);
    let capabilities = capabilities(server);
    if !Object::parse(&capabilities).is_ok_and(|capabilities| capabilities.get(kind.key()).is_some()) {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let answer = server.request(kind.method(), Bytes::from(params.to_string())).await?;
        let body = answer.message.body().unwrap_or(b"{}");
        if answer.message.kind() == MessageKind::Error {
            return Err(unusable(String::from_utf8_lossy(body).into_owned()));
        }
        let mut page: Value = serde_json::from_slice(body).map_err(|error| unusable(error.to_string()))?;
        match page.get_mut(kind.key()).map(Value::take) {
            Some(Value::Array(listed)) => all.extend(listed),
            _ => return Err(unusable("no list".to_owned())),
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(all),
        }
    }
    Err(unusable(format!("more than {MOST_PAGES} pages")))
}

fn capabilities(server: &Server) -> Bytes {
    server.status().greeting.map(|greeting| greeting.capabilities).unwrap_or_default()
}
