use http::HeaderName;
use proptest::prelude::*;
use serde_json::json;
use toolgate_config::Secret;

use super::*;
use crate::binding::Shape;
use crate::url_template::UrlTemplate;

fn object(value: Value) -> Arguments {
    match value {
        Value::Object(members) => members,
        _ => Arguments::new(),
    }
}

fn binding(method: Method) -> Binding {
    Binding::new(method, UrlTemplate::parse("https://h/v1/{id}?fixed=1&maybe={maybe}").unwrap())
}

fn parameter(name: &str, style: Style) -> Parameter {
    Parameter { name: name.to_owned(), value: Template::of_argument(name), style }
}

#[test]
fn absent_arguments_are_left_out_and_defaults_taken() {
    let mut binding = binding(Method::GET);
    binding.defaults = object(json!({"id": "latest", "limit": 10}));
    binding.query = vec![parameter("limit", Style::Repeated), parameter("page", Style::Repeated)];
    let url = |arguments: Value| binding.request(&object(arguments)).unwrap().url;
    assert_eq!(url(json!({})), "https://h/v1/latest?fixed=1&limit=10");
    assert_eq!(
        url(json!({"id": 3, "page": 2, "maybe": "y"})),
        "https://h/v1/3?fixed=1&maybe=y&limit=10&page=2"
    );
    assert_eq!(url(json!({"page": null, "limit": null})), "https://h/v1/latest?fixed=1&limit=10");
}

#[test]
fn lists_and_objects_are_written_as_the_interface_wants_them() {
    let check = |style: Style, value: Value, expected: &str| {
        let mut binding = binding(Method::GET);
        binding.query = vec![parameter("f", style)];
        let url = binding.request(&object(json!({"id": 1, "f": value}))).unwrap().url;
        assert_eq!(url.strip_prefix("https://h/v1/1?fixed=1").unwrap(), expected, "{style:?}");
    };
    check(Style::Repeated, json!([1, "b&c"]), "&f=1&f=b%26c");
    check(Style::Members, json!({"x": 1, "y": true}), "&x=1&y=true");
    check(Style::Members, json!([1, 2]), "&f=1&f=2");
    check(Style::Json, json!({"x": [1]}), "&f=%7B%22x%22%3A%5B1%5D%7D");
    check(Style::Json, json!("a"), "&f=%22a%22");
    check(Style::Joined(','), json!([1, 2]), "&f=1%2C2");
    check(Style::Joined('|'), json!(["a", "b"]), "&f=a%7Cb");
    check(Style::Deep, json!({"x": 1}), "&f%5Bx%5D=1");
    check(Style::Repeated, json!(""), "&f=");
}

#[test]
fn an_object_adds_no_parameter_that_nobody_described() {
    let check = |style: Style, value: Value, expected: BadArguments| {
        let mut binding = binding(Method::GET);
        binding.query = vec![parameter("f", style), parameter("page", Style::Repeated)];
        binding.fixed_query = vec![("key".to_owned(), Secret::new("s3cret"))];
        assert_eq!(binding.request(&object(json!({"id": 1, "f": value}))), Err(expected));
    };
    let taken = |member: &str| BadArguments::Taken { argument: "f".to_owned(), member: member.to_owned() };
    check(Style::Repeated, json!({"key": "mine"}), BadArguments::Object("f".to_owned()));
    check(Style::Members, json!({"key": "mine"}), taken("key"));
    check(Style::Members, json!({"fixed": 2}), taken("fixed"));
    check(Style::Members, json!({"x": 1, "page": 2}), taken("page"));
}

#[test]
fn bytes_are_sent_as_bytes() {
    let shape = || Shape::Filled(Template::of_argument("b"));
    let made = |body: Body, value: Value| {
        let mut binding = binding(Method::POST);
        binding.body = Some(body);
        binding.request(&object(json!({"id": 1, "b": value})))
    };
    let request = made(Body::Bytes(shape()), json!("AP8=")).unwrap();
    assert_eq!(
        (&*request.body, &*request.headers["content-type"]),
        (b"\x00\xff".as_slice(), "application/octet-stream")
    );
    let files = || Body::Files(vec!["file".to_owned()], shape());
    let request = made(files(), json!({"file": "AP8=", "note": "AP8="})).unwrap();
    let expected =
        b"--toolgate-part-0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\
        Content-Type: application/octet-stream\r\n\r\n\x00\xff\r\n--toolgate-part-0\r\n\
        Content-Disposition: form-data; name=\"note\"\r\n\r\nAP8=\r\n--toolgate-part-0--\r\n";
    assert_eq!(request.body.as_ref(), expected.as_slice());
    assert_eq!(made(files(), json!({"file": "no!"})), Err(BadArguments::NoBytes("file".to_owned())));
    assert_eq!(made(Body::Bytes(shape()), json!("no!")), Err(BadArguments::NoBytes("body".to_owned())));
    let patch = Body::JsonAs("application/merge-patch+json".to_owned(), shape());
    assert_eq!(
        made(patch, json!({"a": null})).unwrap().headers["content-type"],
        "application/merge-patch+json"
    );
}

