//! Calls in which the server asks something back.

use serde_json::{Map, Value, json};

use crate::client::{Client, Era, Exchange};

/// More rounds of questions than any scene has.
const ROUNDS: usize = 20;

impl Client {
    /// Calls a tool and answers what is asked on the way: the method and params of a question give its result.
    pub fn call_answering(
        &self,
        tool: &str,
        arguments: &Value,
        mut reply: impl FnMut(&str, &Value) -> Value,
    ) -> Exchange {
        let params = json!({"name": tool, "arguments": arguments});
        match self.era() {
            Era::Legacy => self.answering_on_the_stream(&params, &mut reply),
            Era::Modern => self.answering_by_repeating(params, &mut reply),
        }
    }

    fn answering_on_the_stream(
        &self,
        params: &Value,
        reply: &mut dyn FnMut(&str, &Value) -> Value,
    ) -> Exchange {
        let mut pending = self.begin("tools/call", params);
        let mut before = Vec::new();
        loop {
            let raw = pending.next_raw().unwrap_or_else(|| panic!("no answer; before: {before:?}"));
            let message: Value = serde_json::from_str(&raw).unwrap();
            let Some(method) = message["method"].as_str() else {
                let head = pending.head().clone();
                return Exchange { status: head.status, head, before, answer: message, raw };
            };
            if message.get("id").is_some() {
                self.answer(&message, &reply(method, &message["params"]));
            }
            before.push(message);
        }
    }

    fn answering_by_repeating(
        &self,
        mut params: Value,
        reply: &mut dyn FnMut(&str, &Value) -> Value,
    ) -> Exchange {
        for _ in 0..ROUNDS {
            let exchange = self.request("tools/call", &params);
            let Some(result) =
                exchange.answer.get("result").filter(|result| result["resultType"] == "input_required")
            else {
                return exchange;
            };
            let answers: Map<String, Value> = result["inputRequests"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, question)| {
                    let method = question["method"].as_str().unwrap_or_default();
                    (key.clone(), reply(method, &question["params"]))
                })
                .collect();
            params["inputResponses"] = Value::Object(answers);
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
        panic!("the server asks more than {ROUNDS} times");
    }
}
