//! What a server says, or what happens to it, outside of any call.

use std::sync::Arc;

use bytes::Bytes;

use crate::outbox::Question;
use crate::status::Status;

/// One piece of news of one server.
#[derive(Debug)]
pub struct News {
    /// Which server.
    pub server: Arc<str>,
    /// What is new.
    pub what: What,
}

/// What is new.
#[derive(Debug)]
pub enum What {
    /// It is in another state. After `Ready` its lists should be fetched again.
    State(Status),
    /// Its tools should be listed again.
    ToolsChanged,
    /// Its prompts should be listed again.
    PromptsChanged,
    /// Its resources should be listed again.
    ResourcesChanged,
    /// From now on it is heard outside of calls. What changed before, it may have told nobody: its lists should be
    /// fetched again.
    Heard,
    /// The `params` of `notifications/resources/updated`.
    ResourceUpdated(Bytes),
    /// The `params` of a log message that belongs to no call.
    Log(Bytes),
    /// A question of a legacy server while no call is under way.
    Ask(Question),
    /// The `params` of `notifications/tasks/status` or `notifications/tasks`, with the method's name.
    Task(&'static str, Bytes),
    /// The `params` of `notifications/elicitation/complete`.
    ElicitationComplete(Bytes),
}
