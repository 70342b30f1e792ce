use bytes::Bytes;
use proptest::prelude::*;
use toolgate_protocol::{Era, Object, Version, object};

use super::*;
use crate::catalog::tests::{greeting, listing, merged, tools};
use crate::catalog::{Listing, Naming};

const EVERYTHING: Lens<'static> = Lens {
    visible: &|_, _| true,
    decorate: &|_| None,
    for_everyone: true,
    server_info: None,
    own_template: None,
};

fn numbered(count: usize) -> Arc<Listing> {
    let names: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    listing("s", &[(Kind::Tool, &tools(&names))])
}

fn catalog(listings: Vec<Arc<Listing>>) -> Catalog {
    merged(listings, Naming::Prefixed)
}

fn text(page: &Page, era: Era) -> String {
    String::from_utf8(page.result(era).to_vec()).unwrap()
}

fn names_on(page: &Page) -> (Vec<String>, Option<String>) {
    let result = page.result(Era::Modern);
    let result = Object::parse(&result).unwrap();
    let name = |entry: &[u8]| Object::parse(entry).unwrap().text("name").unwrap().into_owned();
    let entries = object::elements(result.get("tools").unwrap()).unwrap();
    (entries.into_iter().map(name).collect(), result.text("nextCursor").map(String::from))
}

