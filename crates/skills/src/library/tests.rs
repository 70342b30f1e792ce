use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::limits::Limits;
use crate::scan;

fn write(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn read(folder: &Path) -> Library {
    scan(&[folder.to_path_buf()], &Limits::default(), None)
}

const REFUNDS: &str =
    "---\nname: refunds\ndescription: Give money back\ntags: [money]\nx: [1]\n---\n# Refunds\n";

fn shop() -> (tempfile::TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "billing/refunds/SKILL.md", REFUNDS);
    write(folder.path(), "billing/refunds/templates/mail.md", "Dear");
    write(folder.path(), "billing/refunds/templates/eu/mail.md", "Liebe");
    write(folder.path(), "billing-old/plain/SKILL.md", "# Only text\n");
    write(folder.path(), "alone/SKILL.md", "---\nname: alone\ndescription: By itself\n---\n");
    let library = read(folder.path());
    (folder, library)
}

#[test]
fn a_uri_and_its_alias_lead_to_the_document() {
    let (_folder, library) = shop();
    let check = |uri: &str, expected: Option<&str>| {
        let found = match library.at(uri) {
            Ok(Place::File(file)) => Some(file.uri.to_string()),
            Ok(Place::Folder(path)) => Some(format!("folder {path}")),
            Err(_) => None,
        };
        assert_eq!(found.as_deref(), expected, "{uri}");
    };
    let document = "skill://billing/refunds/SKILL.md";
    check(document, Some(document));
    check("skill://billing/refunds", Some(document));
    check("skill://billing/%72efunds", None);
    check("skill://billing/refunds/templates/mail.md", Some("skill://billing/refunds/templates/mail.md"));
    check("skill://billing/refunds/templates", Some("folder billing/refunds/templates"));
    check("skill://billing", Some("folder billing"));
    check("skill://general/alone", Some("skill://general/alone/SKILL.md"));
    check("skill://alone", None);
    check("skill://billing/refund", None);
    check("skill://billing/refunds/../refunds", None);
    check("file:///etc/passwd", None);
}

#[test]
fn an_entry_has_the_whole_frontmatter_and_every_file() {
    let (_folder, library) = shop();
    let entry = library.skill("skill://billing/refunds").unwrap().entry().unwrap();
    assert_eq!(entry["uri"], "skill://billing/refunds/SKILL.md");
    let head = json!({"name": "refunds", "description": "Give money back", "tags": ["money"], "x": [1]});
    assert_eq!(entry["frontmatter"], head);
    let files: Vec<(&str, u64)> = entry["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["uri"].as_str().unwrap(), file["size"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ("skill://billing/refunds/SKILL.md", REFUNDS.len() as u64),
            ("skill://billing/refunds/templates/eu/mail.md", 5),
            ("skill://billing/refunds/templates/mail.md", 4),
        ]
    );
    let digest = crate::Digest::of(b"Dear").to_string();
    assert_eq!(entry["resources"][2]["digest"], digest);
    let plain = library.skill("skill://billing-old/plain/SKILL.md").unwrap();
    assert_eq!(plain.entry(), None);
    assert_eq!(plain.description, "Only text");
}

#[test]
fn a_folder_lists_what_is_directly_in_it() {
    let (_folder, library) = shop();
    let check = |uri: &str, expected: Option<&[&str]>| {
        let name = |child: &Child| match child {
            Child::File(file) => file.path.to_string(),
            Child::Folder(path) => format!("{path}/"),
        };
        let listed =
            library.folder(uri).ok().flatten().map(|children| children.iter().map(name).collect::<Vec<_>>());
        assert_eq!(
            listed.as_deref().map(|all| all.iter().map(String::as_str).collect()),
            expected.map(<[_]>::to_vec)
        );
    };
    check("skill://billing", Some(&["billing/refunds/"]));
    check("skill://billing/refunds", Some(&["billing/refunds/SKILL.md", "billing/refunds/templates/"]));
    check(
        "skill://billing/refunds/templates",
        Some(&["billing/refunds/templates/eu/", "billing/refunds/templates/mail.md"]),
    );
    check("skill://billing/refunds/SKILL.md", None);
    check("skill://nowhere", None);
}

#[test]
fn skills_are_selected_by_category_and_tag() {
    let (_folder, library) = shop();
    let check = |selection: Selection, expected: &[&str]| {
        let names: Vec<&str> = library.select(&selection).map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, expected, "{selection:?}");
    };
    check(Selection::default(), &["plain", "refunds", "alone"]);
    check(Selection::parse("skill://*").unwrap(), &["plain", "refunds", "alone"]);
    check(Selection::parse("skill://billing/*").unwrap(), &["refunds"]);
    check(Selection::of_category("billing-old").unwrap(), &["plain"]);
    check(Selection::default().with_tags(["MONEY".to_owned()]), &["refunds"]);
    check(Selection::of_category("nowhere").unwrap(), &[]);
    check(Selection::of_category("no where").unwrap(), &[]);
    assert!(Selection::of_category("a/../b").is_err());
    assert!(Selection::parse("skill://../*").is_err());
}

#[test]
fn a_difference_says_what_came_went_and_changed() {
    let (folder, before) = shop();
    assert!(read(folder.path()).since(&before).is_empty());
    write(folder.path(), "billing/refunds/new.md", "new");
    write(folder.path(), "billing/refunds/templates/mail.md", "Hello");
    fs::remove_file(folder.path().join("alone/SKILL.md")).unwrap();
    let difference = read(folder.path()).since(&before);
    let texts = |uris: &[Arc<str>]| uris.iter().map(|uri| uri.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&difference.added), ["skill://billing/refunds/new.md"]);
    assert_eq!(texts(&difference.changed), ["skill://billing/refunds/templates/mail.md"]);
    assert_eq!(texts(&difference.removed), ["skill://general/alone/SKILL.md"]);
}
