use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn settings() -> Settings {
    Settings {
        operations: Vec::new(),
        tags: Vec::new(),
        paths: Vec::new(),
        exclude: Vec::new(),
        naming: Naming::OperationId,
        base_url: None,
        document_url: None,
        credentials: BTreeMap::new(),
        headers: Vec::new(),
        timeout: Duration::from_secs(5),
        retries: 2,
        max_tools: 100,
    }
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
}

/// A shop with an operation of every kind.
fn shop(version: &str) -> Value {
    json!({
        "openapi": version,
        "servers": [{"url": "https://{place}.shop.example/v1/", "variables": {"place": {"default": "eu"}}}],
        "paths": {
            "/orders/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {"operationId": "getOrder", "summary": "Read an order", "tags": ["orders"], "parameters": [
                    {"name": "expand", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}, "explode": false},
                    {"name": "id", "in": "query", "schema": {"type": "string"}},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "lang", "in": "cookie", "schema": {"type": "string", "default": "de"}},
                ]},
                "delete": {"tags": ["orders", "danger"], "security": []},
            },
            "/orders": {"post": {"operationId": "create order", "requestBody": {"required": true, "content": {
                "application/xml": {},
                "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Order"}},
            }}}},
            "/login": {"post": {"operationId": "login", "requestBody": {"content": {
                "application/x-www-form-urlencoded": {"schema": {"type": "object"}},
            }}}},
            "/xml": {"post": {"operationId": "xml", "requestBody": {"content": {"application/xml": {}}}}},
            "/outside": {"get": {"operationId": "outside", "parameters": [{"$ref": "other.yaml#/x"}]}},
            "/matrix/{m}": {"get": {"operationId": "matrix", "parameters": [
                {"name": "m", "in": "path", "style": "matrix", "schema": {}}]}},
            "/undescribed/{x}": {"get": {"operationId": "undescribed"}},
        },
        "components": {
            "parameters": {"Id": {"name": "id", "in": "path", "required": true, "description": "Its number",
                "schema": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}}},
            "schemas": {"Order": {"type": "object", "required": ["sku", "number"], "x-mcp-header": "Evil", "properties": {
                "number": {"type": "integer", "readOnly": true},
                "sku": {"type": "string", "nullable": true, "enum": ["a", "b"]},
                "parent": {"$ref": "#/components/schemas/Order"},
            }}},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
                "query": {"type": "apiKey", "in": "query", "name": "k"},
                "basic": {"type": "http", "scheme": "Basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
                "odd": {"type": "mutualTLS"},
            },
        },
    })
}

fn names(built: &Built) -> Vec<&str> {
    built.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn operations_become_tools_and_what_cannot_is_named() {
    for version in ["3.0.3", "3.1.0"] {
        let built = tools(&shop(version), &settings()).unwrap();
        assert_eq!(names(&built), ["create_order", "delete_orders_id", "getOrder", "login"]);
        let left_out: Vec<&str> = built.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left_out, ["xml", "outside", "matrix", "undescribed"]);
        for tool in built.tools.iter() {
            assert!(jsonschema::meta::is_valid(&tool.input_schema), "{}", tool.input_schema);
            assert!(jsonschema::validator_for(&tool.input_schema).is_ok(), "{}", tool.input_schema);
        }
    }
    assert_eq!(tools(&json!({"swagger": "2.0"}), &settings()).unwrap_err(), BadDocument::Version);
    assert_eq!(tools(&json!({"openapi": "3.1.0"}), &settings()).unwrap_err(), BadDocument::NoPaths);
}

