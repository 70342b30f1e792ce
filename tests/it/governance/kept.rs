//! Results that are too long to pass on, kept for who called, and read in parts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use harness::{Client, Era, Exchange, Gateway, eventually};
use serde_json::{Value, json};
use toolgate_ledger::Kind;

use super::shop::Shop;
use super::{caller, details, gateway, listed, restarted};
use crate::ledger::records;

const SPILL: &str = "max_output_bytes: 1000, long_output: spill";

fn long(client: &Client, bytes: usize) -> Exchange {
    client.call("shop__long", &json!({"bytes": bytes}))
}

/// The address of all of a result that was cut.
fn address(cut: &Exchange) -> String {
    let uri = cut.result()["_meta"]["io.toolgate/truncated"]["uri"].as_str();
    uri.unwrap_or_else(|| panic!("{}", cut.answer)).to_owned()
}

fn read(client: &Client, uri: &str) -> Exchange {
    client.request("resources/read", &json!({"uri": uri}))
}

/// The files in which a gateway keeps results.
fn files(gateway: &Gateway) -> Vec<PathBuf> {
    let folder = gateway.home().join("state/results/0");
    let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap() != "lock").collect()
}

#[test]
fn a_long_result_is_cut_and_all_of_it_can_be_read_in_parts() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, SPILL, "");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let cut = long(&client, 150_000);
        assert!(cut.raw.len() < 3000, "{}", cut.raw.len());
        let content = cut.result()["content"].as_array().unwrap();
        let uri = address(&cut);
        let link = content.iter().find(|block| block["type"] == "resource_link").unwrap();
        assert_eq!((&link["uri"], &link["size"]), (&json!(uri), &json!(150_000)));
        let note = content[1]["text"].as_str().unwrap();
        assert!(note.contains(&format!("{uri}?offset={}", cut.text().len())), "{note}");

        // By the addresses that the parts themselves name.
        let (mut whole, mut next) = (String::new(), json!(uri));
        while let Some(uri) = next.as_str() {
            let part = read(&client, uri);
            let content = part.result()["contents"][0].clone();
            assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("text/plain")));
            whole.push_str(content["text"].as_str().unwrap());
            next = content["_meta"]["io.toolgate/range"]["next"].clone();
            assert_eq!(part.result().get("resultType").is_some(), era == Era::Modern);
        }
        assert_eq!(whole, "x".repeat(150_000));
        let middle = read(&client, &format!("{uri}?offset=149990&length=100"));
        assert_eq!(middle.result()["contents"][0]["text"], "x".repeat(10));
        for wrong in ["?offset=150001", "?offset=a", "?page=1"] {
            assert_eq!(read(&client, &format!("{uri}{wrong}")).code(), -32602);
        }
        let templates = listed(&client, "resources/templates/list", "resourceTemplates", "uriTemplate");
        assert!(templates.contains(&"result://{id}{?offset,length}".to_owned()), "{templates:?}");
    }
    for file in files(&gateway) {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(gateway.stop().success());
    assert!(files(&gateway).is_empty(), "nothing outlives the gateway");
    let reads: Vec<_> = records(&gateway).into_iter().filter(|one| one.kind == Kind::ResourceRead).collect();
    assert!(reads.len() >= 2 * 4 && reads.iter().all(|one| one.server == "shop" && one.caller == "anna"));
    assert!(reads.iter().all(|one| one.exposed.starts_with("result://")), "{}", reads[0].exposed);
}

#[test]
fn a_kept_result_is_unknown_to_all_but_its_caller() {
    let shop = Shop::open();
    let policy = "policy: {rules: [{effect: hide, callers: [banned], tools: [long]}]}\n";
    let gateway = gateway(&shop, SPILL, policy);
    for era in Era::BOTH {
        let uri = address(&long(&caller(&gateway, era, "anna"), 5000));
        let told = |name: &str, uri: &str| {
            let exchange = read(&caller(&gateway, era, name), uri);
            let body =
                exchange.raw.replace(uri, "URI").replace(&format!("\"id\":{}", exchange.answer["id"]), "");
            format!("{:?} {body}", exchange.head.header_names())
        };
        let missing = format!("result://{}", "0".repeat(32));
        assert_eq!(told("ben", &uri), told("ben", &missing));
        assert_eq!(told("anna", &missing), told("ben", &missing));
        assert!(told("anna", &uri).contains("xxx"));
        // What the caller itself leaves out is out of reach, too.
        let wish = json!({"io.toolgate/narrow": {"denied_tools": ["shop__long"]}});
        let narrowed =
            caller(&gateway, era, "anna").request("resources/read", &json!({"uri": uri, "_meta": wish}));
        assert!(narrowed.answer.get("error").is_some());
    }
}

#[test]
fn what_is_kept_has_an_end_in_number_bytes_and_time() {
    let shop = Shop::open();
    let check = |limits: &str, sizes: &[usize], left: &[bool]| {
        let gateway = gateway(&shop, SPILL, &format!("results: {{{limits}}}\n"));
        let client = caller(&gateway, Era::Modern, "anna");
        let uris: Vec<_> = sizes.iter().map(|size| address(&long(&client, *size))).collect();
        eventually(&format!("{limits} leaves {left:?}"), || {
            let found: Vec<bool> =
                uris.iter().map(|uri| read(&client, uri).answer.get("result").is_some()).collect();
            (found == left).then_some(())
        });
    };
    check("max_count: 2", &[5000, 5001, 5002], &[false, true, true]);
    check("max_bytes: 12000", &[5000, 5001, 5002], &[false, true, true]);
    check("keep_for: 1s", &[5000], &[false]);
    let gateway = gateway(&shop, SPILL, "results: {max_bytes: 4000}\n");
    let cut = long(&caller(&gateway, Era::Legacy, "anna"), 5000);
    assert_eq!(cut.result()["_meta"]["io.toolgate/truncated"].get("uri"), None);
    assert!(files(&gateway).is_empty());
}

#[test]
fn reads_of_kept_results_count_and_a_kill_leaves_nothing_behind() {
    let shop = Shop::open();
    let sections = "callers: {trust_client_id_header: true}\nquotas: [{id: pace, reads_per_minute: 3}]\n";
    let config = shop.config(SPILL, sections);
    let mut gateway = harness::Setup::new().config(&config).start();
    let client = caller(&gateway, Era::Modern, "anna");
    let uri = address(&long(&client, 5000));
    // The minute may end once meanwhile.
    let answers: Vec<_> = (0..7).map(|_| read(&client, &uri)).collect();
    let quota = &answers[0].result()["_meta"]["io.toolgate/quota"][0];
    assert_eq!((&quota["rule"], &quota["remaining"]), (&json!("pace"), &json!(2)));
    let refused = answers.iter().find(|answer| answer.answer.get("error").is_some()).unwrap();
    assert_eq!(details(refused)["measure"], "reads_per_minute");
    assert!(refused.head.header("retry-after").is_some());
    assert_eq!(files(&gateway).len(), 1);
    gateway.kill();
    assert_eq!(files(&gateway).len(), 1);
    let gateway = restarted(gateway, &config);
    assert!(files(&gateway).is_empty());
}

#[test]
fn clients_without_links_get_the_address_as_text() {
    let shop = Shop::open();
    let gateway = gateway(&shop, SPILL, "");
    let old = Client::dated(&gateway, "2025-03-26", json!({}));
    let cut = long(&old, 5000);
    let kinds: Vec<&Value> =
        cut.result()["content"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, [&json!("text"), &json!("text")]);
    assert_eq!(read(&old, &address(&cut)).result()["contents"][0]["text"], "x".repeat(5000));
}
