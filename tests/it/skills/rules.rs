//! Whose skills they are, who may read them, and what is written down of it.

use harness::{Client, Era, Gateway};
use serde_json::{Value, json};
use toolgate_ledger::{Kind, Status};

use super::{DOCUMENT, SECRET, folder, get, read, setup, uris, write};
use crate::cells::scripted;
use crate::governance::{DENIED, caller, details};

const SIDE: &str = "skill://hr/payroll/secret.md";
const STRANGER: [(&str, &str); 1] = [("x-mcp-client-id", "stranger")];

fn text(exchange: &harness::Exchange) -> &str {
    exchange.result()["contents"][0]["text"].as_str().unwrap()
}

#[test]
fn no_server_takes_the_place_of_a_skill() {
    let folder = folder();
    let impostor = scripted(&["legacy", "claims=skill://billing/refunds"]);
    let gateway = setup(&folder, "").server("a", impostor).start();
    let expected = super::REFUNDS;
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        assert_eq!(text(&read(&client, DOCUMENT)), expected);
        assert_eq!(text(&read(&client, "skill://billing/refunds")), expected);
        assert_eq!(text(&read(&client, "skill://billing/refunds/templates/mail.md")), "Dear customer");
        let by_tool = client.call("skills__read_skill", &json!({"uri": "skill://billing/refunds"}));
        assert_eq!(by_tool.text(), expected);
        let listed = client.request("resources/list", &json!({}));
        let listed = uris(&listed.result()["resources"]).join(" ");
        assert!(
            listed.contains(&format!(" {DOCUMENT}")) && listed.contains(&format!("a+{DOCUMENT}")),
            "{listed}"
        );
        assert_eq!(text(&read(&client, &format!("a+{DOCUMENT}"))), "read by scripted");
    }
    assert_eq!(get(&gateway, "/skills/billing/refunds", &[]).text(), expected);
    gateway.log().until("two servers use this name");
}

/// What a stranger gets for a file of a skill, on every way: codes of errors, and the status of HTTP.
fn refusals(gateway: &Gateway, era: Era, uri: &str) -> (Value, Value, u16) {
    let stranger = caller(gateway, era, "stranger");
    let by_method = read(&stranger, uri).answer["error"]["code"].clone();
    let by_tool = stranger.call("skills__read_skill", &json!({ "uri": uri })).answer["error"]["code"].clone();
    let path = uri.replace("skill://", "/skills/");
    (by_method, by_tool, get(gateway, &path, &STRANGER).head.status)
}

#[test]
fn a_rule_for_a_document_is_one_for_its_files() {
    for head in [super::PAYROLL, "---\nname: [broken\n---\n"] {
        let folder = folder();
        write(folder.path(), "hr/payroll/SKILL.md", head);
        for (effect, resource) in [
            ("hide", SECRET),
            ("hide", "skill://hr/payroll"),
            ("deny", SECRET),
            ("deny", "skill://hr/payroll"),
        ] {
            let rule = format!("{{effect: {effect}, callers: [stranger], resources: [\"{resource}\"]}}");
            // Where only one server has resources, it is asked for all that nobody lists.
            let setup = setup(&folder, &format!("policy: {{rules: [{rule}]}}\n"));
            let gateway = setup.server("s", scripted(&["legacy"])).start();
            for era in Era::BOTH {
                let scene = format!("{era:?} {effect} {resource} {head:?}");
                assert_eq!(text(&read(&caller(&gateway, era, "owner"), SIDE)), "salaries", "{scene}");
                for uri in [SECRET, "skill://hr/payroll", SIDE] {
                    let nothing = refusals(&gateway, era, "skill://hr/nothing/secret.md");
                    let expected =
                        if effect == "hide" { nothing } else { (json!(DENIED), json!(DENIED), 403) };
                    assert_eq!(refusals(&gateway, era, uri), expected, "{scene} {uri}");
                }
            }
            let stranger = caller(&gateway, Era::Legacy, "stranger");
            let watched = stranger.request("resources/subscribe", &json!({ "uri": SIDE }));
            assert_eq!(watched.answer.get("error").is_some(), effect == "hide", "{}", watched.answer);
        }
    }
}

