//! What a scripted server has: tools, resources, prompts, on pages of its own size.

use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::scripted::calls::TOOLS;

/// Not what the gateway's pages have, so that pages cannot be confused.
const PAGE: usize = 40;

impl Scripted {
    pub(super) fn tools(&self, params: &Value) -> Value {
        let mut tools: Vec<Value> = TOOLS.iter().map(|name| tool(name)).collect();
        let more = self.value("tools").map_or(0, |number| number.parse().unwrap());
        tools.extend((0..more).map(|number| tool(&format!("tool-{number:04}"))));
        tools.extend(self.state.lock().unwrap().added_tools.iter().map(|name| tool(name)));
        if self.is("bad-tool") {
            tools.insert(1, json!({"name": "bad", "inputSchema": "not a schema"}));
        }
        if let Some(uri) = self.value("skill") {
            tools.iter_mut().for_each(|tool| tool["_meta"] = json!({"io.toolgate/skill": uri}));
        }
        page("tools", tools, params)
    }

    pub(super) fn resources(&self, params: &Value) -> Value {
        let more = self.value("resources").map_or(1, |number| number.parse().unwrap());
        let resources = (0..more).map(
            |number| json!({"uri": format!("scene://thing/{number:04}"), "name": format!("thing {number}")}),
        );
        let claimed = self.value("claims").into_iter().flat_map(|folder| {
            let alias = json!({"io.toolgate/alias": folder});
            ["SKILL.md", "templates/mail.md"]
                .map(|file| json!({"uri": format!("{folder}/{file}"), "name": "claimed", "_meta": alias}))
        });
        page("resources", resources.chain(claimed).collect(), params)
    }

    pub(super) fn templates(&self) -> Value {
        let uri = format!("scene://{}/{{which}}", self.value("name").unwrap_or("template"));
        json!({"resourceTemplates": [{"uriTemplate": uri, "name": "which"}]})
    }

    pub(super) fn prompts(&self) -> Value {
        json!({"prompts": [{"name": "greet", "arguments": [{"name": "whom"}]}]})
    }

    pub(super) fn read(&self, params: &Value) -> Value {
        let text = format!("read by {}", self.value("name").unwrap_or("scripted"));
        json!({"contents": [{"uri": params["uri"], "text": text}]})
    }

    pub(super) fn prompt(&self, params: &Value) -> Value {
        let text = format!("hello {}", params["arguments"]["whom"].as_str().unwrap_or_default());
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

fn page(what: &str, all: Vec<Value>, params: &Value) -> Value {
    let from = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
    let end = all.len().min(from + PAGE);
    let mut page = json!({what: &all[from..end]});
    if end < all.len() {
        page["nextCursor"] = json!(end.to_string());
    }
    page
}