#[test]
fn parameters_go_to_their_places() {
    let built = tools(&shop("3.0.3"), &settings()).unwrap();
    let tool = built.tools.get("getOrder").unwrap();
    let properties = &tool.input_schema["properties"];
    assert_eq!(
        properties["id_2"],
        json!({"type": "integer", "exclusiveMinimum": 0, "description": "Its number"})
    );
    assert!(properties.get("Authorization").is_none());
    assert_eq!(tool.input_schema["required"], json!(["id_2"]));
    let arguments = json!({"id_2": 7, "id": "q", "expand": ["a", "b"], "X-Trace": "t"});
    let request = tool.binding.request(arguments.as_object().unwrap()).unwrap();
    assert_eq!(request.url, "https://eu.shop.example/v1/orders/7?expand=a%2Cb&id=q");
    assert_eq!((&*request.headers["x-trace"], &*request.headers["cookie"]), ("t", "lang=de"));
    assert_eq!((tool.binding.retries, tool.effects.read_only), (2, true));
    let delete = built.tools.get("delete_orders_id").unwrap();
    assert_eq!((delete.effects.destructive, delete.effects.read_only), (true, false));
}

#[test]
fn bodies_are_one_argument_and_circles_are_cut() {
    let built = tools(&shop("3.0.3"), &settings()).unwrap();
    let tool = built.tools.get("create_order").unwrap();
    assert_eq!(tool.binding.retries, 0, "what creates something is not repeated");
    let body = &tool.input_schema["properties"]["body"];
    assert_eq!(body["properties"]["sku"], json!({"type": ["string", "null"], "enum": ["a", "b", null]}));
    assert_eq!(body["required"], json!(["sku"]));
    assert_eq!(body["properties"]["parent"], json!({}), "a schema inside of itself allows anything");
    assert!(!body.to_string().contains("x-mcp-header"));
    let request = tool.binding.request(json!({"body": {"sku": "a"}}).as_object().unwrap()).unwrap();
    assert_eq!(
        (&*request.body, &*request.headers["content-type"]),
        (br#"{"sku":"a"}"#.as_slice(), "application/json")
    );
    let login = built.tools.get("login").unwrap();
    let request = login.binding.request(json!({"body": {"user": "ä&b"}}).as_object().unwrap()).unwrap();
    assert_eq!(&*request.body, b"user=%C3%A4%26b");
}

/// A document with one operation, `op`.
fn document(operation: &Value) -> Value {
    let mut operation = operation.clone();
    operation["operationId"] = json!("op");
    json!({"openapi": "3.1.0", "servers": [{"url": "https://h"}], "paths": {"/": {"post": operation}}})
}

fn body_of(kind: &str, schema: &Value) -> Value {
    json!({"requestBody": {"content": {kind: {"schema": schema}}}})
}

#[test]
fn bodies_are_sent_as_the_type_that_is_asked_for() {
    let check = |kind: &str, schema: Value, body: Value, sent: &str, bytes: &[u8]| {
        let built = tools(&document(&body_of(kind, &schema)), &settings()).unwrap();
        let tool = built.tools.get("op").unwrap_or_else(|| panic!("{:?}", built.left_out));
        let request = tool.binding.request(json!({ "body": body }).as_object().unwrap()).unwrap();
        assert!(request.headers["content-type"].starts_with(sent), "{kind}");
        assert!(request.body.windows(bytes.len()).any(|piece| piece == bytes), "{kind}");
        tool.input_schema["properties"]["body"].clone()
    };
    check(
        "application/merge-patch+json",
        json!({}),
        json!({"a": 1}),
        "application/merge-patch+json",
        br#"{"a":1}"#,
    );
    check("*/*", json!({}), json!({"a": 1}), "application/json", br#"{"a":1}"#);
    let binary = json!({"type": "string", "format": "binary"});
    let schema = check(
        "application/octet-stream",
        binary.clone(),
        json!("AP8="),
        "application/octet-stream",
        b"\x00\xff",
    );
    assert_eq!(schema["contentEncoding"], "base64");
    let form =
        json!({"type": "object", "properties": {"file": binary, "more": {"type": "array", "items": binary}}});
    let body = json!({"file": "AP8=", "more": ["AQI="]});
    let schema = check("multipart/form-data", form, body, "multipart/form-data", b"\x00\xff");
    assert_eq!(schema["properties"]["more"]["items"]["contentEncoding"], "base64");
}

#[test]
fn parameters_that_are_json_are_sent_as_json() {
    let with = |schema: Value, more: Value| {
        let mut parameter = json!({"name": "filter", "in": "query", "schema": schema});
        parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tools(&document(&json!({"parameters": [parameter]})), &settings()).unwrap()
    };
    let url = |built: &Built, value: Value| {
        let arguments = json!({ "filter": value });
        let made = built.tools.get("op").unwrap().binding.request(arguments.as_object().unwrap());
        made.map(|request| request.url).map_err(|error| error.to_string())
    };
    let json_content = json!({"content": {"application/json": {"schema": {"type": "object"}}}});
    let as_json = with(Value::Null, json_content);
    assert_eq!(url(&as_json, json!({"a": 1})).unwrap(), "https://h/?filter=%7B%22a%22%3A1%7D");
    let as_members = with(json!({"type": "object"}), json!({}));
    assert_eq!(url(&as_members, json!({"a": 1})).unwrap(), "https://h/?a=1");
    let open = with(json!({}), json!({}));
    assert!(url(&open, json!({"a": 1})).unwrap_err().contains("must not be an object"));
    let xml = with(Value::Null, json!({"content": {"application/xml": {}}}));
    assert_eq!(xml.left_out, [("op".to_owned(), LeftOut::Style("filter".to_owned()))]);
}

#[test]
fn what_is_no_schema_leaves_its_operation_out() {
    for schema in [
        json!({"type": "file"}),
        json!({"properties": {"a": {"type": "string", "required": true}}}),
        json!({"minimum": "1"}),
        json!({"enum": "a"}),
        json!({"pattern": "("}),
    ] {
        let built = tools(&document(&body_of("application/json", &schema)), &settings()).unwrap();
        let [(_, LeftOut::Schema(why))] = &*built.left_out else { panic!("{schema}: {:?}", built.left_out) };
        assert!(why.path.starts_with("/properties/body") || schema.get("pattern").is_some(), "{why}");
    }
}

/// Something like a schema: members that schemas have, with values that these may have, or others may.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(1)),
        Just(json!(-1.5)),
        Just(Value::Null),
        Just(json!("string")),
        Just(json!("file")),
        Just(json!("object")),
        Just(json!(["string", "null"])),
        Just(json!(["a", 1])),
        Just(json!("#/components/schemas/S")),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "required",
        "enum",
        "minimum",
        "exclusiveMinimum",
        "items",
        "properties",
        "additionalProperties",
        "allOf",
        "anyOf",
        "not",
        "$ref",
        "nullable",
        "format",
        "pattern",
        "maxLength",
        "default",
        "const",
        "$id",
        "$schema",
        "$dynamicRef",
        "$anchor",
        "prefixItems",
        "patternProperties",
        "dependentRequired",
        "multipleOf",
        "title",
    ]);
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever a document says, a tool's arguments can be checked, or it is not offered.
    #[test]
    fn every_tool_has_a_schema(body in schemas(), parameter in schemas(), shared in schemas()) {
        let mut operation = body_of("application/json", &body);
        operation["parameters"] = json!([{"name": "p", "in": "query", "schema": parameter}]);
        let mut document = document(&operation);
        document["components"] = json!({"schemas": {"S": shared}});
        let built = tools(&document, &settings()).unwrap();
        prop_assert_eq!(built.tools.len() + built.left_out.len(), 1);
        for tool in built.tools.iter() {
            prop_assert!(jsonschema::draft202012::meta::is_valid(&tool.input_schema), "{}", tool.input_schema);
            prop_assert!(jsonschema::options().build(&tool.input_schema).is_ok(), "{}", tool.input_schema);
        }
    }
}

