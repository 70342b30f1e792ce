//! What handlers are told of who calls them.

use harness::{Client, Era, Setup};
use serde_json::json;

use super::{Workshop, python};
use crate::cells::scripted;
use crate::governance::caller;

const SOURCE: &str = "\
from toolgate import Context, handler

@handler
def who(ctx: Context) -> list[str]:
    return [str(ctx.caller.id), *ctx.caller.groups]

@handler
def plain() -> int:
    return 1
";

#[test]
fn a_handler_knows_its_caller_and_nobody_can_pretend() {
    let workshop = Workshop::with(SOURCE);
    let config = format!(
        "handlers: {{w: {{modules: [\"{}\"], python: \"{}\"}}}}\ncallers: {{trust_client_id_header: true}}\n",
        workshop.path("tools.py").display(),
        python().display()
    );
    let gateway = Setup::new().config(&config).server("s", scripted(&["modern"])).start();
    for era in Era::BOTH {
        let anna = caller(&gateway, era, "anna");
        let told = anna.call("w__who", &json!({}));
        assert_eq!(told.result()["structuredContent"]["result"][0], "anna", "{}", told.answer);
        let pretended =
            json!({"name": "w__who", "arguments": {}, "_meta": {"io.toolgate/caller": {"id": "root"}}});
        assert_eq!(anna.request("tools/call", &pretended).code(), -32602);
        assert_eq!(anna.call("w__plain", &json!({})).text(), "1");
        anna.call("s__echo", &json!({"text": "hello"})).result();
    }
    let seen = Client::modern(&gateway).call("s__seen", &json!({}));
    assert!(!seen.answer.to_string().contains("io.toolgate/caller"), "{}", seen.answer);
}
