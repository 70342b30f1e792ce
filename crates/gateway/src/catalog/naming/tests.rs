use proptest::prelude::*;

use super::*;

fn names(naming: Naming, servers: &[&str], entries: &[(usize, &str)]) -> Vec<String> {
    give(naming, servers, servers, entries).into_iter().map(|given| given.name.to_string()).collect()
}

#[test]
fn names_say_what_they_stand_for() {
    let check = |naming, server: &str, tool: &str, expected: &str| {
        assert_eq!(names(naming, &[server], &[(0, tool)]), [expected]);
    };
    check(Naming::Prefixed, "git", "log", "git__log");
    check(Naming::Prefixed, "my-git", "read_file", "my-git__read_file");
    check(Naming::Prefixed, "git", "files.read", "git__files_read");
    check(Naming::Prefixed, "git hub", "log", "git_hub__log");
    check(Naming::Prefixed, "a__b", "c", "a_b__c");
    check(Naming::Prefixed, "größe", "maß", "gr_e__ma_");
    check(Naming::Prefixed, "", "x", "server__x");
    check(Naming::Plain, "git", "files.read", "files.read");
    check(Naming::Mcp, "my-git", "read-file", "mcp_my_git_read-file");
    check(Naming::Mcp, "git", "files.read", "mcp_git_files_read");
}

#[test]
fn what_would_be_ambiguous_gets_a_digest() {
    let check = |naming, servers: &[&str], entries: &[(usize, &str)], expected: &[&str]| {
        let given = give(naming, servers, servers, entries);
        assert_eq!(given.len(), expected.len());
        for (given, expected) in given.iter().zip(expected) {
            match expected.strip_suffix('*') {
                Some(start) => {
                    assert!(given.name.starts_with(start), "{given:?} and {expected}");
                    assert_eq!(given.name.len(), start.len() + 8, "{given:?}");
                    assert!(given.clashed);
                }
                None => assert_eq!(*given.name, **expected),
            }
        }
    };
    check(Naming::Prefixed, &["s"], &[(0, "a.b"), (0, "a_b")], &["s__a_b_*", "s__a_b"]);
    check(Naming::Prefixed, &["s"], &[(0, "a.b"), (0, "a b")], &["s__a_b_*", "s__a_b_*"]);
    check(Naming::Prefixed, &["a", "a__b"], &[(0, "b__c"), (1, "c")], &["a__b__c", "a_b__c"]);
    check(Naming::Mcp, &["a_b", "a"], &[(0, "c"), (1, "b_c")], &["mcp_a_b_c", "mcp_a_b_c_*"]);
    check(Naming::Mcp, &["a-b", "a_b"], &[(0, "c"), (1, "c")], &["mcp_a_b_c", "mcp_a_b_c_*"]);
    check(Naming::Plain, &["a", "b"], &[(0, "x"), (1, "x"), (1, "y")], &["x", "b__x", "y"]);
    check(Naming::Plain, &["a", "b"], &[(0, "x"), (0, "b__x"), (1, "x")], &["x", "b__x", "b__x_*"]);
}

#[test]
fn a_namespace_stands_for_the_server_and_two_servers_may_share_one() {
    let check = |naming, namespaces: &[&str], entries: &[(usize, &str)], expected: &[&str]| {
        let given = give(naming, &["fs", "web"], namespaces, entries);
        let given: Vec<&str> = given.iter().map(|given| &*given.name).collect();
        assert_eq!(given, expected);
    };
    check(Naming::Prefixed, &["files", "web"], &[(0, "read"), (1, "get")], &["files__read", "web__get"]);
    check(Naming::Mcp, &["my-files", "web"], &[(0, "read")], &["mcp_my_files_read"]);
    check(Naming::Prefixed, &["all", "all"], &[(0, "read"), (1, "get")], &["all__read", "all__get"]);
    let both = give(Naming::Prefixed, &["fs", "web"], &["all", "all"], &[(0, "read"), (1, "read")]);
    assert_eq!(&*both[0].name, "all__read");
    assert!(both[1].name.starts_with("all__read_") && both[1].clashed, "{both:?}");
}

#[test]
fn a_long_name_is_cut_and_its_digest_never_changes() {
    let tool = "t".repeat(80);
    let expected = format!("s__{}_{}", "t".repeat(52), "nhdkghne");
    assert_eq!(names(Naming::Prefixed, &["s"], &[(0, &tool)]), [expected]);
}

/// Servers and tools from few letters, so that they meet often, and now and then anything at all.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a_.-]{1,5}", 2 => "[ab]{1,2}(__|_|-)[ab]{0,2}", 1 => "[a_]{50,70}", 1 => ".{1,6}"]
}

fn world() -> impl Strategy<Value = (Vec<String>, Vec<(usize, String)>)> {
    let servers = prop::collection::btree_set(word(), 1..6);
    let servers = servers.prop_map(|set| set.into_iter().collect::<Vec<String>>()).prop_shuffle();
    servers.prop_flat_map(|servers| {
        let entries = prop::collection::btree_set((0..servers.len(), word()), 0..30);
        (Just(servers), entries.prop_map(|entries| entries.into_iter().collect()))
    })
}

fn naming() -> impl Strategy<Value = Naming> {
    prop_oneof![Just(Naming::Prefixed), Just(Naming::Plain), Just(Naming::Mcp)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_name_is_given_once_and_leads_back(naming in naming(), (servers, entries) in world()) {
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let entries: Vec<(usize, &str)> = entries.iter().map(|(server, tool)| (*server, tool.as_str())).collect();
        let given = names(naming, &servers, &entries);
        prop_assert_eq!(given.len(), entries.len());
        let table: HashMap<&str, (usize, &str)> =
            given.iter().map(String::as_str).zip(entries.iter().copied()).collect();
        prop_assert_eq!(table.len(), entries.len());
        for (name, entry) in given.iter().zip(&entries) {
            prop_assert_eq!(table.get(name.as_str()), Some(entry));
        }
        prop_assert_eq!(&given, &names(naming, &servers, &entries));
    }

    #[test]
    fn a_name_is_short_and_of_few_characters(mcp: bool, (servers, entries) in world()) {
        let naming = if mcp { Naming::Mcp } else { Naming::Prefixed };
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let entries: Vec<(usize, &str)> = entries.iter().map(|(server, tool)| (*server, tool.as_str())).collect();
        for name in names(naming, &servers, &entries) {
            prop_assert!(name.len() <= MAX_NAME);
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
        }
    }

    #[test]
    fn a_prefixed_name_does_not_depend_on_other_servers_tools((servers, entries) in world(), kept in 0_usize..6) {
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let entries: Vec<(usize, &str)> = entries.iter().map(|(server, tool)| (*server, tool.as_str())).collect();
        let all = names(Naming::Prefixed, &servers, &entries);
        let of_kept = |entry: &(usize, &str)| entry.0 == kept;
        let alone: Vec<(usize, &str)> = entries.iter().copied().filter(of_kept).collect();
        let expected: Vec<String> =
            entries.iter().zip(&all).filter(|(entry, _)| of_kept(entry)).map(|(_, name)| name.clone()).collect();
        prop_assert_eq!(names(Naming::Prefixed, &servers, &alone), expected);
    }
}
