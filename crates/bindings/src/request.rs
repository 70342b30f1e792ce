//! From a binding and the arguments of a call to a request. Pure: nothing is sent here.

mod multipart;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use percent_encoding::utf8_percent_encode;
use serde_json::Value;

use crate::binding::{Binding, Body, Parameter, Style};
use crate::template::{Arguments, Template, written};
use crate::url_template::{RESERVED, Unfit, with_query};
use multipart::Part;

/// A request that can be sent. Only its method is printed: the rest may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Its whole address.
    pub url: String,
    /// Its headers, by names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Bytes,
}

/// Why arguments make no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArguments {
    /// They do not fit the address.
    #[error(transparent)]
    Address(#[from] Unfit),
    /// A value cannot stand in a header.
    #[error("the value for the header '{0}' must be one line of visible ASCII characters")]
    Header(String),
    /// A value cannot stand in a cookie.
    #[error("the value for the cookie '{0}' must be a text or a number")]
    Cookie(String),
    /// A form is made of fields.
    #[error("the body must be an object, whose members are the fields of a form")]
    NoFields,
    /// An object would become parameters that nobody described.
    #[error("the argument '{0}' must not be an object")]
    Object(String),
    /// A member of an object would be a parameter that the request has already.
    #[error("the argument '{argument}' must not have the member '{member}'")]
    Taken {
        /// The argument.
        argument: String,
        /// Its member.
        member: String,
    },
    /// What shall be bytes is not written as such.
    #[error("'{0}' must be bytes, written as base64")]
    NoBytes(String),
}

impl Binding {
    /// The request that these arguments make.
    pub fn request(&self, arguments: &Arguments) -> Result<Request, BadArguments> {
        let mut given = self.defaults.clone();
        // A `null` says of an optional argument what leaving it out does.
        given.extend(
            arguments.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())),
        );
        let mut query = Vec::new();
        for (name, value) in self.url.query() {
            query.extend(value.value(&given).map(|value| (name.clone(), written(&value))));
        }
        for parameter in &self.query {
            self.write_parameter(parameter, &given, &mut query)?;
        }
        query.extend(self.fixed_query.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
        let url = with_query(self.url.fill(&given)?, &query)?;
        let mut headers = self.header_values(&given)?;
        let body = match self.body.as_ref().and_then(|body| Some((body, body.shape().fill(&given)?))) {
            None => Bytes::new(),
            Some((body, value)) => {
                let (kind, bytes) = encode(body, &value)?;
                headers.entry("content-type".to_owned()).or_insert(kind);
                bytes
            }
        };
        Ok(Request { method: self.method.clone(), url, headers, body })
    }

    fn write_parameter(
        &self,
        parameter: &Parameter,
        arguments: &Arguments,
        query: &mut Vec<(String, String)>,
    ) -> Result<(), BadArguments> {
        let name = &parameter.name;
        let Some(value) = parameter.value.value(arguments) else { return Ok(()) };
        match (value, parameter.style) {
            (value, Style::Json) => query.push((name.clone(), value.to_string())),
            (value, Style::Joined(sign)) => query.push((name.clone(), joined(&value, sign))),
            (Value::Array(items), _) => {
                query.extend(items.iter().map(|item| (name.clone(), written(item))));
            }
            (Value::Object(members), Style::Deep) => {
                let member =
                    |(member, value): (&String, &Value)| (format!("{name}[{member}]"), written(value));
                query.extend(members.iter().map(member));
            }
            (Value::Object(members), Style::Members) => {
                if let Some(member) = members.keys().find(|member| self.has_parameter(member)) {
                    return Err(BadArguments::Taken { argument: name.clone(), member: member.clone() });
                }
                query.extend(members.iter().map(|(member, value)| (member.clone(), written(value))));
            }
            (Value::Object(_), Style::Repeated) => return Err(BadArguments::Object(name.clone())),
            (value, _) => query.push((name.clone(), written(&value))),
        }
        Ok(())
    }

    /// Whether the query has a parameter of this name, whatever the arguments are. Many servers take the first of two, which
    /// would be the caller's.
    fn has_parameter(&self, name: &str) -> bool {
        self.fixed_query.iter().any(|(fixed, _)| fixed == name)
            || self.url.query().iter().any(|(stated, _)| stated == name)
            || self.query.iter().any(|parameter| parameter.name == name && parameter.style != Style::Members)
    }

    fn header_values(&self, arguments: &Arguments) -> Result<BTreeMap<String, String>, BadArguments> {
        let mut headers = BTreeMap::from([
            ("accept".to_owned(), "application/json, text/*;q=0.9, */*;q=0.5".to_owned()),
            ("user-agent".to_owned(), concat!("toolgate/", env!("CARGO_PKG_VERSION")).to_owned()),
        ]);
        for (name, template) in &self.headers {
            let Some(value) = template.value(arguments) else { continue };
            let value = joined(&value, ',');
            if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(BadArguments::Header(name.to_string()));
            }
            headers.insert(name.to_string(), value);
        }
        let cookies = self.cookie_values(arguments)?;
        if !cookies.is_empty() {
            headers.insert("cookie".to_owned(), cookies.join("; "));
        }
        headers.extend(
            self.fixed_headers.iter().map(|(name, value)| (name.to_string(), value.expose().to_owned())),
        );
        Ok(headers)
    }

    fn cookie_values(&self, arguments: &Arguments) -> Result<Vec<String>, BadArguments> {
        let cookie = |name: &str, value: &str| format!("{name}={}", utf8_percent_encode(value, RESERVED));
        let mut cookies: Vec<String> =
            self.fixed_cookies.iter().map(|(name, value)| cookie(name, value.expose())).collect();
        for (name, template) in &self.cookies {
            match Template::value(template, arguments) {
                None => {}
                Some(Value::Object(_)) => return Err(BadArguments::Cookie(name.clone())),
                Some(value) => cookies.push(cookie(name, &joined(&value, ','))),
            }
        }
        Ok(cookies)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The value of a header for a user and a password, written `user:password`.
pub fn basic(user_and_password: &str) -> String {
    format!("Basic {}", STANDARD.encode(user_and_password))
}

/// A list as one text; an object as its members' names and values in turn.
fn joined(value: &Value, sign: char) -> String {
    let pieces: Vec<String> = match value {
        Value::Array(items) => items.iter().map(written).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| [name.clone(), written(value)]).collect()
        }
        other => return written(other),
    };
    pieces.join(&sign.to_string())
}

