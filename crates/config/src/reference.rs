//! References in values: `${VAR}`, `${VAR:-default}`, `${ENV:VAR}`, `${ENV:VAR:-default}`, `${file:PATH}`; `$$` is
//! a plain `$`.
//!
//! A dollar that begins none of these stays as it is, because arguments full of `$1` are common. An empty variable
//! counts as absent where there is a default, as in a shell.

pub(crate) mod auth;

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::node::{Node, Origin, Value};

/// Files read through `${file:…}` may be this large: keys and certificates are, documents are not.
const MAX_REFERENCED_BYTES: u64 = 64 * 1024;

/// Why a reference has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The variable is not set and there is no default.
    #[error("the variable {name} is not set; set it, or give a default with ${{{name}:-…}}")]
    Missing {
        /// The variable.
        name: String,
    },
    /// `${` without `}`.
    #[error("`${{` has no closing `}}`; write `$$` for a plain dollar")]
    Unclosed,
    /// What stands between the braces is no reference.
    #[error("`${{{body}}}` is not a reference; write ${{VAR}}, ${{VAR:-default}} or ${{file:PATH}}")]
    Unknown {
        /// What stands between the braces.
        body: String,
    },
    /// The file cannot be used.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// `auth_ref` has none of the known forms.
    #[error("`auth_ref` must be env:NAME, file:PATH or keyring:SERVICE/ACCOUNT")]
    AuthForm,
    /// The keyring did not give the secret.
    #[error("keyring entry {entry}: {why}")]
    Keyring {
        /// Service and account.
        entry: String,
        /// Why not.
        why: String,
    },
}

/// Looks references up and remembers which files were read for them.
pub(crate) struct Resolver<'a> {
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) files: Vec<PathBuf>,
}

impl Resolver<'_> {
    /// Puts values in place of the references in one text. Relative files are looked for in `folder`.
    pub(crate) fn expand(&mut self, text: &str, folder: &Path) -> Result<String, ReferenceError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from_dollar) = rest.split_at(at);
            out.push_str(before);
            if let Some(after) = from_dollar.strip_prefix("$$") {
                out.push('$');
                rest = after;
            } else if let Some(after) = from_dollar.strip_prefix("${") {
                let (body, after) = split_reference(after).ok_or(ReferenceError::Unclosed)?;
                out.push_str(&self.value(body, folder)?);
                rest = after;
            } else {
                out.push('$');
                rest = from_dollar.get(1..).unwrap_or_default();
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Expands every text below `node`, files relative to the file the text stands in; failures go to `report`.
    pub(crate) fn expand_tree(&mut self, node: &mut Node, report: &mut dyn FnMut(&Node, ReferenceError)) {
        match &mut node.value {
            Value::Text(text) if text.contains('$') => match self.expand(text, &folder_of(&node.origin)) {
                Ok(expanded) => node.written = Some(std::mem::replace(text, expanded)),
                Err(error) => report(node, error),
            },
            Value::Sequence(items) => {
                items.iter_mut().for_each(|item| self.expand_tree(item, report));
            }
            Value::Mapping(entries) => {
                entries.iter_mut().for_each(|entry| self.expand_tree(&mut entry.node, report));
            }
            _ => {}
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name)
    }

    fn value(&mut self, body: &str, folder: &Path) -> Result<String, ReferenceError> {
        if let Some(path) = body.strip_prefix("file:") {
            return self.file(&self.located(path, folder));
        }
        let prefix = body.get(..4).filter(|prefix| prefix.eq_ignore_ascii_case("env:"));
        let named = prefix.map_or(body, |prefix| body.strip_prefix(prefix).unwrap_or(body));
        let (name, default) = match named.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (named, None),
        };
        if !is_variable_name(name) {
            return Err(ReferenceError::Unknown { body: body.to_owned() });
        }
        match (self.variable(name), default) {
            (Some(value), None) => Ok(value),
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(ReferenceError::Missing { name: name.to_owned() }),
        }
    }

    /// The content of a small file, without the newline editors put at the end.
    pub(crate) fn file(&mut self, path: &Path) -> Result<String, ReferenceError> {
        let failure = |why: String| ReferenceError::File { path: path.to_path_buf(), why };
        let file = fs::File::open(path).map_err(|error| failure(error.to_string()))?;
        let mut text = String::new();
        // Devices and pipes have no size to ask for, so it is the reading that is bounded.
        let read = file.take(MAX_REFERENCED_BYTES + 1).read_to_string(&mut text);
        if read.map_err(|error| failure(error.to_string()))? as u64 > MAX_REFERENCED_BYTES {
            return Err(failure(format!("larger than {MAX_REFERENCED_BYTES} bytes")));
        }
        self.files.push(path.to_path_buf());
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
    }

    /// A path as it was meant: `~/` is the home directory, anything relative is in `folder`.
    pub(crate) fn located(&self, path: &str, folder: &Path) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => PathBuf::from(self.variable("HOME").unwrap_or_default()).join(rest),
            None => folder.join(path),
        }
    }
}

/// Where the references of a text are, with their dollars and braces.
pub(crate) fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(dollar) = text.get(at..).and_then(|rest| rest.find('$')).map(|found| at + found) {
        let rest = text.get(dollar..).unwrap_or_default();
        let length = match rest.strip_prefix("${").and_then(split_reference) {
            Some((body, _)) => "${".len() + body.len() + "}".len(),
            None if rest.starts_with("$$") => "$$".len(),
            None => "$".len(),
        };
        at = dollar + length;
        if length > "$$".len() {
            spans.push(dollar..at);
        }
    }
    spans
}

/// What stands between `${` and its `}`, and what follows. A default may have braces of its own, such as
/// `${LIMITS:-{"a": 1}}`, where they come in pairs.
pub(crate) fn split_reference(text: &str) -> Option<(&str, &str)> {
    let (first, after_first) = text.split_once('}')?;
    let Some(default) = first.find(":-").map(|at| at + 2) else { return Some((first, after_first)) };
    let mut depth = 0_usize;
    for (at, character) in text.char_indices().skip_while(|(at, _)| *at < default) {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    Some((first, after_first))
}

/// Puts the values of variables in place of the references in a text that is not the operator's own: files are not read
/// for it, and `environment` says which variables it may use.
pub fn expand_variables(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, ReferenceError> {
    if let Some((_, body)) = text.split_once("${file:") {
        let path = body.split('}').next().unwrap_or_default();
        return Err(ReferenceError::Unknown { body: format!("file:{path}") });
    }
    Resolver { environment, files: Vec::new() }.expand(text, Path::new(""))
}

/// Writes text so that expanding it gives the text back.
pub fn escape(text: &str) -> String {
    text.replace('$', "$$")
}

pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A folder with nothing left out before it and no `.` in it, so that it means the same from everywhere.
pub(crate) fn absolute(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(Path::new(".").join(folder));
    whole.unwrap_or_else(|_| folder.to_path_buf()).components().collect()
}

/// The folder relative files are looked for in: that of the file a value was written in.
pub(crate) fn folder_of(origin: &Origin) -> PathBuf {
    match origin {
        Origin::File { file, .. } => file.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => PathBuf::new(),
    }
}
