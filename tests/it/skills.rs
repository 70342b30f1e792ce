//! Folders of SKILL.md behind the gate: resources, the skills extension, two tools, plain HTTP.

mod rules;

use std::fs;
use std::path::Path;

use harness::http::{Connection, Response};
use harness::{Client, Era, Gateway, Setup, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cells::scripted;
use crate::governance::{DENIED, caller};

const REFUNDS: &str =
    "---\nname: refunds\ndescription: Give money back\ntags: [money]\n---\n# Zurück\nAsk first.\n";
const PAYROLL: &str = "---\nname: payroll\ndescription: Pay the money of the month\n---\n";
const DOCUMENT: &str = "skill://billing/refunds/SKILL.md";
const SECRET: &str = "skill://hr/payroll/SKILL.md";

/// Hides all of one category from strangers.
const POLICY: &str =
    "policy: {rules: [{effect: hide, callers: [stranger], resources: [\"skill://hr/*\"]}]}\n";

fn write(folder: &Path, path: &str, content: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    // Replaced as a whole, as editors do.
    let fresh = file.with_extension("fresh");
    fs::write(&fresh, content).unwrap();
    fs::rename(fresh, file).unwrap();
}

/// A folder with skills of a small shop.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "billing/refunds/SKILL.md", REFUNDS);
    write(folder.path(), "billing/refunds/templates/mail.md", "Dear customer");
    write(folder.path(), "hr/payroll/SKILL.md", PAYROLL);
    write(folder.path(), "hr/payroll/secret.md", "salaries");
    write(folder.path(), "notes/plain/SKILL.md", "# Only a document\n");
    folder
}

fn setup(folder: &TempDir, sections: &str) -> Setup {
    let dir = folder.path().display();
    let head = format!("skills: {{dir: {dir}}}\ncallers: {{trust_client_id_header: true}}\n");
    Setup::new().config(&format!("{head}{sections}"))
}

fn read(client: &Client, uri: &str) -> harness::Exchange {
    client.request("resources/read", &json!({ "uri": uri }))
}

fn uris(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap()).collect()
}

