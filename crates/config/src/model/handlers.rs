//! Section `handlers`: Python functions that are tools.
//!
//! A record becomes the record of a server whose program is a worker (`python -m toolgate.worker`), so everything else
//! knows servers only. It has all keys of a server but those that say how one is reached.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::servers::{EraChoice, ServerConfig, Transport};
use crate::Secret;

/// Keys of a server that follow from those of its handlers.
const DERIVED: [&str; 8] =
    ["transport", "command", "args", "url", "headers", "auth_ref", "era", "trust_prices"];

/// Python functions that are tools: where they are, and what runs them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", default)]
#[schemars(transform = without_derived_keys)]
pub struct HandlersConfig {
    /// Where the functions are: files (`orders.py`), folders of files (`./handlers`), or modules (`shop.orders`). What has
    /// a `/` or ends with `.py` is a path, relative to this file; a module is looked for in `cwd` first.
    pub modules: Vec<String>,
    /// The Python that runs them: a path, or a name that is looked up in PATH. It needs the package `toolgate`. Without
    /// `python`, `venv` and `uv` it is that of `.venv` beside this file, if there is one, otherwise `python3`.
    pub python: Option<String>,
    /// Folder of the virtual environment whose Python runs them.
    pub venv: Option<PathBuf>,
    /// Folder of the project whose Python runs them, by `uv run --project`.
    pub uv: Option<PathBuf>,
    /// Start them anew when one of their files changes. What cannot be imported changes nothing.
    pub watch: bool,
    /// Tell clients where in the code an error happened.
    pub dev: bool,
    /// What a server and its handlers have in common.
    #[serde(flatten)]
    pub server: ServerConfig,
}

impl Default for HandlersConfig {
    fn default() -> Self {
        Self {
            modules: Vec::new(),
            python: None,
            venv: None,
            uv: None,
            watch: true,
            dev: false,
            server: ServerConfig::default(),
        }
    }
}

/// The Python sources behind a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// Files, folders and modules.
    pub modules: Vec<String>,
    /// Where modules are looked for.
    pub folder: PathBuf,
    /// Whether a change of them counts.
    pub watch: bool,
}

impl Sources {
    /// The folders that the files are in, with all below them. Modules that are installed elsewhere are not among them.
    pub fn roots(&self) -> Vec<PathBuf> {
        let root_of = |module: &String| {
            if is_path(module) {
                let path = self.folder.join(module);
                return if path.is_dir() { Some(path) } else { path.parent().map(Path::to_path_buf) };
            }
            let first = self.folder.join(module.split('.').next().unwrap_or_default());
            if first.is_dir() {
                return Some(first);
            }
            first.with_extension("py").is_file().then(|| self.folder.clone())
        };
        self.modules.iter().filter_map(root_of).collect()
    }
}

impl HandlersConfig {
    /// The record of the server that serves them.
    #[must_use]
    pub fn as_server(&self) -> ServerConfig {
        let (command, mut args) = self.interpreter();
        args.extend(["-m", "toolgate.worker", "--strict"].map(str::to_owned));
        if self.dev {
            args.push("--dev".to_owned());
        }
        let before = args.len();
        args.extend(self.modules.iter().cloned());
        let mut server = self.server.clone();
        for (index, _) in self.modules.iter().enumerate() {
            if let Some(text) = server.written.remove(&format!("modules[{index}]")) {
                server.written.insert(format!("args[{}]", before + index), text);
            }
        }
        // A worker believes what is said of callers only where it knows that a gateway says it.
        server.env.insert("TOOLGATE_GATEWAY".to_owned(), Secret::new("1"));
        if self.watch {
            // Compiled files count as fresh for a second, so the second of two quick changes would not be seen.
            server.env.entry("PYTHONDONTWRITEBYTECODE".to_owned()).or_insert_with(|| Secret::new("1"));
        }
        ServerConfig {
            transport: Transport::Stdio,
            command: Some(command),
            args,
            // Workers of ours speak both; in this one, questions need no connection of their own.
            era: EraChoice::Modern,
            trust_prices: true,
            sources: Some(Sources {
                modules: self.modules.clone(),
                folder: self.server.cwd.clone().unwrap_or_default(),
                watch: self.watch,
            }),
            ..server
        }
    }

    /// The program that is started, and its first arguments.
    fn interpreter(&self) -> (String, Vec<String>) {
        match (&self.python, &self.venv, &self.uv) {
            (Some(python), _, _) => (python.clone(), Vec::new()),
            (None, Some(venv), _) => (python_of(venv).display().to_string(), Vec::new()),
            (None, None, Some(project)) => {
                let project = project.display().to_string();
                ("uv".to_owned(), ["run", "--project", &project, "python"].map(str::to_owned).to_vec())
            }
            (None, None, None) => ("python3".to_owned(), Vec::new()),
        }
    }
}

/// The interpreter of a virtual environment.
pub(crate) fn python_of(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Whether the name of a module is a path.
pub(crate) fn is_path(module: &str) -> bool {
    module.contains('/') || module.ends_with(".py")
}

impl Serialize for HandlersConfig {
    /// Without what follows from other keys, and with texts as they were written.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown =
            Self::serialize(self, serde_json::value::Serializer).map_err(serde::ser::Error::custom)?;
        if let Json::Object(members) = &mut shown {
            DERIVED.iter().for_each(|key| drop(members.remove(*key)));
        }
        for (place, text) in &self.server.written {
            let pointer = format!("/{}", place.replace('[', "/").replace(']', ""));
            if let (Some(value), false) = (shown.pointer_mut(&pointer), place.starts_with("env.")) {
                *value = Json::from(text.as_str());
            }
        }
        shown.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HandlersConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

fn without_derived_keys(schema: &mut Schema) {
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        DERIVED.iter().for_each(|key| drop(properties.remove(*key)));
    }
    schema.insert("required".to_owned(), Json::from(["modules"].as_slice()));
    schema.remove("unevaluatedProperties");
    schema.insert("additionalProperties".to_owned(), Json::Bool(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_become_a_server_that_starts_a_worker() {
        let check = |record: Json, command: &str, args: &str| {
            let handlers: HandlersConfig = serde_json::from_value(record).unwrap();
            let server = handlers.as_server();
            assert_eq!((server.command.as_deref(), server.args.join(" ").as_str()), (Some(command), args));
            assert!(server.trust_prices);
        };
        let modules = serde_json::json!(["shop.orders", "/srv/more.py"]);
        let with = |key: &str, value: Json| serde_json::json!({"modules": modules, key: value});
        let worker = "-m toolgate.worker --strict shop.orders /srv/more.py";
        check(with("processes", 2.into()), "python3", worker);
        check(with("python", "/opt/python".into()), "/opt/python", worker);
        check(with("venv", "/srv/.venv".into()), "/srv/.venv/bin/python", worker);
        check(with("uv", "/srv".into()), "uv", &format!("run --project /srv python {worker}"));
        check(
            with("dev", true.into()),
            "python3",
            "-m toolgate.worker --strict --dev shop.orders /srv/more.py",
        );
    }
}
