//! Which method does what.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, Era, ErrorReply, Message, Method, Version, error};

use super::BindingsServer;
use super::subscriptions::Subscriptions;
use crate::answer::{self, Answer};
use crate::courier::Courier;
use crate::tool::Tool;

/// How many tools are on one page of the list.
const PAGE: usize = 200;

/// What becomes of a message.
pub(super) enum Spoken {
    Nothing,
    Answer(Bytes),
    /// A call, by the id of its request, which is answered when it is done.
    Call(Vec<u8>, BoxFuture<'static, Bytes>),
    Cancelled(Vec<u8>),
}

impl BindingsServer {
    pub(super) fn answer(self: &Arc<Self>, message: &Message, method: Method, id: &[u8]) -> Spoken {
        let params: Map<String, Value> =
            message.body().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let result = match method {
            Method::Discover => Ok(discovered()),
            Method::ToolsList => self.list(&params),
            Method::ToolsCall => match self.called(params) {
                Ok((tool, arguments)) => {
                    let (courier, running) = (self.courier.clone(), id.to_vec());
                    let call = async move {
                        let result = complete(call(&courier, &tool, &arguments).await);
                        error::result_answer(&running, result.to_string().as_bytes())
                    };
                    return Spoken::Call(id.to_vec(), call.boxed());
                }
                Err(reply) => Err(reply),
            },
            _ => {
                let name = message.method_name().unwrap_or_default();
                Err(ErrorReply::new(Code::MethodNotFound, format!("Method not found: {name}")))
            }
        };
        Spoken::Answer(match result {
            Ok(result) => error::result_answer(id, complete(result).to_string().as_bytes()),
            Err(reply) => reply.answer(Some(id), Era::Modern),
        })
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, ErrorReply> {
        let unknown = || ErrorReply::new(Code::InvalidParams, "unknown cursor; ask for the list without one");
        let start = match params.get("cursor") {
            None | Some(Value::Null) => 0,
            Some(cursor) => {
                cursor.as_str().and_then(|cursor| cursor.parse::<usize>().ok()).ok_or_else(unknown)?
            }
        };
        let tools = self.tools();
        let page: Vec<Value> = tools.iter().skip(start).take(PAGE).map(|tool| tool.definition()).collect();
        let mut result = json!({"tools": page, "ttlMs": 0, "cacheScope": "private"});
        let next = start.saturating_add(PAGE);
        if next < tools.len() {
            result["nextCursor"] = json!(next.to_string());
        }
        Ok(result)
    }

    fn called(&self, mut params: Map<String, Value>) -> Result<(Arc<Tool>, Map<String, Value>), ErrorReply> {
        let invalid = |words: String| ErrorReply::new(Code::InvalidParams, words);
        let name = params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| invalid("'params.name' must be a string".to_owned()))?;
        let tool = self.tools().get(name).cloned().ok_or_else(|| invalid(format!("Unknown tool: {name}")))?;
        match params.remove("arguments") {
            None | Some(Value::Null) => Ok((tool, Map::new())),
            Some(Value::Object(arguments)) => Ok((tool, arguments)),
            Some(_) => Err(invalid("'params.arguments' must be an object".to_owned())),
        }
    }
}

/// What a call that is no longer wanted leads to.
pub(super) fn cancelled(message: &Message, subscriptions: &mut Subscriptions) -> Spoken {
    let Some(id) = message.field(Field::RequestId) else { return Spoken::Nothing };
    subscriptions.end(id);
    Spoken::Cancelled(id.to_vec())
}

async fn call(courier: &Courier, tool: &Tool, arguments: &Map<String, Value>) -> Value {
    let binding = &tool.binding;
    let request = match binding.request(arguments) {
        Ok(request) => request,
        Err(error) => return answer::failure(&error.to_string()),
    };
    match courier.send(&request, binding.timeout, binding.retries).await {
        Ok(fetched) => {
            let content_type = fetched.content_type.as_deref();
            answer::result(
                Answer { status: fetched.status, content_type, body: &fetched.body },
                &binding.result,
            )
        }
        Err(error) => answer::failure(&error.to_string()),
    }
}

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [Version::NEWEST.date()],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {"name": "bindings", "version": env!("CARGO_PKG_VERSION")},
        },
    })
}
