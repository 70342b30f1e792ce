//! What is wrong with the sections `bindings` and `egress`, and with what they lead to.
//!
//! The configuration knows nothing of hosts, OpenAPI and bindings, so these are looked at when it has been read. A
//! document that cannot be used makes a configuration invalid, so that a reload keeps the tools that are there. A
//! skill with a bad tool does not: skills change by themselves, and the others go on. Only `config validate` refuses it.

use std::collections::BTreeSet;
use std::path::Path;

use http::HeaderName;
use toolgate_bindings::binding::LONGEST_TIMEOUT;
use toolgate_bindings::egress::HostPattern;
use toolgate_bindings::frontmatter::{self, BadTool};
use toolgate_bindings::openapi::{self, Built};
use toolgate_config::{Loaded, OpenApiConfig, Origin, Problem, join_path, parse_tree, read_document};
use toolgate_governance::Pattern;
use toolgate_skills::{Skill, scan};
use url::Url;

use super::{documents, egress, of_skills};
use crate::startup::skills;

/// Adds what is wrong with both sections and their documents, and the documents to the files that are watched.
pub(crate) fn sections(loaded: &mut Loaded) {
    let mut problems = hosts(loaded);
    for (name, config) in &loaded.config.bindings.openapi {
        let path = join_path("bindings.openapi", name);
        problems.extend(settings(loaded, &path, config));
        if let Some(Err(problem)) = document(loaded, &path, config) {
            problems.push(*problem);
        }
    }
    let documents = loaded.config.bindings.openapi.values().filter_map(|config| config.file.clone());
    let files: BTreeSet<_> = documents.chain(loaded.files.files.drain(..)).collect();
    loaded.files.files = files.into_iter().collect();
    loaded.problems.append(&mut problems);
}

/// Adds what is wrong with the tools of skills, and says which operations of documents are left out.
pub(crate) fn tools(loaded: &mut Loaded) {
    for (name, config) in &loaded.config.bindings.openapi {
        let path = join_path("bindings.openapi", name);
        let Some(Ok(built)) = document(loaded, &path, config) else { continue };
        let mut doubts: Vec<Problem> = built
            .left_out
            .iter()
            .map(|(operation, why)| loaded.problem_at(&path, format!("`{operation}` is left out: {why}")))
            .collect();
        if built.tools.is_empty() && doubts.is_empty() {
            let nothing = loaded.problem_at(&path, "no operation of the document is chosen");
            doubts.push(nothing.help("look at operations, tags, paths and exclude"));
        }
        loaded.warnings.append(&mut doubts);
    }
    let config = &loaded.config.skills;
    let library = scan(&config.folders(), &skills::limits(config), None);
    let secrets = &loaded.config.bindings.secrets;
    for skill in library.skills().filter(|skill| skill.flaw.is_none()) {
        let variables = |name: &str, host: &Url| of_skills::secret(name, host, secrets);
        let (_, bad) = frontmatter::tools(&skill.frontmatter, skill.uri(), &variables);
        loaded.problems.extend(bad.iter().map(|bad| bad_tool(skill, bad)));
    }
}

fn hosts(loaded: &Loaded) -> Vec<Problem> {
    let config = &loaded.config.egress;
    let mut problems = Vec::new();
    for (key, patterns) in [("allow", &config.allow), ("private", &config.private)] {
        for (index, pattern) in patterns.iter().enumerate() {
            if HostPattern::parse(pattern).is_err() {
                let problem = loaded
                    .problem_at(&format!("egress.{key}[{index}]"), format!("`{pattern}` names no host"));
                problems.push(problem.help("write HOST, *.DOMAIN or HOST:PORT, where PORT may be *"));
            }
        }
    }
    for (index, entry) in loaded.config.bindings.secrets.iter().enumerate() {
        if entry.split_once('@').is_some_and(|(_, host)| HostPattern::parse(host).is_err()) {
            let problem =
                loaded.problem_at(&format!("bindings.secrets[{index}]"), format!("`{entry}` names no host"));
            problems.push(problem.help("write NAME, or NAME@HOST with a host as under egress"));
        }
    }
    problems
}

fn settings(loaded: &Loaded, path: &str, config: &OpenApiConfig) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lists = [
        ("operations", &config.operations),
        ("tags", &config.tags),
        ("paths", &config.paths),
        ("exclude", &config.exclude),
    ];
    for (key, patterns) in lists {
        for (index, pattern) in patterns.iter().enumerate() {
            if let Err(error) = Pattern::parse(pattern) {
                problems.push(loaded.problem_at(&format!("{path}.{key}[{index}]"), error.to_string()));
            }
        }
    }
    for name in config.headers.keys().filter(|name| HeaderName::try_from(name.as_str()).is_err()) {
        let path = join_path(&join_path(path, "headers"), name);
        let problem = loaded.problem_at(&path, format!("`{name}` cannot be the name of a header"));
        problems.push(problem.help("use letters, digits and `-`"));
    }
    if config.timeout.is_zero() || config.timeout > LONGEST_TIMEOUT {
        let problem = loaded.problem_at(&join_path(path, "timeout"), "no call can take that long");
        problems.push(problem.help("write a time up to 10m, such as 30s"));
    }
    if config.max_tools == 0 {
        let problem = loaded.problem_at(&join_path(path, "max_tools"), "0 would leave no tool");
        problems.push(problem.help("leave it out for the default"));
    }
    let url = config.url.as_ref().and_then(|url| Url::parse(url).ok());
    if let Some(Err(denied)) = url.map(|url| egress(&loaded.config.egress).reach(&url)) {
        problems.push(loaded.problem_at(&join_path(path, "url"), denied.to_string()));
    }
    problems
}

/// What a document in a file gives; nothing for those that are fetched.
fn document(loaded: &Loaded, path: &str, config: &OpenApiConfig) -> Option<Result<Built, Box<Problem>>> {
    let file = config.file.as_deref()?;
    let at_setting = |what: String| Box::new(loaded.problem_at(&join_path(path, "file"), what));
    let read = read_document(file).map_err(|problem| match problem.line {
        0 => at_setting(problem.to_string()),
        _ => problem,
    });
    Some(read.and_then(|document| {
        openapi::tools(&document, &documents::settings(config, None))
            .map_err(|error| at_setting(format!("{}: {error}", file.display())))
    }))
}

fn bad_tool(skill: &Skill, bad: &BadTool) -> Problem {
    let document = skill.document();
    let file = document.map_or(Path::new(""), |document| document.on_disk());
    let text = document.and_then(|document| document.text()).unwrap_or_default();
    let mut problem = Problem::in_file(file, bad.to_string());
    problem.path = format!("tools[{}]", bad.place);
    if let Some((line, column)) = place_of(text, file, bad.place) {
        (problem.line, problem.column) = (line, column);
    }
    problem
}

/// Line and column of a tool in the frontmatter of a skill.
fn place_of(text: &str, file: &Path, place: usize) -> Option<(u32, u32)> {
    // An empty line in place of the mark keeps the count of lines.
    let head: Vec<&str> = text.lines().skip(1).take_while(|line| line.trim_end() != "---").collect();
    let tree = parse_tree(&format!("\n{}\n", head.join("\n")), &file.with_extension("yaml")).ok()?;
    match tree.get("tools")?.items().get(place)?.origin {
        Origin::File { line, column, .. } => Some((line, column)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
