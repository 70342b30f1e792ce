use super::*;
use crate::catalog::tests::greeting;
use toolgate_protocol::Version;

const GOOD: &str = r#"{"name":"good","inputSchema":{}}"#;

fn empty(version: Version, over_http: bool) -> Listing {
    Listing::new(Arc::from("s"), Some(greeting(version, "{}")), over_http)
}

fn page(text: impl Into<String>) -> Bytes {
    Bytes::from(text.into())
}

#[test]
fn entries_stay_the_bytes_that_they_were() {
    let tool = r#"{ "x-new" : 0.7e1, "name":"caf\u00e9",
        "inputSchema" : {"type":"object","const":1.0}, "execution":{"a":[ ]} }"#;
    let mut listing = empty(Version::NEWEST, false);
    let text =
        format!(r#" {{"tools" : [ {GOOD} , {tool} ] , "nextCursor":"" , "ttlMs":5,"cacheScope":"public"}} "#);
    let added = listing.add_page(Kind::Tool, &page(text)).unwrap();
    assert_eq!(added, Added { next: Some(String::new()), dropped: vec![] });
    let [good, other] = listing.entries(Kind::Tool) else { panic!("two tools") };
    assert_eq!((good.raw(), good.native().as_ref()), (&page(GOOD), "good"));
    assert_eq!((other.raw(), other.native().as_ref()), (&page(tool), "café"));
    assert_eq!(other.input_schema().unwrap(), r#"{"type":"object","const":1.0}"#);
    assert_eq!(listing.freshness(Kind::Tool), Some(Freshness { ttl_ms: 5, public: true }));
    assert_eq!(listing.freshness(Kind::Prompt), None);
}

#[test]
fn one_bad_tool_costs_only_itself() {
    let check = |bad: &str, what: &str, why: &str| {
        let mut listing = empty(Version::NEWEST, true);
        let added = listing.add_page(Kind::Tool, &page(format!(r#"{{"tools":[{bad},{GOOD}]}}"#))).unwrap();
        let [dropped] = added.dropped.as_slice() else { panic!("{bad}: {added:?}") };
        assert_eq!(dropped.what, what);
        assert!(dropped.why.contains(why), "{bad}: {dropped:?}");
        assert_eq!(listing.entries(Kind::Tool).len(), 1);
        assert_eq!(&**listing.entries(Kind::Tool)[0].native(), "good");
    };
    check("7", "a tool", "not an object");
    check(r#"{"inputSchema":{}}"#, "a tool", "no 'name'");
    check(r#"{"name":7,"inputSchema":{}}"#, "a tool", "'name'");
    check(r#"{"name":"","inputSchema":{}}"#, "a tool", "at least one");
    check(r#"{"name":"\ud800","inputSchema":{}}"#, "a tool", "not a text");
    check(r#"{"name":"bad"}"#, "tool 'bad'", "inputSchema");
    check(r#"{"name":"bad","inputSchema":true}"#, "tool 'bad'", "inputSchema");
    check(r#"{"name":"a","name":"bad","inputSchema":{}}"#, "tool 'bad'", "'name' twice");
    check(r#"{"name":"a","n\u0061me":"bad","inputSchema":{}}"#, "tool 'bad'", "'name' twice");
    check(
        r#"{"name":"bad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#,
        "tool 'bad'",
        "x-mcp-header",
    );
    check(GOOD, "tool 'good'", "twice");
}

#[test]
fn annotations_bind_only_where_headers_are_read() {
    let invalid = r#"{"name":"t","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#;
    let valid = r#"{"name":"t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}"#;
    let check = |tool: &str, version, over_http, annotations: Option<usize>| {
        let mut listing = empty(version, over_http);
        listing.add_page(Kind::Tool, &page(format!(r#"{{"tools":[{tool}]}}"#))).unwrap();
        let found = listing.entries(Kind::Tool).first().map(|entry| entry.annotations().len());
        assert_eq!(found, annotations, "{tool} {version:?} {over_http}");
    };
    check(invalid, Version::NEWEST, true, None);
    check(invalid, Version::NEWEST, false, Some(0));
    check(invalid, Version::NEWEST_LEGACY, true, Some(0));
    check(valid, Version::NEWEST, true, Some(1));
    check(valid, Version::NEWEST_LEGACY, false, Some(1));
}

#[test]
fn a_page_that_is_no_page_is_refused_and_harms_nothing() {
    let check = |text: &str, expected: &str| {
        let mut listing = empty(Version::NEWEST, false);
        listing.add_page(Kind::Tool, &page(format!(r#"{{"tools":[{GOOD}]}}"#))).unwrap();
        let refused = listing.add_page(Kind::Tool, &page(text)).unwrap_err();
        assert!(refused.to_string().contains(expected), "{text}: {refused}");
        assert_eq!(listing.entries(Kind::Tool).len(), 1);
    };
    check("", "not valid");
    check("[]", "not valid");
    check(r#"{"tools":[{"name":"x""#, "not valid");
    check(r#"{"tools":{}}"#, "has no 'tools'");
    check(r#"{"prompts":[]}"#, "has no 'tools'");
}

#[test]
fn the_least_promise_of_all_pages_counts() {
    let check = |pages: &[&str], ttl_ms: u64, public: bool| {
        let mut listing = empty(Version::NEWEST, false);
        for members in pages {
            listing.add_page(Kind::Prompt, &page(format!(r#"{{"prompts":[]{members}}}"#))).unwrap();
        }
        assert_eq!(listing.freshness(Kind::Prompt), Some(Freshness { ttl_ms, public }), "{pages:?}");
    };
    check(&[""], 0, false);
    check(&[r#","ttlMs":9,"cacheScope":"public""#, r#","ttlMs":5,"cacheScope":"public""#], 5, true);
    check(&[r#","ttlMs":9,"cacheScope":"public""#, r#","ttlMs":9,"cacheScope":"private""#], 9, false);
    check(&[r#","ttlMs":9,"cacheScope":"public""#, ""], 0, false);
    check(&[r#","ttlMs":-1"#], 0, false);
}

#[test]
fn a_server_without_end_comes_to_one() {
    let mut listing = empty(Version::NEWEST, false);
    let mut pages = 0;
    let stopped = loop {
        pages += 1;
        let added = listing.add_page(Kind::Prompt, &page(r#"{"prompts":[],"nextCursor":"again"}"#)).unwrap();
        if added.next.is_none() {
            break added;
        }
    };
    assert_eq!(pages, MAX_PAGES);
    assert_eq!(stopped.dropped.len(), 1);
}

#[test]
fn a_server_that_overlooks_the_cursor_is_not_asked_again() {
    let mut listing = empty(Version::NEWEST, false);
    let same = page(r#"{"prompts":[{"name":"a"},{"name":"b"}],"nextCursor":"again"}"#);
    assert_eq!(listing.add_page(Kind::Prompt, &same).unwrap().next.as_deref(), Some("again"));
    let second = listing.add_page(Kind::Prompt, &same).unwrap();
    assert_eq!((second.next, second.dropped.len()), (None, 1));
    assert_eq!(listing.entries(Kind::Prompt).len(), 2);
}

#[test]
fn only_so_many_entries_are_taken() {
    let numbered = |range: std::ops::Range<usize>| {
        let prompts: Vec<String> = range.map(|number| format!(r#"{{"name":"p{number}"}}"#)).collect();
        page(format!(r#"{{"prompts":[{}],"nextCursor":"more"}}"#, prompts.join(",")))
    };
    let mut listing = empty(Version::NEWEST, false);
    assert!(listing.add_page(Kind::Prompt, &numbered(0..MAX_ENTRIES - 1)).unwrap().next.is_some());
    let last = listing.add_page(Kind::Prompt, &numbered(MAX_ENTRIES - 1..MAX_ENTRIES + 5)).unwrap();
    assert_eq!((last.next, last.dropped.len()), (None, 1));
    assert_eq!(listing.entries(Kind::Prompt).len(), MAX_ENTRIES);

    let mut listing = empty(Version::NEWEST, false);
    let nonsense = page(format!(r#"{{"prompts":[{}1],"nextCursor":"more"}}"#, "1,".repeat(MAX_ENTRIES)));
    let added = listing.add_page(Kind::Prompt, &nonsense).unwrap();
    assert_eq!((added.next, added.dropped.len()), (None, MAX_ENTRIES + 1));
}

#[test]
fn a_kept_list_is_what_it_was_and_the_others_are_not_touched() {
    let mut before = empty(Version::NEWEST, false);
    before.add_page(Kind::Tool, &page(format!(r#"{{"tools":[{GOOD}],"ttlMs":3}}"#))).unwrap();
    before.add_page(Kind::Prompt, &page(r#"{"prompts":[{"name":"p"}]}"#)).unwrap();
    let mut listing = empty(Version::NEWEST, false);
    listing.keep(Kind::Tool, &before);
    assert_eq!(listing.entries(Kind::Tool)[0].raw(), GOOD);
    assert_eq!(listing.freshness(Kind::Tool), before.freshness(Kind::Tool));
    assert!(listing.entries(Kind::Prompt).is_empty());
}