#[test]
fn operations_are_chosen_and_named() {
    let check = |change: fn(&mut Settings), expected: &[&str]| {
        let mut settings = settings();
        change(&mut settings);
        assert_eq!(names(&tools(&shop("3.1.0"), &settings).unwrap()), expected);
    };
    check(|settings| settings.operations = patterns(&["get*"]), &["getOrder"]);
    check(|settings| settings.tags = patterns(&["danger"]), &["delete_orders_id"]);
    check(|settings| settings.paths = patterns(&["/orders/*"]), &["delete_orders_id", "getOrder"]);
    check(|settings| settings.exclude = patterns(&["*o*"]), &["delete_orders_id", "getOrder"]);
    check(|settings| settings.max_tools = 1, &["getOrder"]);
    check(
        |settings| settings.naming = Naming::MethodPath,
        &["delete_orders_id", "get_orders_id", "post_login", "post_orders"],
    );
}

#[test]
fn secrets_are_sent_as_the_scheme_says() {
    let check = |security: Value, secrets: &[&str], expected: Option<(&str, &str)>| {
        let mut document = shop("3.1.0");
        document["security"] = security.clone();
        let mut settings = settings();
        settings.operations = patterns(&["getOrder"]);
        settings.credentials = secrets.iter().map(|name| ((*name).to_owned(), Secret::new("u:p"))).collect();
        let built = tools(&document, &settings).unwrap();
        let Some((header, value)) = expected else {
            assert!(built.tools.is_empty(), "{security}");
            return;
        };
        let tool = built.tools.get("getOrder").unwrap();
        let request = tool.binding.request(json!({"id_2": 1}).as_object().unwrap()).unwrap();
        let sent = if header == "url" { Some(&request.url) } else { request.headers.get(header) };
        assert!(sent.is_some_and(|sent| sent.contains(value)), "{security}: {sent:?}");
        assert!(!format!("{tool:?}").contains("u:p"));
    };
    check(json!([{"key": []}]), &["key"], Some(("x-key", "u:p")));
    check(json!([{"cookie": []}]), &["cookie"], Some(("cookie", "sid=u%3Ap")));
    check(json!([{"query": []}]), &["query"], Some(("url", "k=u%3Ap")));
    check(json!([{"basic": []}]), &["basic"], Some(("authorization", "Basic dTpw")));
    check(json!([{"bearer": []}, {"key": []}]), &["key"], Some(("x-key", "u:p")));
    check(json!([{}, {"bearer": []}]), &["bearer"], Some(("authorization", "Bearer u:p")));
    check(json!([{}, {"bearer": []}]), &[], Some(("url", "orders")));
    check(json!([{"bearer": []}]), &[], None);
    check(json!([{"key": [], "bearer": []}]), &["key"], None);
    check(json!([{"odd": []}]), &["odd"], None);
}

