//! The member `http` of a tool.

use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use serde_json::{Map, Value};
use toolgate_config::reference::expand_variables;
use toolgate_config::{Secret, duration};
use url::Url;

use super::{Variables, Why, only_known, text, wrong};
use crate::binding::{
    Binding, Body, BodyKind, LONGEST_TIMEOUT, METHODS, MOST_RETRIES, Parameter, Shape, Style,
};
use crate::template::{Template, written};
use crate::url_template::{BadUrl, UrlTemplate};

const KEYS: [&str; 12] = [
    "method",
    "url",
    "query",
    "headers",
    "auth_ref",
    "body",
    "form",
    "multipart",
    "text",
    "timeout",
    "retries",
    "result",
];

/// Reads it, with the values of its secrets.
pub(super) fn read(http: &Map<String, Value>, variables: &Variables<'_>) -> Result<Binding, Why> {
    only_known(http, &KEYS)?;
    let named = text(http, "method")?.unwrap_or("GET").to_ascii_uppercase();
    let method = METHODS.into_iter().find(|method| method.as_str() == named);
    let method = method.ok_or_else(|| wrong("http.method", "GET, POST, PUT, PATCH or DELETE"))?;
    let url = text(http, "url")?.ok_or_else(|| wrong("http.url", "an address"))?;
    if url.contains("${") {
        return Err(Why::SecretInUrl);
    }
    let url = UrlTemplate::parse(url)?;
    let host = Url::parse(url.origin()).map_err(|_| BadUrl::Host)?;
    let variables = |name: &str| variables(name, &host);
    let mut binding = Binding::new(method, url);
    for (name, value) in members(http, "query")? {
        let value = written(value);
        if value.contains("${") {
            binding.fixed_query.push((name.clone(), Secret::new(expand_variables(&value, &variables)?)));
        } else {
            let value = Template::parse(&value)?;
            binding.query.push(Parameter { name: name.clone(), value, style: Style::default() });
        }
    }
    for (name, value) in members(http, "headers")? {
        let value = expand_variables(&written(value), &variables)?;
        binding.fixed_headers.push(header(name, value)?);
    }
    if let Some(reference) = text(http, "auth_ref")? {
        let variable = reference.strip_prefix("env:").ok_or_else(|| wrong("http.auth_ref", "env:NAME"))?;
        let token = expand_variables(&format!("${{{variable}}}"), &variables)?;
        binding.fixed_headers.push(header("authorization", format!("Bearer {token}"))?);
    }
    binding.body = body(http)?;
    if let Some(written) = text(http, "timeout")? {
        binding.timeout =
            timeout(written).ok_or_else(|| wrong("http.timeout", "a time up to 10m, such as 5s"))?;
    }
    if let Some(retries) = http.get("retries") {
        let retries = retries.as_u64().and_then(|retries| u32::try_from(retries).ok());
        binding.retries = retries
            .filter(|retries| *retries <= MOST_RETRIES)
            .ok_or_else(|| wrong("http.retries", format!("a number from 0 to {MOST_RETRIES}")))?;
    }
    if let Some(pointer) = text(http, "result")? {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(wrong("http.result", "a JSON pointer, such as /rates"));
        }
        pointer.clone_into(&mut binding.result);
    }
    Ok(binding)
}

/// A header that may stand in a request, with a fixed value.
pub(crate) fn header(name: &str, value: String) -> Result<(HeaderName, Secret), Why> {
    let bad = || wrong("http.headers", format!("names and values of headers, which '{name}' is not"));
    let key = HeaderName::try_from(name).map_err(|_| bad())?;
    if matches!(key, HOST | CONTENT_LENGTH | TRANSFER_ENCODING | CONNECTION)
        || HeaderValue::try_from(&value).is_err()
    {
        return Err(bad());
    }
    Ok((key, Secret::new(value)))
}

fn body(http: &Map<String, Value>) -> Result<Option<Body>, Why> {
    let kinds: [(&str, BodyKind); 4] =
        [("body", Body::Json), ("form", Body::Form), ("multipart", Body::Multipart), ("text", Body::Text)];
    let mut stated = kinds.into_iter().filter_map(|(key, kind)| Some((kind, http.get(key)?)));
    let body = match stated.next() {
        Some((kind, value)) => Some(kind(Shape::parse(value)?)),
        None => None,
    };
    if stated.next().is_some() {
        return Err(wrong("http", "given only one of body, form, multipart and text"));
    }
    Ok(body)
}

fn timeout(text: &str) -> Option<Duration> {
    duration::parse(text).ok().filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST_TIMEOUT)
}

fn members<'a>(
    http: &'a Map<String, Value>,
    key: &'static str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, Why> {
    match http.get(key) {
        None | Some(Value::Null) => Ok(None.into_iter().flatten()),
        Some(Value::Object(members)) => Ok(Some(members).into_iter().flatten()),
        Some(_) => Err(wrong(key, "a mapping")),
    }
}
