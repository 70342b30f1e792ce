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