#[test]
fn servers_are_found_or_given() {
    let check = |servers: Value, base: Option<&str>, from: Option<&str>, expected: Option<&str>| {
        let mut document = shop("3.1.0");
        document["servers"] = servers;
        let mut settings = settings();
        settings.operations = patterns(&["login"]);
        settings.base_url = base.map(str::to_owned);
        settings.document_url = from.map(|url| Url::parse(url).unwrap());
        let built = tools(&document, &settings).unwrap();
        let url = built.tools.get("login").map(|tool| tool.binding.request(&Map::new()).unwrap().url);
        assert_eq!(url.as_deref(), expected);
    };
    check(json!([{"url": "https://a/v1/"}]), None, None, Some("https://a/v1/login"));
    check(json!([{"url": "https://a/v1/"}]), Some("http://b:8"), None, Some("http://b:8/login"));
    check(json!([{"url": "/v2"}]), None, Some("https://c/docs/openapi.json"), Some("https://c/v2/login"));
    check(json!([{"url": "/v2"}]), None, None, None);
    check(json!([]), None, None, None);
    check(json!([{"url": "https://{host}/"}]), None, None, None);
}

#[test]
fn a_document_that_grows_without_end_ends() {
    let mut schemas = Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", number + 1)});
        schemas.insert(format!("S{number}"), json!({"properties": {"a": next, "b": next, "c": next}}));
    }
    let document = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h"}],
        "paths": {"/": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}}}},
        "components": {"schemas": schemas},
    });
    let built = tools(&document, &settings()).unwrap();
    let size = built.tools.iter().next().unwrap().input_schema.to_string().len();
    assert!(size < 1_000_000, "{size}");
    let circle = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h"}],
        "paths": {"/": {"get": {"operationId": "x", "parameters": [{"$ref": "#/components/parameters/A"}]}}},
        "components": {"parameters": {"A": {"$ref": "#/components/parameters/A"}}},
    });
    assert_eq!(tools(&circle, &settings()).unwrap().left_out.len(), 1);
}
