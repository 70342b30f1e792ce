//! `subscriptions/listen`: who wants to hear of changed tools on one connection.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::Message;

/// How many subscriptions one connection may have; what is beyond is not honoured.
const MAX_SUBSCRIPTIONS: usize = 64;

/// The subscriptions of one connection, by the ids of their requests.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    open: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    /// Begins a subscription; gives its acknowledgement. The answer to the request comes when it ends.
    pub(super) fn begin(&mut self, id: &[u8], message: &Message) -> Bytes {
        let params: Value =
            message.body().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let wanted = params.pointer("/notifications/toolsListChanged") == Some(&json!(true));
        let honoured = wanted && self.open.len() < MAX_SUBSCRIPTIONS;
        if honoured {
            self.open.insert(id.to_vec());
        }
        notice("subscriptions/acknowledged", id, json!({"notifications": {"toolsListChanged": honoured}}))
    }

    /// Ends the subscription that this request began.
    pub(super) fn end(&mut self, id: &[u8]) {
        self.open.remove(id);
    }

    /// What is said of a change.
    pub(super) fn notices(&self) -> Vec<Bytes> {
        self.open.iter().map(|id| notice("tools/list_changed", id, json!({}))).collect()
    }
}

fn notice(name: &str, id: &[u8], mut params: Value) -> Bytes {
    let id: Value = serde_json::from_slice(id).unwrap_or(Value::Null);
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
    Bytes::from(
        json!({"jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": params}).to_string(),
    )
}
