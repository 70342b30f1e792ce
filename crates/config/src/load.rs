//! From files, variables and flags to one [`Config`].
//!
//! The steps, each over one tree: read and convert every file, lay variables and flags on top, fill in what follows
//! from other values, expand references, check shapes and rules, make the typed form. No step stops at a problem;
//! a problem takes its value out of the tree, so that the steps after it see only what is sound.

mod import;
mod located;
mod read;
mod section;

pub use import::{Imported, import};
pub(crate) use read::document;
pub use read::{parse_document, parse_tree, read_document};
pub(crate) use section::Section;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value as Json;

use crate::environment::{self, Overrides};
use crate::model::Config;
use crate::node::{Entry, Node, Origin, Value};
use crate::problem::{Problem, join};
use crate::reference::{Resolver, folder_of, is_variable_name};
use crate::secret::Secret;
use crate::{check, env_file, schema, shown, validate};

/// What to load.
pub struct Request<'a> {
    /// Files or folders, in any known format; a later one wins over an earlier one.
    pub paths: Vec<PathBuf>,
    /// Values from the command line.
    pub overrides: Overrides,
    /// Make problems of what is otherwise a warning: skipped entries, unknown fields, missing variables.
    pub strict: bool,
    /// How variables are looked up.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { paths, overrides, strict, environment: _ } = self;
        formatter
            .debug_struct("Request")
            .field("paths", paths)
            .field("overrides", overrides)
            .field("strict", strict)
            .finish_non_exhaustive()
    }
}

/// What was loaded. With problems, `config` holds only what is sound and should not be put to use.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The effective configuration. Servers in `disabled` are not in it.
    pub config: Config,
    /// What is wrong, in the order of the files.
    pub problems: Vec<Problem>,
    /// What was skipped or is doubtful.
    pub warnings: Vec<Problem>,
    /// Servers that lack a value they need, and which one.
    pub disabled: BTreeMap<String, String>,
    /// Where each value that was written came from, by its path. What is not here is a default.
    pub origins: BTreeMap<String, Origin>,
    /// Texts with references as they were written, by their path: what is shown in place of the values. Those of
    /// servers' records are masked where they may be secret.
    pub written: BTreeMap<String, String>,
    /// What was read, to be watched.
    pub files: LoadedFiles,
    /// What is there and was passed over, because it cannot be read.
    pub skipped: Skipped,
    /// When reading began; none where nothing was read.
    pub began: Option<SystemTime>,
}

impl Loaded {
    /// A problem with the value at this path, with the place where it was written: of a mapping, where its first value was.
    pub fn problem_at(&self, path: &str, what: impl Into<String>) -> Problem {
        let place = |origin: &Origin| match origin {
            Origin::File { line, column, .. } => (*line, *column),
            _ => (0, 0),
        };
        let first = || self.origins_below(path).min_by_key(|origin| place(origin));
        let origin = self.origins.get(path).or_else(first);
        Problem::at(origin.unwrap_or(&Origin::Default), path, what)
    }

    /// The file in which the record of a server was written.
    pub fn file_of(&self, server: &str) -> Option<&Path> {
        let in_section = |section: Section| {
            let path = join(section.key(), server);
            self.origins_below(&path).find_map(|origin| match origin {
                Origin::File { file, .. } => Some(&**file),
                _ => None,
            })
        };
        Section::ALL.into_iter().find_map(in_section)
    }

    fn origins_below<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a Origin> {
        let is_below =
            move |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']));
        let below = self.origins.range(path.to_owned()..).take_while(move |(key, _)| key.starts_with(path));
        below.filter(move |(key, _)| is_below(key)).map(|(_, origin)| origin)
    }
}

/// What formats in which a bad entry costs only itself have lost. Whoever served it before may want to keep it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Servers, and what is wrong with their records.
    pub servers: BTreeMap<String, Vec<Problem>>,
    /// Files with the record of one server each, and what is wrong with them.
    pub files: BTreeMap<PathBuf, Problem>,
}

/// What a configuration was read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedFiles {
    /// Files, those behind references included.
    pub files: Vec<PathBuf>,
    /// Folders of server records, in which files may appear.
    pub folders: Vec<PathBuf>,
}

