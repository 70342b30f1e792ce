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
