//! `subscriptions/listen`: a modern client's long stream of changes.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use toolgate_protocol::message::{Field, MetaField};
use toolgate_protocol::{Code, ErrorReply, Message, Method, Object, object, text};

use crate::catalog::Kind;
use crate::principal::Principal;
use crate::relay::notice;
use crate::session::Mailbox;

/// How many streams may be open.
const CAPACITY: usize = 10_000;
/// How many resources one stream may watch.
const MAX_URIS: usize = 1024;

/// What a client wants to hear of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub uris: Vec<String>,
}

/// One open stream.
#[derive(Debug)]
pub struct Listener {
    /// The id of the request, which names the stream.
    id: Bytes,
    pub filter: Filter,
    pub principal: Arc<Principal>,
    pub mailbox: Mailbox,
}

/// All open streams.
#[derive(Debug, Default)]
pub struct Listeners {
    open: Mutex<Vec<Weak<Listener>>>,
}

impl Filter {
    /// The filter of a request.
    pub fn of(message: &Message) -> Result<Filter, ErrorReply> {
        let refuse = |what: &str| ErrorReply::new(Code::InvalidParams, what);
        let filter =
            message.field(Field::Notifications).ok_or_else(|| refuse("'params.notifications' is missing"))?;
        let filter = Object::parse(filter).map_err(|_| refuse("'params.notifications' must be an object"))?;
        let wanted = |key| filter.get(key) == Some(b"true".as_slice());
        let uris = match filter.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(list) => object::elements(list)
                .map_err(|_| refuse("'resourceSubscriptions' must be an array"))?
                .into_iter()
                .map(|uri| text::string(uri).map(String::from))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| refuse("'resourceSubscriptions' must have strings only"))?,
        };
        if uris.len() > MAX_URIS {
            return Err(refuse("'resourceSubscriptions' has too many entries"));
        }
        Ok(Filter {
            tools: wanted("toolsListChanged"),
            prompts: wanted("promptsListChanged"),
            resources: wanted("resourcesListChanged"),
            uris,
        })
    }

    fn json(&self) -> String {
        let mut members = Vec::new();
        for (wanted, key) in [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ] {
            if wanted {
                members.push(format!(r#""{key}":true"#));
            }
        }
        if !self.uris.is_empty() {
            let uris: Vec<_> = self.uris.iter().map(|uri| text::quote(uri)).collect();
            members.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
        }
        format!("{{{}}}", members.join(","))
    }
}

impl Listener {
    /// Opens a stream whose first message says what will be heard.
    pub fn open(id: Bytes, filter: Filter, principal: Arc<Principal>) -> Listener {
        let listener = Listener { id, filter, principal, mailbox: Mailbox::default() };
        let params = format!(r#"{{"_meta":{},"notifications":{}}}"#, listener.meta(), listener.filter.json());
        listener.mailbox.push(notice::write(Method::Acknowledged.name(), Some(params.as_bytes())));
        listener
    }

    /// A list has changed.
    pub fn list_changed(&self, kind: Kind) {
        let (wanted, method) = match kind {
            Kind::Tool => (self.filter.tools, Method::ToolsChanged),
            Kind::Prompt => (self.filter.prompts, Method::PromptsChanged),
            Kind::Resource | Kind::Template | Kind::Skill => {
                (self.filter.resources, Method::ResourcesChanged)
            }
        };
        if wanted {
            let params = format!(r#"{{"_meta":{}}}"#, self.meta());
            self.mailbox.push(notice::write(method.name(), Some(params.as_bytes())));
        }
    }

    /// A resource has changed.
    pub fn updated(&self, uri: &str) {
        let params = format!(r#"{{"_meta":{},"uri":{}}}"#, self.meta(), text::quote(uri));
        self.mailbox.push(notice::write(Method::ResourceUpdated.name(), Some(params.as_bytes())));
    }

    /// The answer that ends the stream in good order.
    pub fn ended(&self) -> Bytes {
        let result = format!(r#"{{"resultType":"complete","_meta":{}}}"#, self.meta());
        toolgate_protocol::error::result_answer(&self.id, result.as_bytes())
    }

    fn meta(&self) -> String {
        format!(r#"{{"{}":{}}}"#, MetaField::SubscriptionId.key(), String::from_utf8_lossy(&self.id))
    }
}

impl Listeners {
    /// Enters a stream.
    pub fn add(&self, listener: &Arc<Listener>) -> Result<(), ErrorReply> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CAPACITY {
            open.retain(|listener| listener.strong_count() > 0);
        }
        if open.len() >= CAPACITY {
            return Err(ErrorReply::new(Code::ExecutionError, "too many streams are open")
                .with_data(r#"{"retryable":true}"#));
        }
        open.push(Arc::downgrade(listener));
        Ok(())
    }

    /// Calls `each` for all streams that are open.
    pub fn for_each(&self, each: impl FnMut(&Arc<Listener>)) {
        let alive: Vec<_> = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|listener| listener.strong_count() > 0);
            open.iter().filter_map(Weak::upgrade).collect()
        };
        alive.iter().for_each(each);
    }
}