fn encode(body: &Body, value: &Value) -> Result<(String, Bytes), BadArguments> {
    Ok(match body {
        Body::Json(_) => ("application/json".to_owned(), Bytes::from(value.to_string())),
        Body::JsonAs(kind, _) => (kind.clone(), Bytes::from(value.to_string())),
        Body::Bytes(_) => {
            ("application/octet-stream".to_owned(), Bytes::from(bytes("body", &written(value))?))
        }
        Body::Text(_) => ("text/plain; charset=utf-8".to_owned(), Bytes::from(written(value))),
        Body::Form(_) => {
            let pairs = fields(value)?;
            let pair = |(name, value): &(String, String)| {
                format!("{}={}", utf8_percent_encode(name, RESERVED), utf8_percent_encode(value, RESERVED))
            };
            let text = pairs.iter().map(pair).collect::<Vec<_>>().join("&");
            ("application/x-www-form-urlencoded".to_owned(), Bytes::from(text))
        }
        Body::Multipart(_) => multipart::encode(&parts(fields(value)?, &[])?),
        Body::Files(files, _) => multipart::encode(&parts(fields(value)?, files)?),
    })
}

/// Fields as parts of a form, of which those with these names are files.
fn parts(fields: Vec<(String, String)>, files: &[String]) -> Result<Vec<Part>, BadArguments> {
    let part = |(name, value): (String, String)| {
        let is_file = files.contains(&name);
        let content = if is_file { bytes(&name, &value)? } else { value.into_bytes() };
        Ok(Part { name, content, is_file })
    };
    fields.into_iter().map(part).collect()
}

fn bytes(name: &str, base64: &str) -> Result<Vec<u8>, BadArguments> {
    STANDARD.decode(base64).map_err(|_| BadArguments::NoBytes(name.to_owned()))
}

/// The fields of a form; a list is a field for each of its items.
fn fields(value: &Value) -> Result<Vec<(String, String)>, BadArguments> {
    let members = value.as_object().ok_or(BadArguments::NoFields)?;
    let mut fields = Vec::new();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        match value {
            Value::Array(items) => fields.extend(items.iter().map(|item| (name.clone(), written(item)))),
            other => fields.push((name.clone(), written(other))),
        }
    }
    Ok(fields)
}
