use std::fs;

use proptest::prelude::*;

use crate::library::{Library, Selection};
use crate::limits::Limits;
use crate::scan;

fn library(skills: &[(&str, &str)]) -> Library {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in skills {
        let skill = folder.path().join(path);
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), text).unwrap();
    }
    scan(&[folder.path().to_path_buf()], &Limits::default(), None)
}

fn shop() -> Library {
    library(&[
        (
            "billing/refunds",
            "---\nname: refunds\ndescription: Give money back\ntags: [money]\n---\nCheck the order.",
        ),
        (
            "billing/invoices",
            "---\nname: invoices\ndescription: Write an invoice\ntags: [money, paper]\n---\nAn order.",
        ),
        (
            "stock/reorder",
            "---\nname: reorder\ndescription: Order what runs out\n---\norder order order refunds",
        ),
        ("stock/盘点", "# 库存盘点\n每月盘点库存"),
    ])
}

fn found(library: &Library, query: &str, selection: &Selection) -> Vec<String> {
    library.find(query, selection, 10).iter().map(|hit| hit.skill.name.clone()).collect()
}

#[test]
fn what_fits_best_comes_first() {
    let library = shop();
    let check = |query: &str, expected: &[&str]| {
        assert_eq!(found(&library, query, &Selection::default()), expected, "{query}");
    };
    check("refunds", &["refunds", "reorder"]);
    check("money", &["refunds", "invoices"]);
    check("Order", &["reorder", "invoices", "refunds"]);
    check("invo", &["invoices"]);
    check("盘点", &["盘点"]);
    check("nothing like this: xyz", &[]);
    check("", &[]);
}

#[test]
fn a_search_keeps_to_its_selection() {
    let library = shop();
    let stock = Selection::parse("skill://stock/*").unwrap();
    assert_eq!(found(&library, "order", &stock), ["reorder"]);
    let paper = Selection::default().with_tags(["Paper".to_owned()]);
    assert_eq!(found(&library, "order", &paper), ["invoices"]);
    assert_eq!(library.find("order", &Selection::default(), 1).len(), 1);
}

proptest! {
    #[test]
    fn any_query_is_answered_the_same_way_twice(query in "\\PC{0,60}") {
        let library = shop();
        let first = found(&library, &query, &Selection::default());
        prop_assert!(first.len() <= 4);
        prop_assert_eq!(first, found(&library, &query, &Selection::default()));
    }
}
