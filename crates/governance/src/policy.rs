//! A compiled policy: immutable, shared by all threads, replaced as a whole when the rules change.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::compile::Compiled;
use crate::entry::Entry;
use crate::index::RuleNumber;
use crate::memory::{Memory, ThingRules};
use crate::rules::DefaultEffect;
use crate::standing::{RuleClass, Standing, VisibilityClass, VisibilityKey};
use crate::subject::{Kind, Subject};

/// How many classes are remembered. Beyond this the memory is emptied: only sharing is lost, nothing else.
const MAX_CLASSES: usize = 65_536;

/// How many things are remembered with the rules about them.
const MAX_THINGS: usize = 65_536;

/// The rules, ready to decide.
#[derive(Debug)]
pub struct Policy {
    rules: Compiled,
    revision: u64,
    classes: Mutex<Classes>,
    things: Memory<ThingRules>,
    tells_everyone_apart_in_lists: bool,
}

/// Classes that have been met. Touched when a caller arrives, never by a call.
#[derive(Debug, Default)]
struct Classes {
    by_rules: HashMap<Box<[RuleNumber]>, Arc<RuleClass>>,
    by_visibility: HashMap<VisibilityKey, VisibilityClass>,
    last_visibility: u64,
    remembered_grants: Arc<AtomicUsize>,
}

impl Policy {
    pub(crate) fn new(rules: Compiled, revision: u64) -> Policy {
        let for_everyone = rules.entries.iter().filter(|entry| entry.who.covers_everyone());
        Policy {
            revision,
            classes: Mutex::default(),
            things: Memory::with_capacity(MAX_THINGS),
            tells_everyone_apart_in_lists: for_everyone.into_iter().any(Entry::tells_callers_apart_in_lists),
            rules,
        }
    }

    /// The name of this state of the rules.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What the rules have in store for a caller. Takes a little time; keep it for as long as the caller and the policy stay
    /// the same, for instance with the caller's connection.
    pub fn standing(self: &Arc<Policy>, caller: Arc<str>, groups: Arc<[Arc<str>]>) -> Standing {
        let covers = |number| self.entry(number).is_some_and(|entry| entry.who.covers(&caller, &groups));
        let numbers = self.rules.who.singling_out(&caller, &groups, covers);
        let key = VisibilityKey::new(self, &numbers, &caller, &groups);
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let class = classes.of_rules(numbers);
        let visibility = classes.of_visibility(key, self.revision);
        drop(classes);
        Standing::new(Arc::clone(self), caller, groups, class, visibility)
    }

    pub(crate) fn default_effect(&self) -> DefaultEffect {
        self.rules.default
    }

    pub(crate) fn entry(&self, number: RuleNumber) -> Option<&Entry> {
        self.rules.entries.get(number as usize)
    }

    /// All rules, in the order of the file.
    pub(crate) fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.rules.entries.iter()
    }

    /// The rules about the thing, whomever they cover; from memory where possible.
    pub(crate) fn rules_about(&self, subject: &Subject<'_>) -> Arc<ThingRules> {
        self.things.recall(subject, || {
            let candidates = self.rules.what.candidates(subject).into_iter().flatten().copied();
            let covers =
                |number: &RuleNumber| self.entry(*number).is_some_and(|entry| entry.what.covers(subject));
            let mut numbers: Vec<RuleNumber> = candidates.filter(covers).collect();
            numbers.sort_unstable();
            let for_everyone =
                |number: &RuleNumber| self.entry(*number).is_some_and(|entry| entry.who.covers_everyone());
            let (everyone, selected) = numbers.into_iter().partition(for_everyone);
            ThingRules::new(everyone, selected)
        })
    }

    /// Rules by their numbers.
    pub(crate) fn entries<'a>(&'a self, numbers: &[RuleNumber]) -> Vec<(RuleNumber, &'a Entry)> {
        numbers.iter().filter_map(|number| Some((*number, self.entry(*number)?))).collect()
    }

    /// Whether a rule for everyone may show different lists to different callers.
    pub(crate) fn tells_everyone_apart_in_lists(&self) -> bool {
        self.tells_everyone_apart_in_lists
    }

    /// Whether the server may offer the thing to anyone. Servers without a list of allowed tools may offer all they have.
    pub(crate) fn is_offered(&self, subject: &Subject<'_>) -> bool {
        let restricted =
            if subject.kind == Kind::Tool { self.rules.offered.get(subject.server) } else { None };
        restricted.is_none_or(|allowed| allowed.fits(subject.name))
    }
}

impl Classes {
    fn of_rules(&mut self, numbers: Box<[RuleNumber]>) -> Arc<RuleClass> {
        if let Some(class) = self.by_rules.get(&numbers) {
            return Arc::clone(class);
        }
        if self.by_rules.len() >= MAX_CLASSES {
            self.by_rules.clear();
        }
        let class = Arc::new(RuleClass::new(numbers.clone(), Arc::clone(&self.remembered_grants)));
        self.by_rules.insert(numbers, Arc::clone(&class));
        class
    }

    fn of_visibility(&mut self, key: VisibilityKey, revision: u64) -> VisibilityClass {
        if let Some(class) = self.by_visibility.get(&key) {
            return *class;
        }
        if self.by_visibility.len() >= MAX_CLASSES {
            self.by_visibility.clear();
        }
        // Numbers are never used again, so that a class which was forgotten cannot be taken for another one.
        self.last_visibility += 1;
        let class = VisibilityClass { revision, number: self.last_visibility };
        self.by_visibility.insert(key, class);
        class
    }
}
