//! `subscriptions/listen`: who wants to hear of which changes on one connection.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};

use super::arguments::Params;
use crate::library::Difference;

/// How many subscriptions one connection may have, and how many resources one of them; what is beyond is not honoured.
const MAX_SUBSCRIPTIONS: usize = 64;
const MAX_URIS: usize = 10_000;

/// The subscriptions of one connection, by the ids of their requests.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    open: BTreeMap<Vec<u8>, Wish>,
}

#[derive(Debug, Default)]
struct Wish {
    lists: bool,
    uris: BTreeSet<String>,
}

impl Subscriptions {
    /// Begins a subscription; gives its acknowledgement.
    pub(super) fn begin(&mut self, id: &[u8], params: &Params) -> Bytes {
        let wanted = params.get("notifications").unwrap_or(&Value::Null);
        let uris = wanted.get("resourceSubscriptions").and_then(Value::as_array);
        let uris = uris.into_iter().flatten().filter_map(Value::as_str).take(MAX_URIS).map(str::to_owned);
        let wish =
            Wish { lists: wanted.get("resourcesListChanged") == Some(&json!(true)), uris: uris.collect() };
        let honoured = json!({"resourcesListChanged": wish.lists, "resourceSubscriptions": wish.uris});
        let notice = notice("subscriptions/acknowledged", id, json!({ "notifications": honoured }));
        if self.open.len() < MAX_SUBSCRIPTIONS {
            self.open.insert(id.to_vec(), wish);
        }
        notice
    }

    /// Ends the subscription that this request began.
    pub(super) fn end(&mut self, id: &[u8]) {
        self.open.remove(id);
    }

    /// What is said of a change; of all that is watched where it is not known what changed.
    pub(super) fn notices(&self, difference: Option<&Difference>) -> Vec<Bytes> {
        let mut notices = Vec::new();
        for (id, wish) in &self.open {
            if wish.lists {
                notices.push(notice("resources/list_changed", id, json!({})));
            }
            let touched = |uri: &&String| {
                difference.is_none_or(|difference| {
                    [&difference.added, &difference.changed, &difference.removed]
                        .iter()
                        .any(|uris| uris.binary_search_by(|one| (**one).cmp(uri)).is_ok())
                })
            };
            let updated = wish.uris.iter().filter(touched);
            notices.extend(updated.map(|uri| notice("resources/updated", id, json!({ "uri": uri }))));
        }
        notices
    }
}

fn notice(name: &str, id: &[u8], mut params: Value) -> Bytes {
    let id: Value = serde_json::from_slice(id).unwrap_or(Value::Null);
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
    let message = json!({"jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": params});
    Bytes::from(message.to_string())
}
