//! Where configurations are found: ours by a fixed search order, those of other programs in their usual places.

use std::path::{Path, PathBuf};

/// Names of our own file, and of those we take as ours, in a project folder. The first that exists counts.
const IN_WORKSPACE: [&str; 8] = [
    "toolgate.yaml",
    "toolgate.yml",
    "toolgate.json",
    "toolgate.toml",
    "mcp-server.yaml",
    "mcp.json",
    ".mcp.json",
    ".vscode/mcp.json",
];

/// Where to look.
pub struct Search<'a> {
    /// The file named by the caller, if any.
    pub argument: Option<PathBuf>,
    /// The project folder.
    pub workspace: PathBuf,
    /// How variables are looked up.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Search")
            .field("argument", &self.argument)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

/// The operating systems whose customs we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and its like.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The one this program was built for.
    pub const fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// A place where another program keeps its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The program.
    pub program: &'static str,
    /// The file.
    pub path: PathBuf,
}

/// The file to load: by variable, argument, project folder, home directory, in that order.
///
/// A file that was named is returned even if it does not exist, so that its absence is reported; a file that is only
/// looked for must exist.
pub fn find(search: &Search<'_>) -> Option<PathBuf> {
    let named = |name: &str| (search.environment)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("EXCELMANUS_MCP_CONFIG")
        .or_else(|| search.argument.clone())
        .or_else(|| named("TOOLGATE_CONFIG"))
        .or_else(|| named("SMS_MCP_DIR"))
        .or_else(|| candidates(search).into_iter().find(|path| path.is_file()))
}

/// The files that are looked for when none is named, in their order.
pub fn candidates(search: &Search<'_>) -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = IN_WORKSPACE.iter().map(|name| search.workspace.join(name)).collect();
    let home = home(search.environment);
    if let Some(folder) = config_folder(System::here(), home.as_deref(), search.environment) {
        candidates.push(folder.join("toolgate").join("toolgate.yaml"));
    }
    candidates.extend(home.map(|home| home.join(".excelmanus").join("mcp.json")));
    candidates
}

/// Where other programs keep their configuration on `system`, whether or not the files exist.
pub fn places(system: System, workspace: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Vec<Place> {
    let mut places = vec![
        Place { program: "Claude Code", path: workspace.join(".mcp.json") },
        Place { program: "Cursor", path: workspace.join(".cursor/mcp.json") },
        Place { program: "VS Code", path: workspace.join(".vscode/mcp.json") },
    ];
    let home = home(environment);
    if let Some(home) = &home {
        let in_home = [
            ("Claude Code", ".claude.json"),
            ("Cursor", ".cursor/mcp.json"),
            ("Windsurf", ".codeium/windsurf/mcp_config.json"),
            ("Codex", ".codex/config.toml"),
            ("Gemini CLI", ".gemini/settings.json"),
            ("Kiro", ".kiro/settings/mcp.json"),
            ("LM Studio", ".lmstudio/mcp.json"),
            ("ExcelManus", ".excelmanus/mcp.json"),
        ];
        places.extend(in_home.map(|(program, path)| Place { program, path: home.join(path) }));
    }
    if let Some(folder) = config_folder(system, home.as_deref(), environment) {
        let in_folder = [
            ("Claude Desktop", "Claude/claude_desktop_config.json"),
            ("VS Code", "Code/User/mcp.json"),
            ("VS Code Insiders", "Code - Insiders/User/mcp.json"),
            ("VSCodium", "VSCodium/User/mcp.json"),
            ("Cline", "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ];
        places.extend(in_folder.map(|(program, path)| Place { program, path: folder.join(path) }));
    }
    places
}

/// The folder in which programs keep their configuration.
fn config_folder(
    system: System,
    home: Option<&Path>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<PathBuf> {
    match system {
        System::Linux => environment("XDG_CONFIG_HOME")
            .filter(|folder| folder.starts_with('/'))
            .map(PathBuf::from)
            .or_else(|| home.map(|home| home.join(".config"))),
        System::MacOs => home.map(|home| home.join("Library/Application Support")),
        System::Windows => environment("APPDATA")
            .map(PathBuf::from)
            .or_else(|| home.map(|home| home.join("AppData/Roaming"))),
    }
}

fn home(environment: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = environment("HOME").or_else(|| environment("USERPROFILE"));
    home.filter(|home| !home.is_empty()).map(PathBuf::from)
}
