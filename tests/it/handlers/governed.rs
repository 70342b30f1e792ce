//! Handlers before the gate: what becomes of their calls is on record, costs what it costs, and ends when it has to.

use std::fs;

use harness::{Client, Era, eventually};
use serde_json::{Value, json};
use toolgate_ledger::{Kind, Status};

use super::Workshop;
use crate::governance::{caller, details};
use crate::ledger::{json, records};

/// All of them but `told` are called in short.
const SOURCE: &str = r#"
import asyncio, os
from pathlib import Path
from toolgate import Context, ToolError, handler

HERE = Path(__file__).parent

def note(words: str) -> None:
    with open(HERE / "notes", "a") as notes:
        notes.write(words + "\n")

@handler(price="0.25")
def buy(item: str, password: str = "") -> str:
    note(f"bought {item}")
    return f"sold {item}"

@handler(price="0.25")
def fail(item: str) -> str:
    raise ToolError(f"no {item} is left")

@handler
async def wait(who: str) -> None:
    note(f"{who} waits")
    try:
        await asyncio.Event().wait()
    finally:
        note(f"{who} was cancelled")

@handler
async def told(ctx: Context) -> None:
    note("told waits")
    try:
        await asyncio.Event().wait()
    finally:
        note("told was cancelled")

@handler
def process() -> int:
    return os.getpid()
"#;

impl Workshop {
    /// How often the handlers noted this.
    fn noted(&self, words: &str) -> usize {
        let notes = fs::read_to_string(self.path("notes")).unwrap_or_default();
        notes.lines().filter(|line| *line == words).count()
    }

    fn until_noted(&self, words: &str, times: usize) {
        eventually(words, || (self.noted(words) == times).then_some(()));
    }
}

#[test]
fn what_becomes_of_the_call_of_a_handler_is_on_record_with_its_price() {
    for era in Era::BOTH {
        let workshop = Workshop::with(SOURCE);
        let sections =
            "callers: {trust_client_id_header: true}\nquotas: [{id: purse, budget_per_month: 1}]\n";
        let mut gateway = workshop.open_with("tool_timeouts: {wait: 300ms}", sections);
        let anna = caller(&gateway, era, "anna");
        let listed = anna.request("tools/list", &json!({}));
        let tools = listed.result()["tools"].as_array().unwrap();
        let terms = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["_meta"]["io.toolgate/terms"]["price"].clone()
        };
        assert_eq!((terms("w__buy"), terms("w__process")), (json!(250_000), Value::Null));

        let bought = anna.call("w__buy", &json!({"item": "tea", "password": "sesame"}));
        assert_eq!(bought.text(), "sold tea");
        assert_eq!(bought.result()["_meta"]["io.toolgate/quota"][0]["used"], 250_000, "{}", bought.answer);
        assert_eq!(anna.call("w__fail", &json!({"item": "gold"})).result()["isError"], true);
        assert_eq!(anna.call("w__buy", &json!({"item": 5})).code(), -32602);
        let late = anna.call("w__wait", &json!({"who": "late"}));
        assert_eq!((late.code(), &late.answer["error"]["data"]["retryable"]), (-32004, &json!(true)));
        workshop.until_noted("late was cancelled", 1);
        let left = anna.begin("tools/call", &json!({"name": "w__told", "arguments": {}}));
        workshop.until_noted("told waits", 1);
        left.leave();
        workshop.until_noted("told was cancelled", 1);
        assert!(gateway.stop().success());

        let records = records(&gateway);
        let told: Vec<_> = records
            .iter()
            .map(|one| (&*one.exposed, one.status, one.error_code, one.price_settled))
            .collect();
        let expected = [
            ("w__buy", Status::Ok, None, 250_000),
            ("w__fail", Status::ToolError, None, 0),
            ("w__buy", Status::Denied, Some(-32602), 0),
            ("w__wait", Status::Timeout, Some(-32004), 0),
            ("w__told", Status::Cancelled, None, 0),
        ];
        assert_eq!(told, expected);
        for record in &records {
            assert_eq!((record.kind, &*record.caller, &*record.server), (Kind::ToolCall, "anna", "w"));
            assert_eq!(record.era.as_str(), era.word());
        }
        let sent = json(records[0].arguments.as_ref());
        assert_eq!(sent["item"], "tea");
        assert_ne!(sent["password"], "sesame");
        assert_eq!(json(records[0].result.as_ref())["content"][0]["text"], "sold tea");
        assert!(json(records[1].result.as_ref()).to_string().contains("no gold is left"));
    }
}

#[test]
fn who_leaves_a_call_in_short_has_it_cancelled() {
    for era in Era::BOTH {
        let workshop = Workshop::with(SOURCE);
        let gateway = workshop.open("");
        let client = Client::new(&gateway, era);
        let left = client.begin("tools/call", &json!({"name": "w__wait", "arguments": {"who": "one"}}));
        workshop.until_noted("one waits", 1);
        left.leave();
        workshop.until_noted("one was cancelled", 1);
        assert_eq!(client.call("w__buy", &json!({"item": "tea"})).text(), "sold tea");
    }
}

#[test]
fn a_call_in_short_runs_when_its_user_has_agreed() {
    let workshop = Workshop::with(SOURCE);
    let sections = "policy: {approval: [{tools: [buy], mode: always, by: user, timeout: 20s}]}\n";
    let gateway = workshop.open_with("processes: 2", sections);
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let item = json!({"item": era.word()});
        let noted = format!("bought {}", era.word());
        let answering = |reply: Value| {
            client.call_answering("w__buy", &item, |_, question| {
                assert!(question["message"].as_str().unwrap().contains("w__buy"), "{question}");
                assert_eq!(workshop.noted(&noted), 0, "nothing runs before somebody agrees");
                reply.clone()
            })
        };
        let refused = answering(json!({"action": "decline"}));
        assert_eq!(details(&refused)["stage"], "approval");
        let agreed = answering(json!({"action": "accept", "content": {"approve": true}}));
        assert_eq!(agreed.text(), format!("sold {}", era.word()));
        assert_eq!(workshop.noted(&noted), 1);
    }
}

#[test]
fn callers_can_have_workers_of_their_own() {
    let workshop = Workshop::with(SOURCE);
    let gateway = workshop.open_with("isolation: client", "callers: {trust_client_id_header: true}\n");
    for era in Era::BOTH {
        let (anna, ben) = (caller(&gateway, era, "anna"), caller(&gateway, era, "ben"));
        let process = |client: &Client| client.call("w__process", &json!({})).text().to_owned();
        let (of_anna, of_ben) = (process(&anna), process(&ben));
        assert_ne!(of_anna, of_ben);
        assert_eq!((process(&anna), process(&ben)), (of_anna, of_ben));
    }
}