#[test]
fn who_must_agree_to_a_document_must_agree_to_its_files() {
    for resource in [SECRET, "skill://hr/payroll"] {
        let folder = folder();
        let rule = format!("{{resources: [\"{resource}\"], mode: always, by: user, timeout: 20s}}");
        let gateway = setup(&folder, &format!("policy: {{approval: [{rule}]}}\n")).start();
        for era in Era::BOTH {
            let alone = Client::able(&gateway, era, json!({}));
            for uri in [SECRET, SIDE] {
                let arguments = json!({ "uri": uri });
                for refused in [read(&alone, uri), alone.call("skills__read_skill", &arguments)] {
                    assert_eq!(details(&refused)["stage"], "approval", "{era:?} {resource} {uri}");
                }
            }
            read(&alone, "skill://billing/refunds/templates/mail.md").result();
            let asked = caller(&gateway, era, "asked");
            let agreed = asked.call_answering("skills__read_skill", &json!({ "uri": SIDE }), |method, _| {
                assert_eq!(method, "elicitation/create");
                json!({"action": "accept", "content": {"approve": true}})
            });
            assert_eq!(agreed.text(), "salaries", "{era:?} {resource}");
        }
    }
}

#[test]
fn a_category_is_a_folder_of_what_the_caller_may_see() {
    let folder = folder();
    write(folder.path(), "hr/holidays/SKILL.md", "# Days off\n");
    let policy = "policy: {rules: [{effect: hide, callers: [stranger], resources: [\"skill://hr/payroll\"]}, \
        {effect: hide, callers: [stranger], resources: [\"skill://notes/*\"]}]}\n";
    let gateway = setup(&folder, policy).start();
    let inside = |name: &str, uri: &str| {
        let client = caller(&gateway, Era::Modern, name);
        client.request("resources/directory/read", &json!({ "uri": uri })).answer
    };
    let listed = |name: &str| uris(&inside(name, "skill://hr")["result"]["resources"]).join(" ");
    assert_eq!(listed("owner"), "skill://hr/holidays skill://hr/payroll");
    assert_eq!(listed("stranger"), "skill://hr/holidays");
    assert!(inside("owner", "skill://notes").get("result").is_some());
    let refused = |uri: &str| inside("stranger", uri)["error"].to_string().replace(uri, "URI");
    assert_eq!(refused("skill://notes"), refused("skill://nothing"), "hidden is like not there");
}

#[test]
fn reads_of_skills_are_on_record() {
    let folder = folder();
    let policy =
        "policy: {rules: [{effect: deny, callers: [stranger], resources: [\"skill://hr/payroll\"]}]}\n";
    let mut gateway = setup(&folder, policy).start();
    let reader = caller(&gateway, Era::Modern, "reader");
    read(&reader, DOCUMENT).result();
    reader.call("skills__read_skill", &json!({"uri": "skill://billing/refunds"})).result();
    assert_eq!(get(&gateway, "/skills/billing/refunds", &[("x-mcp-client-id", "reader")]).head.status, 200);
    assert_eq!(get(&gateway, "/skills/hr/payroll", &STRANGER).head.status, 403);
    assert_eq!(get(&gateway, "/skills/hr/payroll/secret.md", &STRANGER).head.status, 403);
    assert!(gateway.stop().success());
    let records = crate::ledger::records(&gateway);
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.kind, &*record.caller, &*record.native, record.status, record.error_code))
        .collect();
    let good = (Kind::ResourceRead, "reader", DOCUMENT, Status::Ok, None);
    let denied = |uri| (Kind::ResourceRead, "stranger", uri, Status::Denied, Some(-32003));
    assert_eq!(told, [good, good, good, denied(SECRET), denied(SIDE)]);
}
