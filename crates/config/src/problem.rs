//! What is wrong with a configuration, said so that a person can go to the place and put it right.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::node::Origin;

/// One thing that is wrong, or worth knowing when it is among the warnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file it was written in; none when it came from a variable or a flag.
    pub file: Option<PathBuf>,
    /// Line, counted from one; zero when there is no line.
    pub line: u32,
    /// Column, counted from one; zero when there is no line.
    pub column: u32,
    /// The value in question, such as `servers.github.url`; empty for the whole file.
    pub path: String,
    /// What is wrong.
    pub what: String,
    /// What would be right; empty when there is nothing to add.
    pub help: String,
    /// The variable or flag it came from, when it did not come from a file.
    pub source: Option<String>,
}

impl Problem {
    pub(crate) fn at(origin: &Origin, path: impl Into<String>, what: impl Into<String>) -> Self {
        let (file, line, column, source) = match origin {
            Origin::Default => (None, 0, 0, None),
            Origin::File { file, line, column } => (Some(file.to_path_buf()), *line, *column, None),
            Origin::Environment(_) | Origin::Flag(_) => (None, 0, 0, Some(origin.to_string())),
        };
        Self { file, line, column, path: path.into(), what: what.into(), help: String::new(), source }
    }

    /// Something that is wrong with a file as a whole.
    pub fn in_file(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_path_buf()),
            line: 0,
            column: 0,
            path: String::new(),
            what: what.into(),
            help: String::new(),
            source: None,
        }
    }

    /// The same with what would be right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(formatter, "{}", file.display())?;
            if self.line > 0 {
                write!(formatter, ":{}:{}", self.line, self.column)?;
            }
            formatter.write_str(": ")?;
        } else if let Some(source) = &self.source {
            write!(formatter, "{source}: ")?;
        }
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.what)?;
        if !self.help.is_empty() {
            write!(formatter, " ({})", self.help)?;
        }
        Ok(())
    }
}

/// The nearest of `known` to `word`, when it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(word.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `servers` and `github` to `servers.github`; a key with a dot or a space is put in quotes.
pub fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && !key.contains(['.', ' ', '[', '"']);
    let key = if plain { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
