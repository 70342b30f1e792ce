//! Compiled [`Who`] and [`What`]: does a rule cover this caller, and this thing?

use std::sync::Arc;

use crate::pattern::{PatternError, PatternSet};
use crate::rules::{What, Who};
use crate::subject::{Kind, Subject};

/// Compiled patterns over callers.
#[derive(Debug, Default)]
pub(crate) struct WhoSelector {
    callers: PatternSet,
    groups: PatternSet,
}

/// Compiled patterns over things.
#[derive(Debug, Default)]
pub(crate) struct WhatSelector {
    servers: PatternSet,
    tools: PatternSet,
    resources: PatternSet,
    prompts: PatternSet,
}

/// Where a rule about callers is found again without trying its patterns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WhoPlace<'a> {
    /// It covers everyone.
    Everyone,
    /// It covers callers and groups with these names only.
    Named { callers: Vec<&'a str>, groups: Vec<&'a str> },
    /// It has wild patterns: it must be tried.
    Wild,
}

/// Where a rule about things is found again without trying its patterns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WhatPlace<'a> {
    /// It covers things with these names only.
    Names(Vec<&'a str>),
    /// It covers things of these servers only.
    Servers(Vec<&'a str>),
    /// It must be tried.
    Wild,
}

/// Patterns over addresses. `skill://category/name` is another address of a skill's document, so a rule about it is one
/// about the document.
fn with_documents(addresses: &[String]) -> Vec<String> {
    let alias = |address: &&String| address.starts_with("skill://") && !address.ends_with(['*', '/']);
    let documents = addresses.iter().filter(alias).filter(|address| !address.ends_with("/SKILL.md"));
    addresses.iter().cloned().chain(documents.map(|address| format!("{address}/SKILL.md"))).collect()
}

impl WhoSelector {
    pub(crate) fn compile(who: &Who) -> Result<WhoSelector, PatternError> {
        Ok(WhoSelector { callers: PatternSet::parse(&who.callers)?, groups: PatternSet::parse(&who.groups)? })
    }

    /// Whether the caller is covered, by its own name or by one of its groups.
    pub(crate) fn covers(&self, caller: &str, groups: &[Arc<str>]) -> bool {
        self.covers_everyone()
            || self.callers.fits(caller)
            || groups.iter().any(|group| self.groups.fits(group))
    }

    /// Whether no caller is left out.
    pub(crate) fn covers_everyone(&self) -> bool {
        self.callers.is_empty() && self.groups.is_empty()
    }

    /// Whether the group is one that this selector names. One that names no group means any group.
    pub(crate) fn names_group(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.fits(group)
    }

    pub(crate) fn place(&self) -> WhoPlace<'_> {
        if self.covers_everyone() {
            return WhoPlace::Everyone;
        }
        match (self.callers.literals(), self.groups.literals()) {
            (Some(callers), Some(groups)) => WhoPlace::Named { callers, groups },
            _ => WhoPlace::Wild,
        }
    }
}

impl WhatSelector {
    pub(crate) fn compile(what: &What) -> Result<WhatSelector, PatternError> {
        Ok(WhatSelector {
            servers: PatternSet::parse(&what.servers)?,
            tools: PatternSet::parse(&what.tools)?,
            resources: PatternSet::parse(&with_documents(&what.resources))?,
            prompts: PatternSet::parse(&what.prompts)?,
        })
    }

    /// Whether the thing is covered: its server fits, and its kind and name do.
    pub(crate) fn covers(&self, subject: &Subject<'_>) -> bool {
        let server_fits = self.servers.is_empty() || self.servers.fits(subject.server);
        server_fits && (self.covers_every_kind() || self.of_kind(subject.kind).fits(subject.name))
    }

    pub(crate) fn place(&self) -> WhatPlace<'_> {
        if !self.covers_every_kind() {
            let kinds = [&self.tools, &self.resources, &self.prompts];
            let names: Option<Vec<Vec<&str>>> = kinds.iter().map(|patterns| patterns.literals()).collect();
            if let Some(names) = names {
                return WhatPlace::Names(names.concat());
            }
        }
        match self.servers.literals() {
            Some(servers) if !servers.is_empty() => WhatPlace::Servers(servers),
            _ => WhatPlace::Wild,
        }
    }

    fn covers_every_kind(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }

    fn of_kind(&self, kind: Kind) -> &PatternSet {
        match kind {
            Kind::Tool => &self.tools,
            Kind::Resource => &self.resources,
            Kind::Prompt => &self.prompts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_of_a_skill_covers_its_document() {
        let check = |pattern: &str, address: &str, expected: bool| {
            let what = What { resources: vec![pattern.to_owned()], ..What::default() };
            let covers = WhatSelector::compile(&what).unwrap().covers(&Subject::resource("skills", address));
            assert_eq!(covers, expected, "{pattern} {address}");
        };
        check("skill://hr/payroll", "skill://hr/payroll/SKILL.md", true);
        check("skill://*/payroll", "skill://hr/payroll/SKILL.md", true);
        check("skill://hr/payroll/SKILL.md", "skill://hr/payroll/SKILL.md", true);
        check("skill://hr/*", "skill://hr/payroll/SKILL.md", true);
        check("skill://hr/pay", "skill://hr/payroll/SKILL.md", false);
        check("skill://hr/payroll", "skill://hr/payroll/secret.md", false);
        check("file://hr/payroll", "file://hr/payroll/SKILL.md", false);
    }
}