/// Loads a configuration. This never fails as a whole: look at [`Loaded::problems`].
pub fn load(request: &Request<'_>) -> Loaded {
    let began = Some(SystemTime::now());
    let mut gathered = read::gather(&request.paths, request.strict);
    environment::apply_variables(&mut gathered.tree, request.environment);
    environment::apply_overrides(&mut gathered.tree, &request.overrides);
    let mut loading = Loading {
        strict: request.strict,
        resolver: Resolver { environment: request.environment, files: Vec::new() },
        lenient: gathered.lenient,
        loaded: Loaded {
            problems: gathered.problems,
            warnings: gathered.warnings,
            files: gathered.files,
            skipped: Skipped { servers: BTreeMap::new(), files: gathered.unreadable },
            began,
            ..Loaded::default()
        },
    };
    loading.finish(gathered.tree);
    loading.loaded
}

struct Loading<'a> {
    strict: bool,
    resolver: Resolver<'a>,
    /// Servers from formats in which a bad entry is skipped rather than fatal.
    lenient: BTreeSet<String>,
    loaded: Loaded,
}

impl Loading<'_> {
    fn finish(&mut self, mut tree: Node) {
        let sections = Section::ALL.map(|section| (section, tree.remove(section.key())));
        self.resolver.expand_tree(&mut tree, &mut |node, error| {
            self.loaded.problems.push(Problem::at(&node.origin, "", error.to_string()));
        });
        located::settings(&self.resolver, &mut tree);
        let schema = schema::shared();
        let definitions = schema.get("$defs").unwrap_or(&Json::Null);
        check::check(definitions, schema, &mut tree, "", &mut self.loaded.problems);
        validate::whole(&tree, &mut self.loaded.problems);
        validate::doubts(&tree, &mut self.loaded.warnings);

        let mut credentials = BTreeMap::new();
        for (section, records) in sections {
            let Some(mut records) = records else { continue };
            self.check_records(section, &mut records, &tree, &mut credentials);
            if !records.entries().is_empty() {
                tree.set(section.key(), records);
            }
        }
        validate::names(&tree, &mut self.loaded.problems);
        self.type_tree(&tree, credentials);
        self.loaded.files.files.append(&mut self.resolver.files);
        self.loaded.files.files.sort();
        self.loaded.files.files.dedup();
        self.loaded.problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    }

    /// Takes out the records that cannot be used.
    fn check_records(
        &mut self,
        section: Section,
        node: &mut Node,
        settings: &Node,
        credentials: &mut BTreeMap<String, Secret>,
    ) {
        if node.value != Value::Null && node.entries_mut().is_none() {
            let what = format!("expected a mapping of names to {}, found {}", section.key(), node.kind());
            self.loaded.problems.push(Problem::at(&node.origin, section.key(), what));
        }
        let call_timeout = settings.get("runtime").and_then(|runtime| runtime.get("call_timeout"));
        let Some(entries) = node.entries_mut() else { return };
        entries.retain_mut(|entry| {
            section.derive_values(&mut entry.node, call_timeout);
            match self.resolve_server(section, entry) {
                Ok(credential) => {
                    credentials.extend(credential.map(|secret| (entry.key.clone(), secret)));
                    self.check_record(section, entry)
                }
                Err(reason) => self.disable(section, entry, reason),
            }
        });
    }

    /// Puts values in place of references and fetches the credential; the reason when one is missing.
    fn resolve_server(&mut self, section: Section, entry: &mut Entry) -> Result<Option<Secret>, String> {
        let mut reason = None;
        self.resolver.expand_tree(&mut entry.node, &mut |_, error| {
            reason.get_or_insert_with(|| error.to_string());
        });
        if let Some(reason) = reason {
            return Err(reason);
        }
        shown::mask_written(&mut entry.node);
        let foreign = self.lenient.contains(&entry.key);
        located::record(&self.resolver, section, &mut entry.node, foreign);
        self.hand_variables_on(&mut entry.node)?;
        let Some(auth_ref) = entry.node.get("auth_ref") else { return Ok(None) };
        let Some(text) = auth_ref.as_text() else { return Ok(None) };
        let folder = folder_of(&auth_ref.origin);
        self.resolver.secret(text, &folder).map(Some).map_err(|error| error.to_string())
    }

    /// Adds the variables named in `env_from` and those of `env_file` to `env`, where those written there win.
    fn hand_variables_on(&mut self, record: &mut Node) -> Result<(), String> {
        if record.get("env").is_some_and(|env| !matches!(env.value, Value::Mapping(_) | Value::Null)) {
            return Ok(());
        }
        let mut variables = Vec::new();
        for node in record.get("env_from").map(Node::items).unwrap_or_default() {
            let Some(name) = node.as_text().filter(|name| is_variable_name(name)) else { continue };
            let value = self.resolver.variable(name);
            let value = value.ok_or_else(|| format!("the variable {name} is not set (named in env_from)"))?;
            variables.push((node.origin.clone(), name.to_owned(), value));
        }
        if let Some((node, path)) = record.get("env_file").and_then(|node| Some((node, node.as_text()?))) {
            let text = self.resolver.file(Path::new(path)).map_err(|error| error.to_string())?;
            let listed = env_file::parse(&text);
            let listed = listed.map_err(|line| format!("{path}:{line}: expected NAME=value"))?;
            variables.extend(listed.into_iter().map(|(name, value)| (node.origin.clone(), name, value)));
        }
        for (origin, name, value) in variables {
            let mut env = record.remove("env").unwrap_or_else(|| Node::empty_mapping(&origin));
            if env.get(&name).is_none() {
                env.set(&name, Node::text(&origin, value));
            }
            record.set("env", env);
        }
        Ok(())
    }

    fn disable(&mut self, section: Section, entry: &Entry, reason: String) -> bool {
        // A server that is switched off needs no values, and misses none.
        let switched_off = entry.node.get("enabled").and_then(Node::as_text) == Some("false");
        let problem =
            Problem::at(&entry.origin, join(section.key(), &entry.key), format!("disabled: {reason}"));
        if self.strict && !switched_off {
            self.loaded.problems.push(problem);
        } else if !switched_off {
            self.loaded.warnings.push(problem);
        }
        self.loaded.disabled.insert(entry.key.clone(), reason);
        false
    }

    fn check_record(&mut self, section: Section, entry: &mut Entry) -> bool {
        let mut problems = Vec::new();
        let path = join(section.key(), &entry.key);
        let definitions = schema::shared().get("$defs").unwrap_or(&Json::Null);
        let schema = definitions.get(section.definition()).unwrap_or(&Json::Null);
        if entry.node.value == Value::Null {
            problems
                .push(Problem::at(&entry.origin, &path, "this server has no record").help(section.least()));
        } else if check::check(definitions, schema, &mut entry.node, &path, &mut problems) {
            validate::record(section, entry, &mut problems);
        }
        if problems.is_empty() {
            return true;
        }
        if self.lenient.contains(&entry.key) && !self.strict {
            for problem in &mut problems {
                problem.what = format!("skipped this server: {}", problem.what);
            }
            self.loaded.skipped.servers.insert(entry.key.clone(), problems.clone());
            self.loaded.warnings.append(&mut problems);
        } else {
            self.loaded.problems.append(&mut problems);
        }
        false
    }

    fn type_tree(&mut self, tree: &Node, mut credentials: BTreeMap<String, Secret>) {
        match serde_json::from_value::<Config>(tree.to_json()) {
            Ok(config) => self.loaded.config = config,
            Err(error) => {
                self.loaded.problems.push(Problem::at(&tree.origin, "", format!("cannot be read: {error}")));
            }
        }
        let Config { servers, handlers, .. } = &mut self.loaded.config;
        for (name, server) in &mut *servers {
            server.credential = credentials.remove(name);
            server.written = written_in(tree, Section::Servers, name);
        }
        for (name, record) in handlers {
            record.server.written = written_in(tree, Section::Handlers, name);
            servers.insert(name.clone(), record.as_server());
        }
        walk(tree, "", &mut |path, node| {
            self.loaded.origins.insert(path.to_owned(), node.origin.clone());
            self.loaded.written.extend(node.written.clone().map(|text| (path.to_owned(), text)));
        });
    }
}

/// The texts with references in one record, as they were written.
fn written_in(tree: &Node, section: Section, name: &str) -> BTreeMap<String, String> {
    let mut written = BTreeMap::new();
    if let Some(record) = tree.get(section.key()).and_then(|records| records.get(name)) {
        walk(record, "", &mut |path, node| {
            written.extend(node.written.clone().map(|text| (path.to_owned(), text)));
        });
    }
    written
}

/// Calls `see` for every scalar and every list, with its path.
fn walk(node: &Node, path: &str, see: &mut dyn FnMut(&str, &Node)) {
    match &node.value {
        Value::Mapping(entries) => {
            entries.iter().for_each(|entry| walk(&entry.node, &join(path, &entry.key), see))
        }
        Value::Sequence(items) => {
            see(path, node);
            items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{path}[{index}]"), see));
        }
        _ => see(path, node),
    }
}
