//! Lists: their pages, their filters, and how long they may be kept.

use super::*;

#[test]
fn a_list_is_filtered_by_tags_however_they_are_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let tags = [
        ("a", "[交易, urgent]"),
        ("b", "[交易]"),
        ("c", "[c++, customer care]"),
        ("d", "[r&d]"),
        ("e", "[c]"),
    ];
    for (name, tags) in tags {
        let text = format!("---\nname: {name}\ndescription: d\ntags: {tags}\n---\n");
        write(folder.path(), &format!("x/{name}/SKILL.md"), text);
    }
    let server = server_of(folder.path(), Duration::ZERO);
    let check = |query: &str, expected: &[&str]| {
        for pattern in ["skill://x/*", "skill://*"] {
            let uri = format!("{pattern}{query}");
            let read = result(&server, "resources/read", json!({ "uri": uri }));
            let list: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
            let entries = list["resources"].as_array().unwrap();
            let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
            assert_eq!(names, expected, "{uri}");
        }
    };
    check("?tags=交易", &["a", "b"]);
    check("?tags=%E4%BA%A4%E6%98%93", &["a", "b"]);
    check("?tags=%e4%ba%a4%e6%98%93,URGENT", &["a"]);
    check("?tags=%E4%BA%A4%E6%98%93%2Curgent", &["a"]);
    check("?tags=urgent&tags=%E4%BA%A4%E6%98%93", &["a"]);
    check("?tags=urgent&tags=c", &[]);
    check("?tags=c%2B%2B", &["c"]);
    check("?tags=customer+care", &["c"]);
    check("?tags=customer%20care", &["c"]);
    check("?tags=r%26d", &["d"]);
    check("?tags=%25", &[]);
    for all in ["", "?", "?tags=", "?tags=,&"] {
        check(all, &["a", "b", "c", "d", "e"]);
    }
    for broken in ["%E4%BA", "%FF", "urgent&tags=%C0%AF"] {
        let answer = ask(&server, "resources/read", json!({"uri": format!("skill://x/*?tags={broken}")}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("not UTF-8"), "{answer}");
    }
}

#[test]
fn long_lists_come_in_pages_with_everything_once() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..450).map(|number| format!("s{number:03}")).collect();
    for name in &names {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        write(folder.path(), &format!("many/{name}/SKILL.md"), text);
    }
    let server = server_of(folder.path(), Duration::ZERO);
    let check = |method: &str, mut params: Value, list: &str, skipped: usize, uri: fn(&str) -> String| {
        let mut seen = Vec::new();
        let mut sizes = Vec::new();
        loop {
            let page = result(&server, method, params.clone());
            let entries = page[list].as_array().unwrap();
            sizes.push(entries.len());
            seen.extend(entries.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()));
            match page.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
            assert!(sizes.len() <= names.len(), "{method} never ends");
        }
        let expected: Vec<String> = names[skipped..].iter().map(|name| uri(name)).collect();
        assert_eq!((seen, sizes), (expected, vec![200, 200, 50 - skipped]), "{method}");
    };
    let document = |name: &str| format!("skill://many/{name}/SKILL.md");
    let directory = |name: &str| format!("skill://many/{name}");
    check("resources/list", json!({}), "resources", 0, document);
    check("skills/list", json!({}), "skills", 0, document);
    let many = json!({"uri": "skill://many"});
    check("resources/directory/read", many, "resources", 0, directory);
    // What is hidden leaves no gap in a page.
    let hidden = [document("s000"), document("s001")];
    let few = json!({"uri": "skill://many", "_meta": {HIDDEN: hidden}});
    check("resources/directory/read", few, "resources", 2, directory);
    // A list that fills its pages exactly ends with the last of them.
    for number in 400..450 {
        fs::remove_dir_all(folder.path().join(format!("many/s{number}"))).unwrap();
    }
    server.replace(scan(&[folder.path().to_path_buf()], &Limits::default(), None));
    let last = result(&server, "skills/list", json!({"cursor": "200"}));
    assert_eq!((last["skills"].as_array().unwrap().len(), last.get("nextCursor")), (200, None));
}

#[test]
fn skills_are_found_by_category_and_as_many_as_wanted() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..60 {
        let text = format!("---\nname: s{number:02}\ndescription: Pay money\n---\n");
        write(folder.path(), &format!("many/s{number:02}/SKILL.md"), text);
    }
    write(folder.path(), "hr/staff/payroll/SKILL.md", "---\nname: payroll\ndescription: Pay money\n---\n");
    let server = server_of(folder.path(), Duration::ZERO);
    let find = |mut arguments: Value, query: Option<&str>| {
        query.into_iter().for_each(|query| arguments["query"] = json!(query));
        let params = json!({"name": "find_skills", "arguments": arguments});
        result(&server, "tools/call", params)
    };
    let check = |arguments: Value, expected: usize| {
        for query in [None, Some("money")] {
            let found = find(arguments.clone(), query);
            let skills = found["structuredContent"]["skills"].as_array().unwrap();
            assert_eq!(skills.len(), expected, "{arguments} {query:?}");
            if let Some(category) = arguments.get("category") {
                let category = category.as_str().unwrap().trim();
                let within = |skill: &Value| skill["category"].as_str().unwrap().starts_with(category);
                assert!(skills.iter().all(within), "{found}");
            }
        }
    };
    check(json!({}), 10);
    check(json!({"limit": 3}), 3);
    check(json!({"limit": 0}), 1);
    check(json!({"limit": 50}), 50);
    check(json!({"limit": 1000}), 50);
    check(json!({"category": "hr"}), 1);
    check(json!({"category": " hr/staff "}), 1);
    check(json!({"category": "many", "limit": 20}), 20);
    check(json!({"category": "man"}), 0);
    assert_eq!(find(json!({"category": "none"}), None)["content"][0]["text"], "No skill fits.");
    assert_eq!(find(json!({"category": "../hr"}), None)["isError"], true);
}

#[test]
fn what_may_be_kept_says_for_how_long() {
    let (folder, _) = shop();
    let server = server_of(folder.path(), Duration::from_secs(600));
    let check = |method: &str, params: Value, kept: Option<(u64, &str)>| {
        let result = result(&server, method, params);
        let said = (result.get("ttlMs"), result.get("cacheScope"));
        let expected = kept.map(|(time, scope)| (json!(time), json!(scope)));
        let (time, scope) = expected.unzip();
        assert_eq!(said, (time.as_ref(), scope.as_ref()), "{method}");
    };
    let document = json!({"uri": "skill://billing/refunds/SKILL.md"});
    check("skills/get", document.clone(), Some((600_000, "private")));
    check("skills/list", json!({}), Some((600_000, "private")));
    check("resources/read", document, Some((600_000, "private")));
    check("tools/call", json!({"name": "find_skills", "arguments": {}}), None);
}
