//! `toolgate import`: the servers of another program, or of a file in any known format, in our own file.
//!
//! A file of ours that is there already keeps everything it has: servers and sections it lacks are added, those it has
//! stay.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_config::discover::{self, Place, System};
use toolgate_config::write;
use toolgate_config::write::edit::{self, EditError};
use toolgate_config::{Imported, Node};

use crate::commands::servers::replace;
use crate::failure::Failure;
use crate::output::Output;
use crate::startup::files;

const AFTER_HELP: &str = "\
Examples:
  toolgate import                                everything that is found
  toolgate import --from cursor --dry-run        what would be taken from Cursor
  toolgate import --from mcp.json --output -     a file, printed as native YAML
  toolgate import --from servers.d --strict      a folder of records; refuse what would be skipped

Programs: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Kiro, LM Studio, Cline, ExcelManus.";

/// From where, and where to.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ImportArgs {
    /// A program, a file or a folder; everything that is found where nothing is named
    #[arg(long, value_name = "PROGRAM|FILE")]
    from: Option<String>,
    /// The file to write or to add to; - prints it
    #[arg(long, short, value_name = "FILE", default_value = "toolgate.yaml")]
    output: PathBuf,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Refuse what is otherwise skipped with a warning
    #[arg(long)]
    strict: bool,
}

/// What comes of it.
#[derive(Default)]
struct Plan {
    text: String,
    /// Servers that the file lacks.
    added: Vec<String>,
    /// Servers that it has already.
    kept: Vec<String>,
    /// Other sections that it lacks.
    settings: Vec<String>,
    /// Other sections that it has already; they are not mixed.
    left_out: Vec<String>,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.settings.is_empty()
    }
}

/// Imports.
pub(crate) fn run(args: &ImportArgs, output: &Output) -> Result<ExitCode, Failure> {
    let sources = sources(args.from.as_deref())?;
    let to_stdout = args.output == Path::new("-");
    let folder = args.output.parent().filter(|_| !to_stdout).unwrap_or(Path::new(""));
    let imported = toolgate_config::import(&sources, folder, args.strict, &files::variable);
    if !imported.problems.is_empty() {
        let lines: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
        return Err(Failure::invalid(format!("nothing was imported\n{}", lines.join("\n"))));
    }
    let before = if to_stdout { None } else { existing(&args.output)? };
    let plan = plan(&imported, before.as_deref(), &args.output)?;
    let is_written = !to_stdout && !args.dry_run && !plan.is_empty();
    if is_written {
        replace(&args.output, &plan.text)?;
    }
    if output.json {
        output.value(&json!({
            "sources": sources,
            "file": if to_stdout { None } else { Some(&args.output) },
            "written": is_written,
            "added": plan.added,
            "kept": plan.kept,
            "settings": plan.settings,
            "left_out": plan.left_out,
            "warnings": imported.warnings,
            "text": plan.text,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    imported.warnings.iter().for_each(|warning| output.note(&format!("warning: {warning}")));
    if to_stdout {
        output.raw(plan.text.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.output.display();
    sources.iter().for_each(|source| output.line(&format!("read {}", source.display())));
    plan.added.iter().for_each(|name| output.line(&format!("+ {name}")));
    plan.settings.iter().for_each(|key| output.line(&format!("+ settings of {key}")));
    plan.kept.iter().for_each(|name| output.line(&format!("= {name} is in {file} already")));
    for key in &plan.left_out {
        output.line(&format!("= settings of {key} are in {file} already; those that were read are left out"));
    }
    output.line(&match (args.dry_run, plan.is_empty()) {
        (_, true) => format!("nothing to add to {file}"),
        (true, false) => format!("{file} was not changed (--dry-run)"),
        (false, false) => format!("written to {file}"),
    });
    Ok(ExitCode::SUCCESS)
}

fn existing(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::failed(format!("{} cannot be read: {error}", path.display()))),
    }
}

fn plan(imported: &Imported, before: Option<&str>, path: &Path) -> Result<Plan, Failure> {
    let servers = imported.tree.get("servers").map(Node::entries).unwrap_or_default();
    let sections = imported.tree.entries().iter().filter(|entry| entry.key != "servers");
    let mut plan = Plan::default();
    let Some(before) = before else {
        plan.text = write::to_yaml(&imported.tree);
        plan.added = servers.iter().map(|entry| entry.key.clone()).collect();
        plan.settings = sections.map(|entry| entry.key.clone()).collect();
        return Ok(plan);
    };
    before.clone_into(&mut plan.text);
    let failed = |error: EditError| Failure::failed(format!("{}: {error}", path.display()));
    for entry in servers {
        match edit::add_server(&plan.text, &entry.key, &entry.node) {
            Ok(text) => {
                plan.text = text;
                plan.added.push(entry.key.clone());
            }
            Err(EditError::Exists(_)) => plan.kept.push(entry.key.clone()),
            Err(error) => return Err(failed(error)),
        }
    }
    for entry in sections {
        match edit::add_section(&plan.text, &entry.key, &entry.node) {
            Ok(text) => {
                plan.text = text;
                plan.settings.push(entry.key.clone());
            }
            Err(EditError::SectionExists(_)) => plan.left_out.push(entry.key.clone()),
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(plan)
}

/// The files that are meant.
fn sources(from: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let workspace = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let places = discover::places(System::here(), &workspace, &files::variable);
    let Some(from) = from else {
        let found: Vec<PathBuf> = existing_files(places.iter());
        if found.is_empty() {
            return Err(Failure::not_found("no other program's configuration was found")
                .help("name a file with --from, or write a new one with `toolgate init`"));
        }
        return Ok(found);
    };
    let path = Path::new(from);
    if path.exists() {
        return Ok(vec![path.to_path_buf()]);
    }
    let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
    let of_program: Vec<&Place> = places.iter().filter(|place| plain(place.program) == plain(from)).collect();
    if of_program.is_empty() {
        let mut programs: Vec<&str> = places.iter().map(|place| place.program).collect();
        programs.sort_unstable();
        programs.dedup();
        return Err(Failure::not_found(format!("'{from}' is neither a file nor a program that is known"))
            .help(format!("known programs: {}", programs.join(", "))));
    }
    let found = existing_files(of_program.iter().copied());
    if found.is_empty() {
        let looked: Vec<String> = of_program.iter().map(|place| place.path.display().to_string()).collect();
        return Err(Failure::not_found(format!("{from} has no configuration here"))
            .help(format!("looked for {}", looked.join(", "))));
    }
    Ok(found)
}

fn existing_files<'a>(places: impl Iterator<Item = &'a Place>) -> Vec<PathBuf> {
    places.map(|place| place.path.clone()).filter(|path| path.is_file()).collect()
}