#[test]
fn pages_in_both_eras() {
    let mut modern = Listing::new(Arc::from("m"), Some(greeting(Version::NEWEST, "{}")), false);
    let page = br#"{"tools":[{"title":"T", "name" : "x","inputSchema":{},"_meta":{"k":0.10}}],"ttlMs":50,"cacheScope":"public"}"#;
    modern.add_page(Kind::Tool, &Bytes::from_static(page)).unwrap();
    let view =
        catalog(vec![Arc::new(modern)]).view(&Lens { server_info: Some(r#"{"name":"g"}"#), ..EVERYTHING });
    let first = view.page(Kind::Tool, None).unwrap();
    let entry = r#"{"title":"T", "name" : "m__x","inputSchema":{},"_meta":{"k":0.10}}"#;
    assert_eq!(text(&first, Era::Legacy), format!(r#"{{"tools":[{entry}]}}"#));
    let expected = format!(
        r#"{{"tools":[{entry}],"resultType":"complete","ttlMs":50,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"g"}}}}}}"#
    );
    assert_eq!(text(&first, Era::Modern), expected);
    assert_eq!(
        first.answer(b"\"7\"", Era::Modern),
        format!(r#"{{"jsonrpc":"2.0","id":"7","result":{expected}}}"#)
    );
    let empty = view.page(Kind::Template, None).unwrap();
    assert_eq!(text(&empty, Era::Legacy), r#"{"resourceTemplates":[]}"#);
}

#[test]
fn a_tool_is_described_with_the_skill_that_the_client_sees() {
    let skill = r#"{"uri":"skill://a/b/SKILL.md","name":"b","description":"How \"it\" goes\nmore"}"#;
    let check = |tool: &str, visible: bool, expected: &str| {
        let tool = format!(
            r#"{{"name":"x",{tool}"inputSchema":{{}},"_meta":{{"io.toolgate/skill":"skill://a/b/SKILL.md"}}}}"#
        );
        let listings = vec![listing("s", &[(Kind::Tool, &tool), (Kind::Resource, skill)])];
        let sees = |kind: Kind, _: &Item| kind == Kind::Tool || visible;
        let view = catalog(listings).view(&Lens { visible: &sees, ..EVERYTHING });
        let page = view.page(Kind::Tool, None).unwrap().result(Era::Legacy);
        let page: serde_json::Value = serde_json::from_slice(&page).unwrap();
        assert_eq!(page["tools"][0]["description"].as_str().unwrap_or_default(), expected);
    };
    check(r#""description":"Does x.","#, true, "Does x.\n\nSkill skill://a/b/SKILL.md: How \"it\" goes");
    check("", true, "Skill skill://a/b/SKILL.md: How \"it\" goes");
    check(r#""description":"Does x.","#, false, "Does x.");
}

#[test]
fn each_page_leads_to_the_next_until_all_is_told() {
    let check = |count: usize, expected_pages: usize| {
        let view = catalog(vec![numbered(count)]).view(&EVERYTHING);
        let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let (names, next) = names_on(&view.page(Kind::Tool, cursor.as_deref()).unwrap());
            all.extend(names);
            pages += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..count).map(|number| format!("s__t{number}")).collect();
        assert_eq!((all, pages), (expected, expected_pages));
    };
    check(0, 1);
    check(1, 1);
    check(100, 1);
    check(101, 2);
    check(200, 2);
    check(333, 4);
}

#[test]
fn pages_of_resources_are_shorter() {
    let uris: Vec<String> = (0..51).map(|number| format!(r#"{{"name":"n","uri":"u://{number}"}}"#)).collect();
    let view = catalog(vec![listing("s", &[(Kind::Resource, &uris.join(","))])]).view(&EVERYTHING);
    let page = view.page(Kind::Resource, None).unwrap().result(Era::Legacy);
    let result = Object::parse(&page).unwrap();
    assert_eq!(object::elements(result.get("resources").unwrap()).unwrap().len(), 50);
    assert!(result.get("nextCursor").is_some());
}

#[test]
fn a_cursor_of_an_older_catalogue_continues_sensibly() {
    let old = catalog(vec![numbered(250)]).view(&EVERYTHING);
    let (_, cursor) = names_on(&old.page(Kind::Tool, None).unwrap());
    let check = |listings: Vec<Arc<Listing>>, expected_first: Option<&str>| {
        let view = catalog(listings).view(&EVERYTHING);
        let (names, _) = names_on(&view.page(Kind::Tool, cursor.as_deref()).unwrap());
        assert_eq!(names.first().map(String::as_str), expected_first);
    };
    // Others came before: the page still begins behind the entry that the last one ended with.
    check(vec![listing("new", &[(Kind::Tool, &tools(&["x", "y"]))]), numbered(250)], Some("s__t100"));
    // That entry is gone: its position stands in for it.
    let rest: Vec<String> =
        (0..250).filter(|number| *number != 99).map(|number| format!("t{number}")).collect();
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    check(vec![listing("s", &[(Kind::Tool, &tools(&rest))])], Some("s__t101"));
    // The list is shorter now: nothing is left.
    check(vec![numbered(20)], None);
}

#[test]
fn a_cursor_of_nobody_or_of_another_list_is_refused() {
    let view = catalog(vec![numbered(250)]).view(&EVERYTHING);
    let (_, cursor) = names_on(&view.page(Kind::Tool, None).unwrap());
    for (kind, cursor) in [
        (Kind::Tool, ""),
        (Kind::Tool, "100"),
        (Kind::Tool, "AAAAAAAAAAAAAAAAAAAAAAAA"),
        (Kind::Prompt, &cursor.unwrap()),
    ] {
        assert_eq!(view.page(kind, Some(cursor)).unwrap_err(), InvalidCursor, "{cursor}");
    }
}

#[test]
fn what_is_hidden_is_in_no_page() {
    let lens = Lens { visible: &|_, item| !item.native().ends_with('7'), for_everyone: false, ..EVERYTHING };
    let view = catalog(vec![numbered(30)]).view(&lens);
    let (names, next) = names_on(&view.page(Kind::Tool, None).unwrap());
    assert_eq!((names.len(), next, view.len(Kind::Tool)), (27, None, 27));
    assert!(names.iter().all(|name| !name.ends_with('7')));
}

#[test]
fn the_least_promise_of_all_servers_counts() {
    let server = |name: &str, members: &str| {
        let mut listing = Listing::new(Arc::from(name), Some(greeting(Version::NEWEST, "{}")), false);
        listing.add_page(Kind::Tool, &Bytes::from(format!(r#"{{"tools":[]{members}}}"#))).unwrap();
        Arc::new(listing)
    };
    let public = |ttl: u64| server(&format!("p{ttl}"), &format!(r#","ttlMs":{ttl},"cacheScope":"public""#));
    let check = |listings: Vec<Arc<Listing>>, for_everyone: bool, expected: &str| {
        let view = catalog(listings).view(&Lens { for_everyone, ..EVERYTHING });
        let page = text(&view.page(Kind::Tool, None).unwrap(), Era::Modern);
        assert!(page.ends_with(expected), "{page}");
    };
    check(vec![public(9), public(5)], true, r#""ttlMs":5,"cacheScope":"public"}"#);
    check(vec![public(9), public(5)], false, r#""ttlMs":5,"cacheScope":"private"}"#);
    check(vec![public(9), server("legacy", "")], true, r#""ttlMs":0,"cacheScope":"private"}"#);
    // A server without prompts says nothing about tools; one that was never reached may bring some at any moment.
    check(
        vec![public(9), listing("other", &[(Kind::Prompt, "")])],
        true,
        r#""ttlMs":9,"cacheScope":"public"}"#,
    );
    let unreached = Arc::new(Listing::new(Arc::from("new"), None, false));
    check(vec![public(9), unreached], true, r#""ttlMs":0,"cacheScope":"public"}"#);
    check(vec![], true, r#""ttlMs":0,"cacheScope":"private"}"#);
}

#[test]
fn a_decoration_joins_what_is_there() {
    let check = |tool: &str, expected: &str| {
        let lens = Lens { decorate: &|_| Some(r#""g/limit":3"#.into()), ..EVERYTHING };
        let view = catalog(vec![listing("s", &[(Kind::Tool, tool)])]).view(&lens);
        let page = text(&view.page(Kind::Tool, None).unwrap(), Era::Legacy);
        assert_eq!(page, format!(r#"{{"tools":[{expected}]}}"#));
    };
    check(r#"{"name":"x","inputSchema":{} }"#, r#"{"name":"s__x","inputSchema":{} ,"_meta":{"g/limit":3}}"#);
    check(
        r#"{"name":"x","_meta":{"a":1},"inputSchema":{}}"#,
        r#"{"name":"s__x","_meta":{"g/limit":3,"a":1},"inputSchema":{}}"#,
    );
    check(
        r#"{"_meta":{"g/limit":99,"a":1},"name":"x","inputSchema":{}}"#,
        r#"{"_meta":{"g/limit":3,"a":1},"name":"s__x","inputSchema":{}}"#,
    );
    check(
        r#"{"_meta":null,"name":"x","inputSchema":{}}"#,
        r#"{"_meta":{"g/limit":3},"name":"s__x","inputSchema":{}}"#,
    );
}

/// The JSON of a tool with this name, with white space, escapes and members that nobody knows.
fn any_tool(name: &'static str) -> impl Strategy<Value = String> {
    let member = prop_oneof![
        Just(r#""title":"T \u00e4 name""#.to_owned()),
        Just(r#""unknown" : [1.0, {"name":"inner"}]"#.to_owned()),
        "[a-z]{1,5}".prop_map(|key| format!("\"x-{key}\":\t1e+02")),
    ];
    (prop::collection::vec(member, 0..4), 0_usize..4, "[ \n\t]{0,3}").prop_map(
        move |(mut members, place, blank)| {
            members.push(r#""inputSchema":{}"#.to_owned());
            members.insert(place.min(members.len()), format!(r#""name"{blank}:{blank}"{name}""#));
            format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},")))
        },
    )
}

proptest! {
    #[test]
    fn only_the_name_of_an_entry_changes(first in any_tool("first"), second in any_tool("second")) {
        let view = catalog(vec![listing("s", &[(Kind::Tool, &format!("{first},{second}"))])]).view(&EVERYTHING);
        let page = text(&view.page(Kind::Tool, None).unwrap(), Era::Legacy);
        let expected = format!(
            r#"{{"tools":[{},{}]}}"#,
            first.replace(r#""first""#, r#""s__first""#),
            second.replace(r#""second""#, r#""s__second""#)
        );
        prop_assert_eq!(page, expected);
    }
}

#[test]
fn the_words_of_a_long_skill_are_cut() {
    let words = "ä".repeat(250);
    let document = format!(r#"{{"uri":"skill://a/b/SKILL.md","name":"b","description":"{words}\nmore"}}"#);
    let tool = r#"{"name":"t","description":"d","inputSchema":{"type":"object"},"_meta":{"io.toolgate/skill":"skill://a/b/SKILL.md"}}"#;
    let catalog = catalog(vec![listing("s", &[(Kind::Tool, tool), (Kind::Resource, &document)])]);
    let page = text(&catalog.page(Kind::Tool, None, &EVERYTHING).unwrap(), Era::Modern);
    let result: serde_json::Value = serde_json::from_str(&page).unwrap();
    let expected = format!("d\n\nSkill skill://a/b/SKILL.md: {}", "ä".repeat(200));
    assert_eq!(result["tools"][0]["description"], expected);
}

/// Every name in a list, page by page.
fn names_listed(catalog: &Catalog) -> Vec<String> {
    let view = catalog.view(&EVERYTHING);
    let (mut names, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = view.page(Kind::Tool, cursor.as_deref()).unwrap();
        let result: serde_json::Value = serde_json::from_str(&text(&page, Era::Modern)).unwrap();
        let tools = result["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| format!("{} {}", tool["name"], tool["description"])));
        cursor = result["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return names;
        }
    }
}

proptest! {
    /// The eleventh property: whatever is added, removed or modified, the next list has it, and clients are told just then.
    #[test]
    fn lists_follow_every_change(changes in proptest::collection::vec((0..3_u8, 0..8_u8, 0..3_u8), 1..20)) {
        let mut tools: Vec<(u8, u8)> = Vec::new();
        let made = |tools: &[(u8, u8)]| {
            let entry = |(name, words): &(u8, u8)| {
                format!(r#"{{"name":"t{name}","description":"{words}","inputSchema":{{"type":"object"}}}}"#)
            };
            let entries = tools.iter().map(entry).collect::<Vec<_>>().join(",");
            catalog(vec![numbered(99), listing("x", &[(Kind::Tool, &entries)])])
        };
        let mut before = made(&tools);
        for (change, name, words) in changes {
            let earlier = tools.clone();
            match (change, tools.iter().position(|tool| tool.0 == name)) {
                (0, None) => tools.push((name, words)),
                (1, Some(at)) => drop(tools.remove(at)),
                (2, Some(at)) => tools[at].1 = words,
                _ => {}
            }
            let after = made(&tools);
            let told = after.changed_from(&before);
            prop_assert_eq!(told.tools, tools != earlier);
            prop_assert!(!told.prompts && !told.resources);
            prop_assert_eq!(told.tools, after.revision() != before.revision());
            let listed = names_listed(&after);
            let expected: Vec<String> =
                tools.iter().map(|(name, words)| format!("\"x__t{name}\" \"{words}\"")).collect();
            prop_assert_eq!(&listed[99..], &*expected);
            before = after;
        }
    }
}
