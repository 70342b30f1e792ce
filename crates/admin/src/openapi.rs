//! The description of the interface, OpenAPI 3.1, made from the types that are read and written.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};
use toolgate_governance::Explanation;

use crate::answers::{Approvals, CallPage, Decided, Health, Quotas, RecordedCall, Statistics};
use crate::problem::ErrorAnswer;
use crate::questions::{Decision, ExplainQuery, LedgerQuery, NoQuery, QuotasQuery, StatisticsQuery};

/// The whole description.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut description = Description { generator: settings.into_generator(), paths: Map::new() };
    description.get::<StatisticsQuery, Statistics>("/statistics", "Sums over whole days");
    description.get::<LedgerQuery, CallPage>("/ledger", "Calls, newest first, page by page");
    description.get::<NoQuery, RecordedCall>("/ledger/{replica}/{sequence}", "One call with its bodies");
    description.get::<QuotasQuery, Quotas>("/quotas", "What is left of a caller's limits");
    description.get::<ExplainQuery, Explanation>("/explain", "Why a call would or would not happen");
    description.get::<NoQuery, Approvals>("/approvals", "Calls that wait for an operator");
    description.post::<Decision, Decided>("/approvals/{id}", "Decides about a call that waits");
    description.get::<NoQuery, Health>("/servers", "How the gateway and its servers are");
    let openapi = json!({"type": "object"});
    description.add("get", "/openapi.json", "This description", Vec::new(), None, openapi);
    description.finish()
}

struct Description {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Description {
    fn get<Query: JsonSchema, Reply: JsonSchema>(&mut self, path: &str, summary: &str) {
        let parameters = self.parameters::<Query>();
        let reply = self.generator.subschema_for::<Reply>().to_value();
        self.add("get", path, summary, parameters, None, reply);
    }

    fn post<Body: JsonSchema, Reply: JsonSchema>(&mut self, path: &str, summary: &str) {
        let body = self.generator.subschema_for::<Body>().to_value();
        let reply = self.generator.subschema_for::<Reply>().to_value();
        self.add("post", path, summary, Vec::new(), Some(body), reply);
    }

    fn add(
        &mut self,
        method: &str,
        path: &str,
        summary: &str,
        mut parameters: Vec<Value>,
        body: Option<Value>,
        reply: Value,
    ) {
        let problem = self.generator.subschema_for::<ErrorAnswer>().to_value();
        parameters.extend(path_parameters(path));
        let mut operation = json!({
            "summary": summary,
            "operationId": operation_id(method, path),
            "parameters": parameters,
            "responses": {
                "200": {"description": summary, "content": {"application/json": {"schema": reply}}},
                "default": {"description": "What went wrong", "content": {"application/json": {"schema": problem}}},
            },
        });
        if let (Some(body), Some(members)) = (body, operation.as_object_mut()) {
            let body = json!({"required": true, "content": {"application/json": {"schema": body}}});
            members.insert("requestBody".into(), body);
        }
        self.paths.insert(path.to_owned(), json!({method: operation}));
    }

    /// The members of a type as parameters of an address.
    fn parameters<Query: JsonSchema>(&mut self) -> Vec<Value> {
        let schema = Query::json_schema(&mut self.generator).to_value();
        let needed = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties
            .map(|(name, property)| {
                let mut property = property.clone();
                let description = property.as_object_mut().and_then(|members| members.remove("description"));
                without_null(&mut property);
                json!({
                    "name": name,
                    "in": "query",
                    "required": needed.iter().any(|needed| needed == name),
                    "description": description,
                    "schema": property,
                })
            })
            .collect()
    }

    fn finish(mut self) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Toolgate: the operators' interface",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Statistics, ledger, quotas, explanations and approvals. Prices are in millionths of the \
                                operator's unit.",
            },
            "servers": [{"url": "/api/v1"}],
            "security": [{"token": []}],
            "paths": self.paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "schemas": self.generator.take_definitions(true),
            },
        })
    }
}

/// A parameter is given or not: it is never null.
fn without_null(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(types)) = members.get("type")
        && let Some(only) = types.iter().find(|word| *word != "null").cloned()
    {
        members.insert("type".into(), only);
    }
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> + '_ {
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let kind = if name == "replica" { "string" } else { "integer" };
        json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}})
    })
}

fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(['/', '.']).filter(|segment| !segment.is_empty());
    let words = words.map(|segment| segment.trim_matches(['{', '}']));
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The file must hold the description; `UPDATE=1` writes it.
    #[test]
    fn the_reference_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
        let expected = format!("{:#}\n", document());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/reference/openapi.json is out of date; run the tests once with UPDATE=1"
        );
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let text = document.to_string();
        let references = text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next());
        let mut count = 0;
        for reference in references {
            count += 1;
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
        assert!(count > 10, "{count}");
    }
}
