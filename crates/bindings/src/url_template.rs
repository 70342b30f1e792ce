//! The address of a request: a template whose host is fixed and whose path keeps its shape.
//!
//! An argument is percent-encoded where it stands. That alone would not do: `..` needs no encoding, `%2e%2e` means the same
//! to many servers, and `%2F` is a slash to others. So an argument with a slash is refused unless the template asks for a
//! path, and after filling no segment may mean "here" or "up".

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

use crate::template::{Arguments, BadTemplate, Part, Template, written};

/// All but what RFC 3986 calls unreserved.
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same for a path inside of a path.
const RESERVED_IN_PATHS: &AsciiSet = &RESERVED.remove(b'/');

/// How long a filled address may be.
const MOST_BYTES: usize = 16 * 1024;

/// An address with places for arguments in its path and its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlTemplate {
    /// Scheme, host and port, without a slash at the end.
    origin: String,
    path: Template,
    query: Vec<(String, Template)>,
}

/// Why a text is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It has a scheme that is not spoken.
    #[error("an address must begin with http:// or https://")]
    Scheme,
    /// The host is missing, has places for arguments, or holds a password.
    #[error("the host must be written out, without arguments, user names and passwords")]
    Host,
    /// It has a fragment, which is never sent.
    #[error("an address with '#' cannot be requested")]
    Fragment,
    /// Its path leads up, or it cannot be part of an address.
    #[error("the path must not have '.' or '..' between its slashes, nor blanks or backslashes")]
    Path,
    /// It is no template.
    #[error(transparent)]
    Template(#[from] BadTemplate),
}

/// Why arguments do not fit an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A place has no argument.
    #[error("the argument '{0}' is missing")]
    Missing(String),
    /// The argument would change the path.
    #[error("the argument '{0}' must not be empty, '.' or '..', nor have slashes or backslashes in it")]
    ChangesPath(String),
    /// The argument is a list or an object where a text is needed.
    #[error("the argument '{0}' must be a text or a number")]
    NoText(String),
    /// The arguments are too long for an address.
    #[error("the arguments make an address of more than {MOST_BYTES} bytes")]
    TooLong,
}

impl UrlTemplate {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<UrlTemplate, BadUrl> {
        let scheme = ["http://", "https://"].into_iter().find(|scheme| text.starts_with(scheme));
        let scheme = scheme.ok_or(BadUrl::Scheme)?;
        let rest = text.get(scheme.len()..).unwrap_or_default();
        if rest.contains('#') {
            return Err(BadUrl::Fragment);
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"{}@\\%".contains(c);
        if authority.is_empty() || !authority.chars().all(is_plain) {
            return Err(BadUrl::Host);
        }
        let origin = Url::parse(&format!("{scheme}{authority}/")).map_err(|_| BadUrl::Host)?;
        let origin = origin.as_str().trim_end_matches('/').to_owned();
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = if path.is_empty() { "/" } else { path };
        if path.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
            || path.split('/').any(leads_elsewhere)
        {
            return Err(BadUrl::Path);
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name), Template::parse(&decoded(value))?))
        });
        let query = pairs.collect::<Result<_, BadTemplate>>()?;
        Ok(UrlTemplate { origin, path: Template::parse(path)?, query })
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The parameters of its query.
    pub fn query(&self) -> &[(String, Template)] {
        &self.query
    }

    /// The names of all arguments in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.path.names().chain(self.query.iter().flat_map(|(_, value)| value.names()))
    }

    /// The address with its arguments, without the query.
    pub fn fill(&self, arguments: &Arguments) -> Result<String, Unfit> {
        let mut path = String::new();
        for part in self.path.parts() {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Argument { name, with_slashes } => {
                    path.push_str(&encoded(name, *with_slashes, arguments)?);
                }
            }
        }
        if path.split('/').any(leads_elsewhere) {
            let name = self.path.names().last().unwrap_or_default();
            return Err(Unfit::ChangesPath(name.to_owned()));
        }
        if path.len() > MOST_BYTES {
            return Err(Unfit::TooLong);
        }
        Ok(format!("{}{path}", self.origin))
    }
}

/// Adds the parameters of a query to an address.
pub fn with_query(address: String, parameters: &[(String, String)]) -> Result<String, Unfit> {
    let mut address = address;
    for (place, (name, value)) in parameters.iter().enumerate() {
        address.push(if place == 0 { '?' } else { '&' });
        address.extend(utf8_percent_encode(name, RESERVED));
        address.push('=');
        address.extend(utf8_percent_encode(value, RESERVED));
        if address.len() > MOST_BYTES {
            return Err(Unfit::TooLong);
        }
    }
    Ok(address)
}

fn encoded(name: &str, with_slashes: bool, arguments: &Arguments) -> Result<String, Unfit> {
    let value = arguments.get(name).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| Unfit::Missing(name.to_owned()))?;
    if value.is_object() || value.is_array() {
        return Err(Unfit::NoText(name.to_owned()));
    }
    let text = written(value);
    let changes = text.is_empty()
        || text.contains('\\')
        || if with_slashes { text.split('/').any(leads_elsewhere) } else { text.contains('/') };
    if changes {
        return Err(Unfit::ChangesPath(name.to_owned()));
    }
    let reserved = if with_slashes { RESERVED_IN_PATHS } else { RESERVED };
    Ok(utf8_percent_encode(&text, reserved).to_string())
}

/// Whether a segment means its own folder or the one above it.
fn leads_elsewhere(segment: &str) -> bool {
    matches!(&*percent_decode_str(segment).collect::<Vec<u8>>(), b"." | b"..")
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
