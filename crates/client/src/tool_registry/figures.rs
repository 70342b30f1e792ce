//! How often each tool was called, how often it failed, and how long it took.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The figures of one tool since it was first called. A call that the agent gave up is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolFigures {
    /// How many calls have ended.
    pub calls: u64,
    /// How many of them gave no result.
    pub errors: u64,
    /// How long all of them took together.
    pub total: Duration,
    /// How long the longest took.
    pub longest: Duration,
}

/// The figures of all tools, kept while registries come and go.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<BTreeMap<String, ToolFigures>>);

impl Figures {
    /// One call has ended.
    pub(super) fn note(&self, tool: &str, took: Duration, failed: bool) {
        let mut tools = self.tools();
        let figures = tools.entry(tool.to_owned()).or_default();
        figures.calls += 1;
        figures.errors += u64::from(failed);
        figures.total = figures.total.saturating_add(took);
        figures.longest = figures.longest.max(took);
    }

    /// Forgets all tools but these.
    pub(crate) fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        self.tools().retain(|tool, _| is_there(tool));
    }

    /// All of them, by the names of the tools.
    pub(crate) fn all(&self) -> BTreeMap<String, ToolFigures> {
        self.tools().clone()
    }

    fn tools(&self) -> MutexGuard<'_, BTreeMap<String, ToolFigures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