#[test]
fn bodies_have_their_type_and_form() {
    let shape = || {
        Shape::parse(&json!({"sku": "{sku}", "count": "{n}", "note": "for {who}", "tags": ["{sku}", 1]}))
            .unwrap()
    };
    let arguments = object(json!({"id": 1, "sku": "a\"b", "n": 2}));
    let check = |body: Body, kind: &str, expected: &str| {
        let mut binding = binding(Method::POST);
        binding.body = Some(body);
        let request = binding.request(&arguments).unwrap();
        assert!(request.headers["content-type"].starts_with(kind), "{:?}", request.headers["content-type"]);
        assert_eq!(String::from_utf8(request.body.to_vec()).unwrap(), expected);
    };
    check(Body::Json(shape()), "application/json", r#"{"sku":"a\"b","count":2,"tags":["a\"b",1]}"#);
    check(Body::Form(shape()), "application/x-www-form-urlencoded", "sku=a%22b&count=2&tags=a%22b&tags=1");
    check(Body::Text(Shape::parse(&json!("{sku}!")).unwrap()), "text/plain", "a\"b!");
    check(
        Body::Multipart(Shape::parse(&json!({"sku": "{sku}"})).unwrap()),
        "multipart/form-data; boundary=toolgate-part-0",
        "--toolgate-part-0\r\nContent-Disposition: form-data; name=\"sku\"\r\n\r\na\"b\r\n--toolgate-part-0--\r\n",
    );
    let mut binding = binding(Method::POST);
    binding.body = Some(Body::Form(Shape::parse(&json!("{sku}")).unwrap()));
    assert_eq!(binding.request(&arguments), Err(BadArguments::NoFields));
}

#[test]
fn secrets_are_sent_and_never_printed() {
    let mut binding = binding(Method::GET);
    let authorization = HeaderName::from_static("authorization");
    binding.headers = vec![(authorization.clone(), Template::of_argument("id"))];
    binding.fixed_headers = vec![(authorization, Secret::new(basic("user:pass")))];
    binding.fixed_query = vec![("key".to_owned(), Secret::new("s3cr&t"))];
    binding.fixed_cookies = vec![("sid".to_owned(), Secret::new("c;d"))];
    let request = binding.request(&object(json!({"id": "mine"}))).unwrap();
    assert_eq!(request.headers["authorization"], "Basic dXNlcjpwYXNz", "an argument takes no secret's place");
    assert!(request.url.ends_with("&key=s3cr%26t"));
    assert_eq!(request.headers["cookie"], "sid=c%3Bd");
    assert!(!format!("{request:?}{binding:?}").contains("s3cr"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A header has one line, and only headers of the binding are there.
    #[test]
    fn no_argument_adds_a_header(value in prop_oneof![".{0,20}", "[a\r\n: \0]{0,8}"], cookie in ".{0,12}") {
        let mut binding = binding(Method::GET);
        binding.headers = vec![(HeaderName::from_static("x-mine"), Template::parse("v-{h}").unwrap())];
        binding.cookies = vec![("c".to_owned(), Template::of_argument("c"))];
        let made = binding.request(&object(json!({"id": 1, "h": value, "c": cookie})));
        match made {
            Err(error) => {
                prop_assert_eq!(error, BadArguments::Header("x-mine".to_owned()));
                prop_assert!(!value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            Ok(request) => {
                let names: Vec<&str> = request.headers.keys().map(String::as_str).collect();
                prop_assert_eq!(names, ["accept", "cookie", "user-agent", "x-mine"]);
                for text in request.headers.values() {
                    prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}", text);
                }
                prop_assert!(!request.headers["cookie"].contains(';'));
            }
        }
    }

    /// A form read back has the fields that were given.
    #[test]
    fn no_argument_adds_a_field(name in ".{1,8}", value in prop_oneof![".{0,20}", "(\r\n--toolgate-part-[01]){1,2}(--)?"]) {
        let fields = vec![(name, value), ("last".to_owned(), "1".to_owned())];
        let (kind, body) = multipart::encode(&parts(fields.clone(), &[]).unwrap());
        let boundary = kind.split_once("boundary=").unwrap().1;
        let body = std::str::from_utf8(&body).unwrap();
        let parts: Vec<&str> = format!("\r\n{body}").leak().split(&*format!("\r\n--{boundary}")).collect();
        prop_assert_eq!(parts.len(), fields.len() + 2);
        for ((_, value), part) in fields.iter().zip(&parts[1..]) {
            let (head, content) = part.split_once("\r\n\r\n").unwrap();
            prop_assert_eq!(head.matches("\r\n").count(), 1);
            prop_assert_eq!(content, value);
        }
    }
}
