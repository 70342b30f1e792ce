//! The whole of Toolgate, from outside: clients before it, servers behind it.

use harness::{Client, Era, Gateway, Setup};
use serde_json::json;

#[test]
fn a_gateway_without_servers_has_no_tools() {
    let gateway: Gateway = Setup::new().start();
    for era in Era::BOTH {
        let listed = Client::new(&gateway, era).request("tools/list", &json!({}));
        assert_eq!(listed.result()["tools"], json!([]));
    }
}
