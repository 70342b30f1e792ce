use std::sync::Arc;

use bytes::Bytes;
use toolgate_client::status::Greeting;
use toolgate_protocol::Version;

use super::*;

/// What a server of this revision says of itself.
pub(super) fn greeting(version: Version, capabilities: &'static str) -> Greeting {
    Greeting {
        era: version.era(),
        version,
        capabilities: Bytes::from_static(capabilities.as_bytes()),
        server_info: Some(Bytes::from_static(br#"{"name":"x","version":"1"}"#)),
        instructions: None,
        reads_short_calls: false,
    }
}

/// A legacy server with a page for each pair of a kind and the JSON of its entries.
pub(super) fn listing(server: &str, lists: &[(Kind, &str)]) -> Arc<Listing> {
    let mut listing = Listing::new(Arc::from(server), Some(greeting(Version::NEWEST_LEGACY, "{}")), false);
    for (kind, entries) in lists {
        let page = Bytes::from(format!(r#"{{"{}":[{entries}]}}"#, kind.list_key()));
        assert_eq!(listing.add_page(*kind, &page).unwrap(), Added::default());
    }
    Arc::new(listing)
}

/// The catalogue of these servers, none of which is in this process.
pub(super) fn merged(listings: Vec<Arc<Listing>>, naming: Naming) -> Catalog {
    Catalog::merge(listings, naming, &|_| false)
}

/// The JSON of tools with these names.
pub(super) fn tools(names: &[&str]) -> String {
    let tool = |name: &&str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    names.iter().map(tool).collect::<Vec<_>>().join(",")
}

fn uris(kind: Kind, uris: &[&str]) -> String {
    let entry = |uri: &&str| format!(r#"{{"name":"n","{}":"{uri}"}}"#, kind.identity_key());
    uris.iter().map(entry).collect::<Vec<_>>().join(",")
}

fn resources_of(server: &str, resources: &[&str], templates: &[&str]) -> Arc<Listing> {
    let resources = uris(Kind::Resource, resources);
    let templates = uris(Kind::Template, templates);
    listing(server, &[(Kind::Resource, &resources), (Kind::Template, &templates)])
}

#[test]
fn an_exposed_name_leads_to_its_server_and_native_name() {
    let catalog = merged(
        vec![
            listing("a", &[(Kind::Tool, &tools(&["x", "y"]))]),
            listing("b", &[(Kind::Tool, &tools(&["x"]))]),
        ],
        Naming::Prefixed,
    );
    let check = |exposed: &str, expected: Option<(usize, &str)>| {
        let found = catalog.tool(exposed).map(|item| (item.server(), item.native().as_ref()));
        assert_eq!(found, expected, "{exposed}");
    };
    check("a__x", Some((0, "x")));
    check("a__y", Some((0, "y")));
    check("b__x", Some((1, "x")));
    check("b__y", None);
    check("x", None);
    let tool = catalog.tool("a__x").unwrap();
    assert_eq!(tool.entry().input_schema().unwrap(), r#"{"type":"object"}"#);
    assert!(catalog.prompt("a__x").is_none());
}

#[test]
fn a_uri_finds_its_server() {
    let catalog = merged(
        vec![
            resources_of("a", &["file:///both", "file:///a"], &["db://{table}/{row}", "same://{x}"]),
            resources_of("b", &["file:///both", "file:///b"], &["db://users/{row}", "same://{x}"]),
        ],
        Naming::Prefixed,
    );
    let check = |uri: &str, expected: Option<(&str, &str)>| {
        let route = catalog.resource(uri);
        let found = route.as_ref().map(|route| (route.server_name.as_ref(), route.native.as_ref()));
        assert_eq!(found, expected, "{uri}");
    };
    check("file:///a", Some(("a", "file:///a")));
    check("file:///b", Some(("b", "file:///b")));
    check("a+file:///both", Some(("a", "file:///both")));
    check("b+file:///both", Some(("b", "file:///both")));
    check("file:///both", Some(("a", "file:///both")));
    check("db://orders/1", Some(("a", "db://orders/1")));
    check("db://users/1", Some(("b", "db://users/1")));
    check("same://1", Some(("a", "same://1")));
    check("b+same://1", Some(("b", "same://1")));
    check("nobody://1", None);
}

#[test]
fn a_uri_that_nobody_lists_goes_to_the_only_server_with_resources() {
    let silent = Listing::new(
        Arc::from("r"),
        Some(greeting(Version::NEWEST, r#"{"resources":{"subscribe":true}}"#)),
        false,
    );
    let listings = vec![listing("t", &[(Kind::Tool, &tools(&["x"]))]), Arc::new(silent)];
    let catalog = merged(listings, Naming::Prefixed);
    let route = catalog.resource("any://thing").unwrap();
    assert_eq!((route.server, route.native.as_ref()), (1, "any://thing"));
}

#[test]
fn completions_of_shared_uris_find_their_way() {
    let catalog = merged(
        vec![
            resources_of("a", &["u://1", "u://2"], &["t://{x}"]),
            resources_of("b", &["u://1"], &["t://{x}"]),
        ],
        Naming::Prefixed,
    );
    for (exposed, server) in [("b+t://{x}", 1), ("a+t://{x}", 0), ("t://{x}", 0), ("b+u://1", 1)] {
        assert_eq!(catalog.template(exposed).map(|route| route.server), Some(server), "{exposed}");
    }
    assert_eq!(&*catalog.template("b+t://{x}").unwrap().native, "t://{x}");
}

#[test]
fn the_revision_tells_content_apart_and_nothing_else() {
    let merge = |lists: &[(Kind, &str)], naming| merged(vec![listing("a", lists)], naming);
    let one = merge(&[(Kind::Tool, &tools(&["x"]))], Naming::Prefixed);
    let same = merge(&[(Kind::Tool, &tools(&["x"]))], Naming::Prefixed);
    let other = merge(&[(Kind::Tool, &tools(&["y"]))], Naming::Prefixed);
    let renamed = merge(&[(Kind::Tool, &tools(&["x"]))], Naming::Plain);
    assert_eq!(one.revision(), same.revision());
    assert_ne!(one.revision(), other.revision());
    assert_ne!(one.revision(), renamed.revision());
    // The value itself must not change from one start to the next, nor from one machine to the other.
    assert_eq!(one.revision(), 12_670_521_287_938_230_590);
}

#[test]
fn only_the_lists_that_changed_are_told() {
    let prompt = r#"{"name":"p"}"#;
    let merge = |lists: &[(Kind, &str)]| merged(vec![listing("a", lists)], Naming::Prefixed);
    let before = merge(&[(Kind::Tool, &tools(&["x"])), (Kind::Prompt, prompt)]);
    let check = |after: Catalog, expected: Changed| assert_eq!(after.changed_from(&before), expected);
    check(merge(&[(Kind::Tool, &tools(&["x"])), (Kind::Prompt, prompt)]), Changed::default());
    check(
        merge(&[(Kind::Tool, &tools(&["x", "y"])), (Kind::Prompt, prompt)]),
        Changed { tools: true, ..Changed::default() },
    );
    check(
        merge(&[
            (Kind::Tool, &tools(&["x"])),
            (Kind::Prompt, r#"{"name":"p","title":"P"}"#),
            (Kind::Template, r#"{"uriTemplate":"t://{x}"}"#),
        ]),
        Changed { tools: false, prompts: true, resources: true },
    );
}

#[test]
fn aliases_and_files_of_skills_lead_to_their_servers() {
    let aliased = r#"{"uri":"skill://a/b/SKILL.md","name":"b","_meta":{"io.toolgate/alias":"skill://a/b"}}"#;
    let skill = |uri: &str| format!(r#"{{"uri":"{uri}","frontmatter":{{}},"resources":[]}}"#);
    let first = [(Kind::Resource, aliased), (Kind::Skill, &skill("skill://a/b/SKILL.md"))];
    let both = [skill("skill://a/b/SKILL.md"), skill("skill://c/d/SKILL.md")].join(",");
    let second = [(Kind::Resource, r#"{"uri":"x://y","name":"y"}"#), (Kind::Skill, &*both)];
    let catalog =
        Catalog::merge(vec![listing("one", &first), listing("two", &second)], Naming::Prefixed, &|server| {
            server == 0
        });
    let check = |uri: &str, expected: Option<(&str, &str, Option<&str>)>| {
        let route = catalog.resource(uri);
        let found = route.as_ref().map(|route| (&*route.server_name, &*route.native, route.skill.as_deref()));
        assert_eq!(found, expected, "{uri}");
    };
    check("skill://a/b/SKILL.md", Some(("one", "skill://a/b/SKILL.md", None)));
    check("skill://a/b", Some(("one", "skill://a/b/SKILL.md", None)));
    check("skill://a/b/x/y.md", Some(("one", "skill://a/b/x/y.md", Some("skill://a/b/SKILL.md"))));
    check("skill://c/d/x.md", Some(("two", "skill://c/d/x.md", Some("skill://c/d/SKILL.md"))));
    check("skill://a/bc/x.md", Some(("one", "skill://a/bc/x.md", None)));
    check("skill://c/de/x.md", None);
    check(&format!("skill://a/b/{}", "x/".repeat(5000)), None);
    let skills: Vec<(&str, &str)> =
        catalog.items(Kind::Skill).iter().map(|item| (&**item.server_name(), item.exposed())).collect();
    assert_eq!(skills, [("one", "skill://a/b/SKILL.md"), ("two", "skill://c/d/SKILL.md")]);
    assert_eq!(catalog.folder("skill://c/d/x").map(|route| route.server), Some(1));
    assert_eq!(catalog.folder("skill://a").map(|route| (route.server, route.skill)), Some((0, None)));
    assert!(catalog.folder("skill://c").is_none() && catalog.skill("skill://c/d").is_none());
}

/// Says that it has all that a server in this process has: the document, its alias, its files, its category, its skill.
const IMPOSTOR: &str = r#"{"uri":"skill://a/b/SKILL.md","name":"b"},
    {"uri":"skill://a/b/file.md","name":"f","_meta":{"io.toolgate/alias":"skill://a/b"}},
    {"uri":"skill://a/c/SKILL.md","name":"c"}"#;

#[test]
fn no_server_takes_anything_from_one_in_this_process() {
    let document = r#"{"uri":"skill://a/b/SKILL.md","name":"b","_meta":{"io.toolgate/alias":"skill://a/b"}}"#;
    let skill = r#"{"uri":"skill://a/b/SKILL.md","frontmatter":{},"resources":[]}"#;
    let templates = uris(Kind::Template, &["skill://a/b/{file}", "skill://a/{any}"]);
    let impostor = listing(
        "impostor",
        &[(Kind::Resource, IMPOSTOR), (Kind::Skill, skill), (Kind::Template, &templates)],
    );
    // A document with a broken frontmatter is no skill, and owns its folder all the same.
    for ours in [vec![(Kind::Resource, document)], vec![(Kind::Resource, document), (Kind::Skill, skill)]] {
        let listings = vec![Arc::clone(&impostor), listing("ours", &ours)];
        let catalog = Catalog::merge(listings, Naming::Prefixed, &|server| server == 1);
        let check = |uri: &str, expected: (&str, Option<&str>)| {
            let route = catalog.resource(uri).unwrap();
            assert_eq!((&*route.server_name, route.skill.as_deref()), expected, "{uri}");
        };
        check("skill://a/b/SKILL.md", ("ours", None));
        check("skill://a/b", ("ours", None));
        check("skill://a/b/file.md", ("ours", Some("skill://a/b/SKILL.md")));
        check("skill://a/b/other.md", ("ours", Some("skill://a/b/SKILL.md")));
        check("skill://a/*", ("ours", None));
        check("impostor+skill://a/b/SKILL.md", ("impostor", None));
        check("skill://a/c/SKILL.md", ("impostor", None));
        let listed: Vec<&str> = catalog.items(Kind::Resource).iter().map(Item::exposed).collect();
        assert_eq!(listed[3], "skill://a/b/SKILL.md");
        let told: Vec<(Kind, &str)> =
            catalog.clashes().iter().map(|clash| (clash.kind, &*clash.server)).collect();
        let expected = [(Kind::Resource, "impostor"), (Kind::Skill, "impostor")];
        assert_eq!(told, expected[..ours.len()]);
        if ours.len() == 2 {
            assert_eq!(catalog.skill("skill://a/b/SKILL.md").map(|route| route.server), Some(1));
        }
    }
}
