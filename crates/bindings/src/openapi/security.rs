//! The security schemes of an operation, with the operator's secrets.

use std::collections::BTreeMap;

use http::HeaderName;
use http::header::{AUTHORIZATION, HOST};
use serde_json::{Map, Value};
use toolgate_config::Secret;

use super::LeftOut;
use super::parameters::is_cookie_name;
use super::references::Document;
use crate::binding::Binding;
use crate::request::basic;

/// Adds what the first alternative wants for which there are secrets. One that wants nothing comes last: with a secret,
/// more is allowed.
pub(super) fn apply(
    document: &Document<'_>,
    operation: &Map<String, Value>,
    credentials: &BTreeMap<String, Secret>,
    binding: &mut Binding,
) -> Result<(), LeftOut> {
    let stated = operation.get("security").or_else(|| document.root().get("security"));
    let Some(alternatives) = stated.and_then(Value::as_array).filter(|alternatives| !alternatives.is_empty())
    else {
        return Ok(());
    };
    let wanted: Vec<Vec<&str>> = alternatives
        .iter()
        .filter_map(Value::as_object)
        .map(|schemes| schemes.keys().map(String::as_str).collect())
        .collect();
    let has_all = |schemes: &&Vec<&str>| {
        !schemes.is_empty() && schemes.iter().all(|scheme| credentials.contains_key(*scheme))
    };
    let Some(schemes) = wanted.iter().find(has_all) else {
        if wanted.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let names: Vec<String> = wanted.iter().map(|schemes| schemes.join(" with ")).collect();
        return Err(LeftOut::Credential(names.join(" or ")));
    };
    for scheme in schemes {
        let unknown = || LeftOut::Reference(format!("#/components/securitySchemes/{scheme}"));
        let described =
            document.root().pointer("/components/securitySchemes").and_then(|all| all.get(*scheme));
        let described = document.resolve(described.ok_or_else(unknown)?)?;
        let secret = credentials.get(*scheme).ok_or_else(unknown)?;
        add(described, secret, binding).ok_or_else(|| LeftOut::Credential((*scheme).to_owned()))?;
    }
    Ok(())
}

fn add(scheme: &Value, secret: &Secret, binding: &mut Binding) -> Option<()> {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str);
    let bearer = || Secret::new(format!("Bearer {}", secret.expose()));
    match (text("type")?, text("in"), text("scheme").map(str::to_ascii_lowercase).as_deref()) {
        ("apiKey", Some("header"), _) => {
            let header = HeaderName::try_from(text("name")?).ok().filter(|header| *header != HOST)?;
            binding.fixed_headers.push((header, secret.clone()));
        }
        ("apiKey", Some("query"), _) => binding.fixed_query.push((text("name")?.to_owned(), secret.clone())),
        ("apiKey", Some("cookie"), _) => {
            let name = text("name").filter(|name| is_cookie_name(name))?;
            binding.fixed_cookies.push((name.to_owned(), secret.clone()));
        }
        ("http", _, Some("basic")) => {
            binding.fixed_headers.push((AUTHORIZATION, Secret::new(basic(secret.expose()))));
        }
        // Where a token comes from is the operator's affair.
        ("http", _, Some("bearer")) | ("oauth2" | "openIdConnect", _, _) => {
            binding.fixed_headers.push((AUTHORIZATION, bearer()));
        }
        _ => return None,
    }
    Some(())
}
