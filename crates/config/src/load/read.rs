//! Reading: every file and folder becomes a native tree, and the trees become one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::{LoadedFiles, Section};
use crate::format::{self, Converted, Format};
use crate::node::{self, MAX_FILE_BYTES, Node, Origin, Value};
use crate::problem::{Problem, join};

/// All files as one native tree.
pub(super) struct Gathered {
    pub(super) tree: Node,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    pub(super) lenient: BTreeSet<String>,
    pub(super) files: LoadedFiles,
    /// Files of one record each that were passed over.
    pub(super) unreadable: BTreeMap<PathBuf, Problem>,
}

/// Reads all paths; a later one wins over an earlier one.
pub(super) fn gather(paths: &[PathBuf], strict: bool) -> Gathered {
    let mut gathered = Gathered {
        tree: Node::empty_mapping(&Origin::Default),
        problems: Vec::new(),
        warnings: Vec::new(),
        lenient: BTreeSet::new(),
        files: LoadedFiles::default(),
        unreadable: BTreeMap::new(),
    };
    for path in paths {
        if path.is_dir() {
            gathered.folder(path, strict);
        } else {
            gathered.files.files.push(path.clone());
            gathered.file(path, strict);
        }
    }
    gathered
}

/// Reads and parses one file, whatever its format.
pub(crate) fn document(path: &Path) -> Result<Node, Box<Problem>> {
    parse_tree(&text_of(path)?, path)
}

/// Parses a YAML, JSON or TOML document of any content, within the limits of configuration files. `path` is where it is from.
pub fn parse_document(text: &str, path: &Path) -> Result<Json, Box<Problem>> {
    parse_tree(text, path).map(|document| document.to_json())
}

/// Reads and parses one document of any content from a file.
pub fn read_document(path: &Path) -> Result<Json, Box<Problem>> {
    document(path).map(|document| document.to_json())
}

/// Parses such a document into a tree whose values know their lines.
pub fn parse_tree(text: &str, path: &Path) -> Result<Node, Box<Problem>> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Box::new(Problem::in_file(path, format!("larger than {MAX_FILE_BYTES} bytes"))));
    }
    let file: Arc<Path> = Arc::from(path);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let parsed = match extension {
        "toml" => node::toml::parse(text, &file),
        "json" | "jsonc" => node::json::parse(text, &file),
        _ if text.trim_start().starts_with('{') => node::json::parse(text, &file),
        _ => node::yaml::parse(text, &file),
    };
    parsed.map_err(|error| {
        let origin = Origin::File { file: Arc::clone(&file), line: error.line, column: error.column };
        Box::new(Problem::at(&origin, "", error.what))
    })
}

fn text_of(path: &Path) -> Result<String, Box<Problem>> {
    let unreadable = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file",
            std::io::ErrorKind::PermissionDenied => "permission denied",
            _ => "",
        };
        let what = if help.is_empty() { format!("cannot be read: {error}") } else { "cannot be read".into() };
        Box::new(Problem::in_file(path, what).help(help))
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Box::new(Problem::in_file(path, format!("larger than {MAX_FILE_BYTES} bytes"))));
    }
    String::from_utf8(bytes).map_err(|_| Box::new(Problem::in_file(path, "not UTF-8 text")))
}

impl Gathered {
    fn file(&mut self, path: &Path, strict: bool) {
        match document(path) {
            Ok(document) => {
                if let Some(folder) = format::spear::folder_named_in(&document) {
                    self.folder(&path.parent().unwrap_or(Path::new("")).join(folder), strict);
                }
                let converted = format::convert(path, document);
                self.add(converted, strict);
            }
            Err(problem) => self.problems.push(*problem),
        }
    }

    fn folder(&mut self, path: &Path, strict: bool) {
        self.files.folders.push(path.to_path_buf());
        let (converted, files) = format::spear::folder(path);
        self.files.files.extend(files);
        self.add(converted, strict);
    }

    fn add(&mut self, converted: Converted, strict: bool) {
        let Converted { tree, mut warnings, mut problems, format, unreadable } = converted;
        self.problems.append(&mut problems);
        self.unreadable.extend(unreadable);
        self.report(&mut warnings, strict);
        if tree.value != Value::Null && tree.entries().is_empty() && !matches!(tree.value, Value::Mapping(_))
        {
            let what = format!("the file must hold a mapping, not {}", tree.kind());
            self.problems.push(Problem::at(&tree.origin, "", what));
            return;
        }
        for entry in tree.get("servers").map(Node::entries).unwrap_or_default() {
            if let Some(earlier) = self.tree.get("servers").and_then(|servers| servers.get(&entry.key)) {
                let what = format!("also defined in {}; this one counts", earlier.origin);
                self.warnings.push(Problem::at(&entry.origin, join("servers", &entry.key), what));
            }
            if format == Format::Native {
                self.lenient.remove(&entry.key);
            } else {
                self.lenient.insert(entry.key.clone());
            }
        }
        self.merge(tree);
    }

    /// Records of servers replace each other whole; a mix of two records is what nobody wrote.
    fn merge(&mut self, mut tree: Node) {
        for section in Section::ALL {
            let Some(records) = tree.remove(section.key()) else { continue };
            match self.tree.get_mut(section.key()) {
                Some(present) if !records.entries().is_empty() => {
                    records.entries().iter().for_each(|entry| present.put(entry.clone()));
                }
                Some(_) if records.value == Value::Null => {}
                _ => self.tree.set(section.key(), records),
            }
        }
        if tree.value != Value::Null {
            self.tree.merge(tree);
        }
    }

    pub(super) fn report(&mut self, found: &mut Vec<Problem>, strict: bool) {
        if strict { self.problems.append(found) } else { self.warnings.append(found) }
    }
}
