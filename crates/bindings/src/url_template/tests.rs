use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(members) => members,
        _ => Arguments::new(),
    }
}

#[test]
fn arguments_are_encoded_where_they_stand() {
    let check = |template: &str, value: Value, expected: Result<&str, ()>| {
        let filled = UrlTemplate::parse(template).unwrap().fill(&arguments(json!({ "a": value })));
        assert_eq!(filled.map_err(|_| ()), expected.map(str::to_owned), "{template} {value}");
    };
    check("https://h/v1/{a}", json!("x"), Ok("https://h/v1/x"));
    check("https://H:443/v1/{a}", json!(7), Ok("https://h/v1/7"));
    check("https://h:8443/{a}.json", json!("ä b?#&=%"), Ok("https://h:8443/%C3%A4%20b%3F%23%26%3D%25.json"));
    check("https://h/{+a}", json!("x/y z"), Ok("https://h/x/y%20z"));
    check("https://h", json!("x"), Ok("https://h/"));
    check("https://h/a..b/{a}", json!("a..b"), Ok("https://h/a..b/a..b"));
    check("https://h/{a}", json!("x\r\nHost: evil"), Ok("https://h/x%0D%0AHost%3A%20evil"));
    check("https://h/{a}", json!("%2e%2e"), Ok("https://h/%252e%252e"));
    for bad in ["", ".", "..", "a/b", "a\\b", "../x"] {
        check("https://h/v1/{a}/x", json!(bad), Err(()));
    }
    for bad in ["", "..", "a/../b", "./b", "a\\b", "a/."] {
        check("https://h/v1/{+a}", json!(bad), Err(()));
    }
    // Neither a piece of the template nor a second argument completes what is refused.
    check("https://h/v1/{a}./x", json!("."), Err(()));
    check("https://h/v1/{a}{a}/x", json!("."), Err(()));
    check("https://h/{a}", json!(null), Err(()));
    check("https://h/{a}", json!(["x"]), Err(()));
    check("https://h/{b}", json!("x"), Err(()));
}

#[test]
fn what_is_no_address_is_refused() {
    let check = |template: &str, expected: BadUrl| {
        assert_eq!(UrlTemplate::parse(template), Err(expected), "{template}");
    };
    check("ftp://h/", BadUrl::Scheme);
    check("//h/", BadUrl::Scheme);
    check("file:///etc/passwd", BadUrl::Scheme);
    check("https://{host}/", BadUrl::Host);
    check("https://h{a}", BadUrl::Host);
    check("https://user:secret@h/", BadUrl::Host);
    check("https://h\\@evil/", BadUrl::Host);
    check("https:///x", BadUrl::Host);
    check("https://h:99999/", BadUrl::Host);
    check("https://h/#x", BadUrl::Fragment);
    check("https://h/../x", BadUrl::Path);
    check("https://h/%2E%2e/x", BadUrl::Path);
    check("https://h/a b", BadUrl::Path);
    assert!(matches!(UrlTemplate::parse("https://h/{a"), Err(BadUrl::Template(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever an argument is: the request goes to the same host, with as many segments as the template has, and the
    /// server reads back exactly the argument.
    #[test]
    fn no_argument_changes_where_a_request_goes(
        value in prop_oneof![".{0,12}", "[./\\\\%2eEfF?#@:;&= \r\n\t]{0,8}"],
        template in prop::sample::select(vec!["/v1/{a}/end", "/v1/x-{a}", "/{a}"]),
    ) {
        let filled = UrlTemplate::parse(&format!("https://api.example.com{template}")).unwrap()
            .fill(&arguments(json!({ "a": value })));
        if let Ok(address) = filled {
            let url = Url::parse(&address).unwrap();
            prop_assert_eq!(url.as_str(), &address, "nothing is left to be made simpler");
            prop_assert_eq!(url.host_str(), Some("api.example.com"));
            prop_assert_eq!(url.port(), None);
            prop_assert!(url.query().is_none() && url.fragment().is_none());
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), template.split('/').count() - 1);
            let read: String = percent_decode_str(url.path()).decode_utf8().unwrap().into_owned();
            prop_assert_eq!(read, template.replace("{a}", &value));
        } else {
            prop_assert!(value.is_empty() || value.contains(['/', '\\']) || value == "." || value == "..");
        }
    }

    /// A path stays below the place where the template puts it.
    #[test]
    fn no_path_leads_up(value in prop_oneof!["[a./%2e\\\\]{0,10}", ".{0,12}"]) {
        let template = UrlTemplate::parse("https://api.example.com/files/{+a}").unwrap();
        if let Ok(address) = template.fill(&arguments(json!({ "a": value }))) {
            let url = Url::parse(&address).unwrap();
            prop_assert_eq!(url.host_str(), Some("api.example.com"));
            prop_assert!(url.path().starts_with("/files/"), "{}", url);
            prop_assert_eq!(url.as_str(), &address);
        }
    }

    /// A parameter is one parameter, with this value.
    #[test]
    fn no_argument_adds_a_parameter(name in ".{1,8}", value in ".{0,20}") {
        let pairs = [(name.clone(), value.clone()), ("last".to_owned(), "1".to_owned())];
        let url = Url::parse(&with_query("https://h/".to_owned(), &pairs).unwrap()).unwrap();
        let read: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        prop_assert_eq!(read, pairs.to_vec());
    }
}
