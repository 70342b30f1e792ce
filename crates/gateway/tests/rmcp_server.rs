//! Servers written with `rmcp` behind a gateway in the same process: the example, and one in the older way of asking.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../examples/rmcp_server/bakery.rs"]
mod bakery;
#[path = "rmcp_server/caller.rs"]
mod caller;
#[path = "../examples/rmcp_server/mount.rs"]
mod mount;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ElicitRequestParams, ElicitationSchema, ErrorData};
use rmcp::service::Peer;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use toolgate_client::ServerSpec;
use toolgate_gateway::catalog::Naming;
use toolgate_gateway::seal::Seal;
use toolgate_gateway::{Desired, Gate, Gateway, Settings};
use toolgate_protocol::Era;

use bakery::Bakery;
use caller::Caller;
use mount::mount;

const AT_ONCE: Duration = Duration::ZERO;
const NEVER: Duration = Duration::from_secs(3600);

fn before(server: ServerSpec) -> Arc<Gateway> {
    let settings = Settings::on_this_machine(Seal::new_key().unwrap());
    let gateway = Gateway::start(settings, Gate::default()).unwrap();
    gateway.apply(vec![Desired::from(server)], Naming::Prefixed);
    gateway
}

fn before_bakery(bakery: &Bakery) -> Arc<Gateway> {
    let bakery = bakery.clone();
    before(ServerSpec::in_process("bakery", mount(move || bakery.clone())))
}

fn bake(loaves: u32) -> Value {
    json!({"name": "bakery__bake", "arguments": {"loaves": loaves}, "_meta": {"progressToken": "p"}})
}

#[tokio::test]
async fn tools_are_listed_called_and_report_their_progress() {
    let gateway = before_bakery(&Bakery::new(AT_ONCE));
    let mut caller = Caller::legacy(&gateway).await;
    let listed = caller.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
    let bread = &listed["result"]["tools"][0];
    assert_eq!(bread["name"], "bakery__bake");
    assert_eq!(bread["description"], "Bakes bread, one loaf after the other.");
    assert_eq!(bread["inputSchema"]["required"], json!(["loaves"]));

    let id = caller.begin("tools/call", bake(3)).await;
    for baked in 1..=3 {
        let progress = caller.next("notifications/progress").await;
        assert_eq!(progress["params"]["progressToken"], "p");
        assert_eq!(progress["params"]["progress"].as_f64(), Some(f64::from(baked)), "{progress}");
    }
    let answer = caller.answer_to(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "3 loaves are on the shelf", "{answer}");
    let refused = caller.ask("tools/call", bake(101)).await;
    assert_eq!(refused["error"]["message"], "the oven takes 100 loaves", "{refused}");
}

#[tokio::test]
async fn clients_hear_that_the_list_has_changed() {
    let gateway = before_bakery(&Bakery::new(AT_ONCE));
    let mut caller = Caller::legacy(&gateway).await;
    caller.ask("tools/list", json!({})).await;
    caller.begin("tools/call", bake(1)).await;
    caller.next("notifications/tools/list_changed").await;
    let listed = caller.ask("tools/list", json!({})).await;
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["bakery__bake", "bakery__sell"]);
}

#[tokio::test]
async fn what_is_cancelled_ends_in_the_server() {
    let bakery = Bakery::new(NEVER);
    let gateway = before_bakery(&bakery);
    let mut shelf = bakery.watch();
    let mut caller = Caller::legacy(&gateway).await;
    let id = caller.begin("tools/call", bake(2)).await;
    shelf.wait_for(|shelf| shelf.in_the_oven == 2).await.unwrap();
    caller.notify("notifications/cancelled", json!({"requestId": id})).await;
    let shelf = caller::soon(shelf.wait_for(|shelf| shelf.in_the_oven == 0)).await.unwrap();
    assert_eq!(shelf.loaves, 0);
}

#[tokio::test]
async fn what_is_under_way_ends_with_the_gateway() {
    let bakery = Bakery::new(NEVER);
    let gateway = before_bakery(&bakery);
    let mut shelf = bakery.watch();
    let mut caller = Caller::legacy(&gateway).await;
    caller.begin("tools/call", bake(2)).await;
    shelf.wait_for(|shelf| shelf.in_the_oven == 2).await.unwrap();
    gateway.stop(Duration::from_millis(50)).await;
    caller::soon(shelf.wait_for(|shelf| shelf.in_the_oven == 0)).await.unwrap();
}

#[tokio::test]
async fn a_question_of_a_tool_reaches_clients_of_both_eras() {
    let gateway = before_bakery(&Bakery::new(AT_ONCE));
    let mut caller = Caller::legacy(&gateway).await;
    caller.ask("tools/call", bake(2)).await;
    caller.next("notifications/tools/list_changed").await;
    let sell = json!({"name": "bakery__sell", "arguments": {}});

    let id = caller.begin("tools/call", sell.clone()).await;
    let question = caller.next("elicitation/create").await;
    assert_eq!(question["params"]["message"], "For whom is the bread?");
    caller.reply(&question, json!({"action": "accept", "content": {"name": "Ada"}})).await;
    assert_eq!(caller.answer_to(id).await["result"]["content"][0]["text"], "bread for Ada");

    let asked = caller.ask_modern("tools/call", sell.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let (key, question) = asked["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["params"]["message"], "For whom is the bread?");
    let mut again = sell;
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"name": "Bob"}}});
    if let Some(state) = asked["result"].get("requestState") {
        again["requestState"] = state.clone();
    }
    let answer = caller.ask_modern("tools/call", again).await;
    assert_eq!(answer["result"]["content"][0]["text"], "bread for Bob", "{answer}");
}

/// A server that asks its client in the middle of a call, as servers did before 2026-07-28.
struct Older;

#[tool_router]
impl Older {
    /// Asks for a name and greets.
    #[tool]
    async fn greet(&self, peer: Peer<RoleServer>) -> Result<String, ErrorData> {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let requested_schema: ElicitationSchema = serde_json::from_value(schema).unwrap();
        let message = "Who are you?".to_owned();
        let question = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        let answer = peer.create_elicitation(question).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(format!("hello {}", answer.content.unwrap()["name"].as_str().unwrap()))
    }
}

#[tool_handler]
impl ServerHandler for Older {}

#[tokio::test]
async fn a_server_that_asks_in_the_older_way_is_spoken_to_in_the_older_way() {
    let spec = ServerSpec { era: Some(Era::Legacy), ..ServerSpec::in_process("older", mount(|| Older)) };
    let gateway = before(spec);
    let mut caller = Caller::legacy(&gateway).await;
    let id = caller.begin("tools/call", json!({"name": "older__greet", "arguments": {}})).await;
    let question = caller.next("elicitation/create").await;
    caller.reply(&question, json!({"action": "accept", "content": {"name": "Ada"}})).await;
    assert_eq!(caller.answer_to(id).await["result"]["content"][0]["text"], "hello Ada");
}
