mod lists;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::limits::Limits;
use crate::scan;

const REFUNDS: &str =
    "---\nname: refunds\ndescription: Give money back\ntags: [money]\nlicense: MIT\n---\n# Zurück\n";

fn write(folder: &Path, path: &str, content: impl AsRef<[u8]>) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

/// A server of what is in a folder.
fn server_of(folder: &Path, time_to_live: Duration) -> SkillsServer {
    SkillsServer::new(scan(&[folder.to_path_buf()], &Limits::default(), None), time_to_live)
}

/// A server of a small shop, and the folder it was read from.
fn shop() -> (tempfile::TempDir, SkillsServer) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "billing/refunds/SKILL.md", REFUNDS);
    write(folder.path(), "billing/refunds/mail.md", "Dear");
    write(folder.path(), "billing/refunds/logo.png", b"\x89PNG");
    write(folder.path(), "hr/payroll/SKILL.md", "---\nname: payroll\ndescription: Pay money\n---\n");
    let server = server_of(folder.path(), Duration::ZERO);
    (folder, server)
}

fn ask(server: &SkillsServer, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answers = server.answer(Bytes::from(request.to_string()), &mut Subscriptions::default());
    serde_json::from_slice(answers.first().unwrap()).unwrap()
}

fn result(server: &SkillsServer, method: &str, params: Value) -> Value {
    let answer = ask(server, method, params);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

#[test]
fn resources_tell_all_that_is_known() {
    let (_folder, server) = shop();
    let listed = result(&server, "resources/list", json!({}));
    let refunds = &listed["resources"][0];
    assert_eq!(refunds["uri"], "skill://billing/refunds/SKILL.md");
    assert_eq!((&refunds["name"], &refunds["mimeType"]), (&json!("refunds"), &json!("text/markdown")));
    assert_eq!(
        (&refunds["description"], &refunds["size"]),
        (&json!("Give money back"), &json!(REFUNDS.len()))
    );
    assert!(refunds["annotations"]["lastModified"].as_str().unwrap().ends_with('Z'));
    assert_eq!(refunds["_meta"][ALIAS], "skill://billing/refunds");
    assert_eq!(refunds["_meta"]["io.modelcontextprotocol.skills/license"], "MIT");
    assert_eq!(listed["resources"].as_array().unwrap().len(), 2);
}

#[test]
fn reads_are_exact_in_part_and_not_repeated() {
    let (_folder, server) = shop();
    let read = |params: Value| result(&server, "resources/read", params);
    let whole = read(json!({"uri": "skill://billing/refunds"}));
    assert_eq!(whole["contents"][0]["uri"], "skill://billing/refunds/SKILL.md");
    assert_eq!(whole["contents"][0]["text"], REFUNDS);
    let etag = &whole["contents"][0]["_meta"][ETAG];
    let again = read(json!({"uri": "skill://billing/refunds", "_meta": {IF_NONE_MATCH: etag}}));
    assert_eq!((&again["contents"], &again["_meta"][NOT_MODIFIED]), (&json!([]), &json!(true)));
    let part = read(json!({"uri": "skill://billing/refunds/mail.md", "_meta": {RANGE: "bytes=1-2"}}));
    assert_eq!(part["contents"][0]["text"], "ea");
    assert_eq!(part["contents"][0]["_meta"][RANGE], "bytes 1-2/4");
    let logo = read(json!({"uri": "skill://billing/refunds/logo.png"}));
    assert_eq!(
        (&logo["contents"][0]["blob"], &logo["contents"][0]["mimeType"]),
        (&json!("iVBORw=="), &json!("image/png"))
    );
}

#[test]
fn what_is_not_there_is_refused() {
    let (_folder, server) = shop();
    let check = |method: &str, uri: &str| {
        let answer = ask(&server, method, json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32602, "{method} {uri}: {answer}");
    };
    check("resources/read", "skill://billing/nothing");
    check("resources/read", "skill://billing/../../etc/passwd");
    check("resources/read", "skill://billing/%72efunds");
    check("resources/read", "skill://billing/*?owner=me");
    check("resources/read", "skill://billing/*?tags=money&owner=me");
    check("skills/get", "skill://billing/refunds");
    check("skills/get", "skill://billing/refunds/mail.md");
    check("resources/directory/read", "skill://billing/refunds/SKILL.md");
    check("resources/directory/read", "skill://nowhere");
    assert_eq!(ask(&server, "prompts/list", json!({}))["error"]["code"], -32601);
    assert_eq!(ask(&server, "skills/list", json!({"cursor": "x"}))["error"]["code"], -32602);
}

#[test]
fn the_extension_is_declared_and_served() {
    let (_folder, server) = shop();
    let discovered = result(&server, "server/discover", json!({}));
    let declared = &discovered["capabilities"]["extensions"]["io.modelcontextprotocol/skills"];
    assert_eq!(declared, &json!({"directoryRead": true}));
    let listed = result(&server, "skills/list", json!({}));
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    let first = &listed["skills"][0];
    let got = result(&server, "skills/get", json!({"uri": "skill://billing/refunds/SKILL.md"}));
    assert_eq!(&got["skill"], first);
    let children = result(&server, "resources/directory/read", json!({"uri": "skill://billing"}));
    assert_eq!(children["resources"][0]["mimeType"], "inode/directory");
}

#[test]
fn what_is_hidden_is_not_spoken_of() {
    let (_folder, server) = shop();
    let meta = json!({HIDDEN: ["skill://hr/payroll/SKILL.md"]});
    let seen = |method: &str, mut params: Value| {
        let open = result(&server, method, params.clone()).to_string().contains("payroll");
        params["_meta"] = meta.clone();
        (open, result(&server, method, params).to_string().contains("payroll"))
    };
    let find = |arguments: Value| json!({"name": "find_skills", "arguments": arguments});
    assert_eq!(seen("tools/call", find(json!({"query": "money"}))), (true, false));
    assert_eq!(seen("tools/call", find(json!({}))), (true, false));
    assert_eq!(seen("resources/read", json!({"uri": "skill://hr/*"})), (true, false));
    assert_eq!(seen("resources/directory/read", json!({"uri": "skill://hr"})), (true, false));
}

#[test]
fn tools_find_and_read() {
    let (_folder, server) = shop();
    let call = |name: &str, arguments: Value| {
        result(&server, "tools/call", json!({"name": name, "arguments": arguments}))
    };
    let found = call("find_skills", json!({"query": "money", "tags": ["money"]}));
    assert_eq!(found["structuredContent"]["skills"][0]["uri"], "skill://billing/refunds/SKILL.md");
    assert_eq!(found["structuredContent"]["skills"].as_array().unwrap().len(), 1);
    let read = call("read_skill", json!({"uri": "skill://billing/refunds"}));
    assert_eq!(read["content"][0]["text"], REFUNDS);
    assert!(read["content"][1]["text"].as_str().unwrap().contains("mail.md"));
    let etag = &read["_meta"][ETAG];
    let again = call("read_skill", json!({"uri": "skill://billing/refunds", "if_none_match": etag}));
    assert_eq!(again["_meta"][NOT_MODIFIED], true);
    assert_eq!(call("read_skill", json!({"uri": "skill://billing/refunds/logo.png"}))["isError"], true);
    for uri in ["skill://billing", "skill://x/y", "/etc/passwd"] {
        let params = json!({"name": "read_skill", "arguments": {"uri": uri}});
        assert_eq!(ask(&server, "tools/call", params)["error"]["code"], -32602, "{uri}");
    }
}

#[test]
fn listeners_hear_of_what_they_watch() {
    let (folder, server) = shop();
    let mut subscriptions = Subscriptions::default();
    let document = "skill://billing/refunds/SKILL.md";
    let wish = json!({"resourcesListChanged": true, "resourceSubscriptions": [document, "skill://hr/payroll/SKILL.md"]});
    let listen = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {"notifications": wish}});
    let acknowledged = server.answer(Bytes::from(listen.to_string()), &mut subscriptions);
    let acknowledged: Value = serde_json::from_slice(&acknowledged[0]).unwrap();
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    assert_eq!(acknowledged["params"]["notifications"], wish);
    write(folder.path(), "billing/refunds/SKILL.md", format!("{REFUNDS}more"));
    let library = scan(&[folder.path().to_path_buf()], &Limits::default(), Some(&server.library()));
    let difference = server.replace(library);
    let told = subscriptions.notices(Some(&difference));
    let told: Vec<Value> = told.iter().map(|notice| serde_json::from_slice(notice).unwrap()).collect();
    let methods: Vec<&str> = told.iter().map(|notice| notice["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["notifications/resources/list_changed", "notifications/resources/updated"]);
    assert_eq!(told[1]["params"]["uri"], document);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    server.answer(Bytes::from(cancel.to_string()), &mut subscriptions);
    assert!(subscriptions.notices(None).is_empty());
}

/// Documents as people and programs write them: with a mark at the beginning, other line ends, heads that are broken.
fn documents() -> impl Strategy<Value = String> {
    let heads = prop::sample::select(vec![
        "",
        "---\nname: s\ndescription: d\n---\n",
        "---\r\nname: s\r\ndescription: d\r\n---\r\n",
        "---\nname: [\n---\n",
        "---\nname: other\n---\n",
        "---\nname: s\n",
        "---\n---\n",
    ]);
    let body = "([a-z# ]|\r\n|\n|\r|\t|é|😀|\u{2028}|\u{feff}|---|.){0,40}";
    let marks = prop::sample::select(vec!["", "\u{feff}"]);
    // A NUL is what tells bytes from text.
    (marks, heads, body).prop_map(|(mark, head, body)| format!("{mark}{head}{body}").replace('\0', ""))
}

proptest! {
    /// The seventh property: what is read through the protocol is what is on the disk, and Markdown.
    #[test]
    fn a_document_is_read_exactly(text in documents()) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a/s/SKILL.md", &text);
        let library = scan(&[folder.path().to_path_buf()], &Limits::default(), None);
        let server = SkillsServer::new(library, Duration::ZERO);
        let listed = result(&server, "resources/list", json!({}));
        prop_assert_eq!(&listed["resources"][0]["size"], &json!(text.len()));
        for uri in ["skill://a/s/SKILL.md", "skill://a/s"] {
            let read = result(&server, "resources/read", json!({ "uri": uri }));
            let contents = &read["contents"][0];
            prop_assert_eq!(&contents["text"], &json!(text));
            prop_assert_eq!(&contents["mimeType"], &json!("text/markdown"));
        }
        let read = result(&server, "tools/call", json!({"name": "read_skill", "arguments": {"uri": "skill://a/s"}}));
        prop_assert_eq!(&read["content"][0]["text"], &json!(text));
    }
}

#[test]
fn a_category_tells_nothing_of_what_is_hidden_in_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/b/secret/SKILL.md", "plain");
    write(folder.path(), "a/open/SKILL.md", "plain");
    write(folder.path(), "a/open/more/file.md", "side");
    let server = server_of(folder.path(), Duration::ZERO);
    let check = |uri: &str, hidden: Value, expected: &[&str]| {
        let params = json!({"uri": uri, "_meta": {HIDDEN: hidden}});
        let read = result(&server, "resources/directory/read", params);
        let entries = read["resources"].as_array().unwrap();
        let uris: Vec<&str> = entries.iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
        assert_eq!(uris, expected, "{uri}");
    };
    check("skill://a", json!([]), &["skill://a/b", "skill://a/open"]);
    check("skill://a", json!(["skill://a/b/secret/SKILL.md"]), &["skill://a/open"]);
    check("skill://a/open", json!([]), &["skill://a/open/SKILL.md", "skill://a/open/more"]);
}