fn get(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Response {
    Connection::open(gateway.address()).exchange("GET", path, headers, b"")
}

#[test]
fn skills_are_resources_in_both_eras() {
    let folder = folder();
    let gateway = setup(&folder, "").start();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let listed = client.request("resources/list", &json!({}));
        assert_eq!(uris(&listed.result()["resources"]), [DOCUMENT, SECRET, "skill://notes/plain/SKILL.md"]);
        let refunds = &listed.result()["resources"][0];
        assert_eq!((&refunds["name"], &refunds["size"]), (&json!("refunds"), &json!(REFUNDS.len())));
        assert_eq!(read(&client, DOCUMENT).result()["contents"][0]["text"], REFUNDS);
        let by_alias = read(&client, "skill://billing/refunds");
        assert_eq!(by_alias.result()["contents"][0]["uri"], DOCUMENT);
        let side = read(&client, "skill://billing/refunds/templates/mail.md");
        assert_eq!(side.result()["contents"][0]["text"], "Dear customer");
        let expected = if era == Era::Legacy { -32002 } else { -32602 };
        assert_eq!(read(&client, "skill://billing/nothing").code(), expected);
        assert_eq!(read(&client, "skill://billing/../../etc/passwd").code(), -32602);
        let category = read(&client, "skill://billing/*");
        let category: Value =
            serde_json::from_str(category.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(uris(&category["resources"]), [DOCUMENT]);
        let etag = &refunds["_meta"]["io.toolgate/etag"];
        let params = json!({"uri": DOCUMENT, "_meta": {"io.toolgate/if-none-match": etag}});
        let again = client.request("resources/read", &params);
        assert_eq!(again.result()["_meta"]["io.toolgate/not-modified"], true, "{}", again.answer);
        let params = json!({"uri": DOCUMENT, "_meta": {"io.toolgate/range": "bytes=0-2"}});
        assert_eq!(client.request("resources/read", &params).result()["contents"][0]["text"], "---");
    }
}

#[test]
fn the_extension_lists_skills_with_all_their_files() {
    let folder = folder();
    let gateway = setup(&folder, "").start();
    let client = Client::modern(&gateway);
    let discovered = client.request("server/discover", &json!({}));
    let declared = &discovered.result()["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(declared, &json!({"directoryRead": true}));
    let listed = client.request("skills/list", &json!({}));
    assert_eq!(listed.result()["resultType"], "complete");
    assert!(listed.result()["ttlMs"].is_u64() && listed.result()["cacheScope"].is_string());
    let skills = &listed.result()["skills"];
    assert_eq!(uris(skills), [DOCUMENT, SECRET], "a plain document is no skill");
    assert_eq!(uris(&skills[0]["resources"]), [DOCUMENT, "skill://billing/refunds/templates/mail.md"]);
    let got = client.request("skills/get", &json!({ "uri": DOCUMENT }));
    assert_eq!(got.result()["skill"], skills[0]);
    assert_eq!(client.request("skills/get", &json!({"uri": "skill://no/such/SKILL.md"})).code(), -32602);
    let inside = client.request("resources/directory/read", &json!({"uri": "skill://billing/refunds"}));
    assert_eq!(uris(&inside.result()["resources"]), [DOCUMENT, "skill://billing/refunds/templates"]);
    assert_eq!(client.request("resources/directory/read", &json!({ "uri": DOCUMENT })).code(), -32602);
}

#[test]
fn models_find_and_read_skills_by_tools() {
    let folder = folder();
    let gateway = setup(&folder, "").start();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let found = client.call("skills__find_skills", &json!({"query": "money back"}));
        assert_eq!(uris(&found.result()["structuredContent"]["skills"])[0], DOCUMENT);
        let read = client.call("skills__read_skill", &json!({"uri": "skill://billing/refunds"}));
        assert_eq!(read.text(), REFUNDS);
        let bad = client.call("skills__read_skill", &json!({"uri": 5}));
        assert_eq!(bad.code(), -32602);
    }
}

#[test]
fn what_is_hidden_is_hidden_on_every_way() {
    let folder = folder();
    let gateway = setup(&folder, POLICY).start();
    for era in Era::BOTH {
        let (owner, stranger) = (caller(&gateway, era, "owner"), caller(&gateway, era, "stranger"));
        let tells = |client: &Client, method: &str, params: Value| {
            client.request(method, &params).answer["result"].to_string().contains("payroll")
        };
        let tool =
            |name: &str, arguments: Value| json!({"name": format!("skills__{name}"), "arguments": arguments});
        for (method, params) in [
            ("resources/list", json!({})),
            ("skills/list", json!({})),
            ("skills/get", json!({ "uri": SECRET })),
            ("resources/directory/read", json!({"uri": "skill://hr/payroll"})),
            ("resources/read", json!({ "uri": SECRET })),
            ("resources/read", json!({"uri": "skill://hr/payroll"})),
            ("resources/read", json!({"uri": "skill://hr/payroll/secret.md"})),
            ("resources/read", json!({"uri": "skill://hr/*"})),
            ("tools/call", tool("find_skills", json!({"query": "money"}))),
            ("tools/call", tool("find_skills", json!({}))),
            ("tools/call", tool("read_skill", json!({ "uri": SECRET }))),
            ("tools/call", tool("read_skill", json!({"uri": "skill://hr/payroll"}))),
        ] {
            assert!(tells(&owner, method, params.clone()), "{era:?} {method} {params}");
            assert!(!tells(&stranger, method, params.clone()), "{era:?} {method} {params}");
        }
        let spelled = read(&stranger, "skill://%68r/payroll/SKILL.md");
        assert!(spelled.answer.get("error").is_some(), "another spelling is no way around a rule");
        let unsaid =
            json!({"name": "skills__find_skills", "arguments": {}, "_meta": {"io.toolgate/hidden": []}});
        assert_eq!(stranger.request("tools/call", &unsaid).code(), -32602);
        let same = |uri: &str| {
            let answer = stranger.call("skills__read_skill", &json!({ "uri": uri }));
            answer.answer["error"].to_string().replace(uri, "URI")
        };
        assert_eq!(same(SECRET), same("skill://no/nothing/SKILL.md"), "hidden is like not there");
    }
    let as_stranger = [("x-mcp-client-id", "stranger")];
    assert_eq!(get(&gateway, "/skills/hr/payroll", &as_stranger).head.status, 404);
    assert_eq!(get(&gateway, "/skills/hr/payroll", &[]).head.status, 200);
}

#[test]
fn reads_are_counted_however_they_are_made() {
    let folder = folder();
    let gateway = setup(&folder, "quotas: [{id: pace, reads_per_minute: 3}]\n").start();
    let client = caller(&gateway, Era::Modern, "reader");
    let as_reader = [("x-mcp-client-id", "reader")];
    // The minute may end once meanwhile.
    let codes: Vec<Option<i64>> = (0..3)
        .flat_map(|_| {
            let by_method = read(&client, DOCUMENT).answer;
            let by_tool = client.call("skills__read_skill", &json!({ "uri": DOCUMENT })).answer;
            [by_method, by_tool].map(|answer| answer["error"]["code"].as_i64())
        })
        .collect();
    assert!(codes.contains(&Some(DENIED)), "{codes:?}");
    let refused = (0..4).map(|_| get(&gateway, "/skills/billing/refunds", &as_reader));
    let refused = refused.into_iter().find(|response| response.head.status == 429).expect("none was refused");
    assert!(refused.head.header("retry-after").is_some());
}

#[test]
fn plain_http_has_tags_and_ranges() {
    let folder = folder();
    let deals = "---\nname: deals\ndescription: Make a deal\ntags: [交易, c++]\n---\n";
    write(folder.path(), "billing/deals/SKILL.md", deals);
    let gateway = setup(&folder, "").start();
    let whole = get(&gateway, "/skills/billing/refunds", &[]);
    assert_eq!((whole.head.status, whole.text().as_str()), (200, REFUNDS));
    assert_eq!(whole.head.header("content-type"), Some("text/markdown; charset=utf-8"));
    let etag = whole.head.header("etag").unwrap();
    assert_eq!(get(&gateway, "/skills/billing/refunds", &[("if-none-match", etag)]).head.status, 304);
    let part = get(&gateway, "/skills/billing/refunds/SKILL.md", &[("range", "bytes=4-7")]);
    assert_eq!((part.head.status, part.text().as_str()), (206, "name"));
    let length = REFUNDS.len();
    assert_eq!(part.head.header("content-range"), Some(format!("bytes 4-7/{length}").as_str()));
    assert_eq!(get(&gateway, "/skills/billing/refunds", &[("range", "bytes=9999-")]).head.status, 416);
    assert_eq!(get(&gateway, "/skills/billing/nothing", &[]).head.status, 404);
    assert_eq!(get(&gateway, "/skills/billing/..%2f..%2fetc%2fpasswd", &[]).head.status, 404);
    let posted = Connection::open(gateway.address()).exchange("POST", "/skills/billing/refunds", &[], b"");
    assert_eq!(posted.head.status, 405);
    let list = get(&gateway, "/skills/billing/*?tags=money", &[]);
    assert_eq!(uris(&list.json()["resources"]), [DOCUMENT]);
    // Such a tag cannot stand in a request as it is.
    for query in [
        "tags=%E4%BA%A4%E6%98%93",
        "tags=%E4%BA%A4%E6%98%93%2Cc%2B%2B",
        "tags=c%2B%2B&tags=%E4%BA%A4%E6%98%93",
    ] {
        let list = get(&gateway, &format!("/skills/billing/*?{query}"), &[]);
        assert_eq!(uris(&list.json()["resources"]), ["skill://billing/deals/SKILL.md"], "{query}");
    }
    assert_eq!(get(&gateway, "/skills/billing/*?tags=%FF", &[]).head.status, 404);
}

#[test]
fn changes_are_noticed_and_told() {
    let folder = folder();
    let gateway = setup(&folder, "").start();
    let legacy = Client::legacy(&gateway);
    legacy.request("resources/subscribe", &json!({"uri": "skill://billing/refunds"})).result();
    let mut stream = legacy.listen(None);
    let modern = Client::modern(&gateway);
    let wish = json!({"notifications": {"resourcesListChanged": true, "resourceSubscriptions": [DOCUMENT]}});
    let mut listening = modern.begin("subscriptions/listen", &wish);
    assert!(listening.next_raw().unwrap().contains("acknowledged"));
    let changed = REFUNDS.replace("Ask first.", "Ask twice.");
    write(folder.path(), "billing/refunds/SKILL.md", &changed);
    let mut heard = String::new();
    while !(heard.contains("resources/updated") && heard.contains("resources/list_changed")) {
        heard.push_str(&listening.next_raw().expect("the stream ended"));
    }
    let mut heard = String::new();
    while !(heard.contains("resources/updated") && heard.contains("resources/list_changed")) {
        heard.push_str(&stream.event().unwrap().expect("the stream ended").data);
    }
    assert_eq!(read(&modern, DOCUMENT).result()["contents"][0]["text"], changed.as_str());
    write(folder.path(), "fresh/new-one/SKILL.md", "---\nname: new-one\ndescription: New\n---\n");
    eventually("the new skill is listed", || {
        let listed = modern.request("skills/list", &json!({}));
        uris(&listed.result()["skills"]).contains(&"skill://fresh/new-one/SKILL.md").then_some(())
    });
}

#[test]
fn what_is_not_watched_is_looked_at_from_time_to_time() {
    let folder = folder();
    let lasts = |gateway: &Gateway| {
        Client::modern(gateway).request("resources/list", &json!({})).result()["ttlMs"].clone()
    };
    assert_eq!(lasts(&setup(&folder, "").start()), 0, "who wants to know of changes is told");
    let gateway = setup(&folder, "").set("skills.watch=false").set("skills.cache_ttl=300ms").start();
    assert_eq!(lasts(&gateway), 300);
    let changed = REFUNDS.replace("Ask first.", "Ask twice.");
    write(folder.path(), "billing/refunds/SKILL.md", &changed);
    let client = Client::modern(&gateway);
    eventually("the change is seen", || {
        (read(&client, DOCUMENT).result()["contents"][0]["text"] == changed.as_str()).then_some(())
    });
}

#[test]
fn a_tool_is_shown_with_its_skill() {
    let folder = folder();
    let words = ["legacy", "skill=skill://hr/payroll"];
    let gateway = setup(&folder, POLICY).server("s", scripted(&words)).start();
    let described = |name: &str| {
        let client = caller(&gateway, Era::Modern, name);
        let tools = client.request("tools/list", &json!({}));
        let tools = tools.result()["tools"].as_array().unwrap().clone();
        let echo = tools.into_iter().find(|tool| tool["name"] == "s__echo").unwrap();
        echo["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(described("owner"), format!("does echo\n\nSkill {SECRET}: Pay the money of the month"));
    assert_eq!(described("stranger"), "does echo");
}

#[test]
fn the_configuration_gives_a_tool_its_skill() {
    let folder = folder();
    let setup = setup(&folder, "").set("skills.links.s__echo=skill://billing/refunds");
    let gateway = setup.server("s", scripted(&["legacy"])).start();
    let tools = Client::legacy(&gateway).request("tools/list", &json!({}));
    let tools = tools.result()["tools"].as_array().unwrap().clone();
    let linked: Vec<&Value> = tools
        .iter()
        .filter(|tool| tool["description"].as_str().unwrap().contains("Skill skill://"))
        .collect();
    assert_eq!(linked.len(), 1);
    assert_eq!(linked[0]["description"], format!("does echo\n\nSkill {DOCUMENT}: Give money back"));
}

#[test]
fn a_reload_keeps_the_skills() {
    let folder = folder();
    let gateway = setup(&folder, "").start();
    let client = Client::modern(&gateway);
    assert_eq!(read(&client, DOCUMENT).result()["contents"][0]["text"], REFUNDS);
    let config = gateway.home().join("toolgate.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}quotas: [{{id: none, reads_per_minute: 0}}]\n")).unwrap();
    let as_reader = caller(&gateway, Era::Modern, "reader");
    eventually("the new rule holds", || {
        (read(&as_reader, DOCUMENT).answer["error"]["code"] == DENIED).then_some(())
    });
    let listed = client.request("resources/list", &json!({}));
    assert_eq!(listed.result()["resources"].as_array().unwrap().len(), 3);
}
