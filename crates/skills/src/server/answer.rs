//! Which method does what.

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, Era, ErrorReply, Kind, Message, Method, Version, error};

use super::SkillsServer;
use super::arguments::Params;
use super::subscriptions::Subscriptions;

impl SkillsServer {
    /// What is said to a message.
    pub(super) fn answer(&self, bytes: Bytes, subscriptions: &mut Subscriptions) -> Vec<Bytes> {
        let Ok(message) = Message::parse(bytes) else { return Vec::new() };
        match message.kind() {
            Kind::Request => {}
            Kind::Notification => {
                if let (Some(Method::Cancelled), Some(id)) =
                    (message.method(), message.field(Field::RequestId))
                {
                    subscriptions.end(id);
                }
                return Vec::new();
            }
            Kind::Result | Kind::Error => return Vec::new(),
        }
        let Some(id) = message.id() else { return Vec::new() };
        if message.method() == Some(Method::Listen) {
            let params = Params::of(&message);
            // The answer comes when the subscription ends; until then it is only acknowledged.
            return vec![subscriptions.begin(id, &params)];
        }
        vec![match self.result(&message) {
            Ok(result) => error::result_answer(id, result.to_string().as_bytes()),
            Err(reply) => reply.answer(Some(id), Era::Modern),
        }]
    }

    fn result(&self, message: &Message) -> Result<Value, ErrorReply> {
        let params = Params::of(message);
        let library = self.library();
        let method = message.method().unwrap_or(Method::Unknown);
        let mut result = match method {
            Method::Discover => Ok(discovered()),
            Method::ToolsList => Ok(super::tools::list()),
            Method::ToolsCall => super::tools::call(&library, &params),
            Method::ResourcesList => super::listing::resources(&library, &params),
            Method::ResourcesTemplatesList => Ok(super::listing::templates()),
            Method::ResourcesRead => super::reading::read(&library, &params),
            Method::SkillsList => super::listing::skills(&library, &params),
            Method::SkillsGet => super::listing::skill(&library, &params),
            Method::DirectoryRead => super::directory::read(&library, &params),
            _ => {
                let name = message.method_name().unwrap_or_default();
                Err(ErrorReply::new(Code::MethodNotFound, format!("Method not found: {name}")))
            }
        }?;
        result["resultType"] = json!("complete");
        if method.is_cacheable() {
            result["ttlMs"] = json!(u64::try_from(self.time_to_live.as_millis()).unwrap_or(u64::MAX));
            result["cacheScope"] = json!("private");
        }
        Ok(result)
    }
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [Version::NEWEST.date()],
        "capabilities": {
            "tools": {},
            "resources": {"listChanged": true, "subscribe": true},
            "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
        },
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {"name": "skills", "version": env!("CARGO_PKG_VERSION")},
        },
        "instructions": "Skills are documents that say how a task is done here. Look for one with find_skills before \
                         a task that may have one, and read it with read_skill.",
    })
}
