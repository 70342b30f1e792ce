//! From the operator's rules to a [`Policy`] that answers fast.
//!
//! Nothing here fails: a rule that cannot be read is reported and replaced by one that denies what it covers, because a policy that
//! silently lost a rule would be worse than a gateway that refuses too much.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::{Condition, ConditionError};
use crate::entry::{ActionSet, Approval, Clause, Entry, Permission, Price};
use crate::index::{WhatIndex, WhoIndex};
use crate::meters::CompiledQuota;
use crate::pattern::PatternSet;
use crate::policy::Policy;
use crate::rules::{ApprovalRule, DefaultEffect, Effect, PriceRule, Quota, Rule, Rules, What, Who};
use crate::selector::{WhatSelector, WhoSelector};

/// Something in the rules that could not be read, and now denies what it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleProblem {
    /// The rule.
    pub rule: String,
    /// What is wrong, and what follows from it.
    pub message: String,
}

/// The parts of a compiled policy, on their way into it.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) default: DefaultEffect,
    pub(crate) entries: Vec<Entry>,
    pub(crate) who: WhoIndex,
    pub(crate) what: WhatIndex,
    pub(crate) offered: HashMap<Box<str>, PatternSet>,
}

/// Compiles one set of rules.
#[derive(Debug, Default)]
struct Compiler {
    compiled: Compiled,
    problems: Vec<RuleProblem>,
    counters: HashSet<Arc<str>>,
}

impl Policy {
    /// Compiles the rules. `revision` is the name of this state of the rules in records; it must differ from any earlier one.
    pub fn compile(rules: &Rules, revision: u64) -> (Arc<Policy>, Vec<RuleProblem>) {
        let mut compiler = Compiler::default();
        compiler.compiled.default = rules.policy.default;
        compiler.offers(&rules.server_allowed);
        for (place, rule) in rules.policy.rules.iter().enumerate() {
            compiler.permission(place, rule);
        }
        for (place, rule) in rules.approvals.iter().enumerate() {
            compiler.approval(place, rule);
        }
        for (place, rule) in rules.prices.iter().enumerate() {
            compiler.price(place, rule);
        }
        for (place, quota) in rules.quotas.iter().enumerate() {
            compiler.quota(place, quota);
        }
        (Arc::new(Policy::new(compiler.compiled, revision)), compiler.problems)
    }
}

impl Compiler {
    fn offers(&mut self, allowed: &BTreeMap<String, Vec<String>>) {
        for (server, patterns) in allowed {
            let patterns = PatternSet::parse(patterns).unwrap_or_else(|problem| {
                let message = format!("{problem}; until this is mended, the server offers no tools");
                self.problems.push(RuleProblem { rule: format!("servers.{server}.allowed_tools"), message });
                PatternSet::default()
            });
            self.compiled.offered.insert(server.as_str().into(), patterns);
        }
    }

    fn permission(&mut self, place: usize, rule: &Rule) {
        let id = name_of(rule.id.as_ref(), "policy.rules", place);
        let actions = ActionSet::of(rule.effect, &rule.actions);
        let clause = condition_of(rule.when.as_ref()).and_then(|condition| {
            let permission = Permission { effect: rule.effect, actions, condition, unreadable: false };
            let open = permission.condition.as_ref().is_some_and(Condition::is_open_until_called);
            if open && permission.shapes_lists() && rule.effect != Effect::Allow {
                return Err("a list is the same whatever a call's arguments or the hour will be: use `deny` for calls only, \
                            or a condition without `arguments` and `now`"
                    .to_owned());
            }
            Ok(Clause::Permission(permission))
        });
        let instead = Permission::in_place_of_unreadable(rule.effect, &rule.actions);
        self.push(id, &rule.who, &rule.what, clause, instead);
    }

    fn approval(&mut self, place: usize, rule: &ApprovalRule) {
        let id = name_of(rule.id.as_ref(), "policy.approval", place);
        let clause = condition_of(rule.when.as_ref()).map(|condition| {
            Clause::Approval(Approval {
                mode: rule.mode,
                condition,
                by: rule.by,
                timeout_seconds: rule.timeout_seconds,
            })
        });
        self.push(id, &rule.who, &rule.what, clause, Permission::denial());
    }

    fn price(&mut self, place: usize, rule: &PriceRule) {
        let id = name_of(rule.id.as_ref(), "prices.tools", place);
        let price = Price { price: rule.price, refund_on_failure: rule.refund_on_failure };
        self.push(id, &rule.who, &rule.what, Ok(Clause::Price(price)), Permission::denial());
    }

    fn quota(&mut self, place: usize, quota: &Quota) {
        let id = name_of(quota.id.as_ref(), "quotas", place);
        let counters = self.counters_of(&id, quota);
        let clause = CompiledQuota::compile(Arc::clone(&id), counters, quota)
            .map(|quota| Clause::Quota(Arc::new(quota)))
            .map_err(|problem| problem.to_string());
        self.push(id, &quota.who, &quota.what, clause, Permission::denial());
    }

    /// The name under which a quota keeps its counters. One without an id is known by what it covers, so that counters stay with
    /// it when another quota is written above it.
    fn counters_of(&mut self, id: &Arc<str>, quota: &Quota) -> Arc<str> {
        let mut name: Arc<str> = match quota.id {
            Some(_) => Arc::clone(id),
            // Short, because it is hashed with every call.
            None => format!("{:016x}", hash_of(&format!("{:?} {:?} {:?}", quota.who, quota.what, quota.per)))
                .into(),
        };
        if self.counters.contains(&name) {
            let message = "another quota has the same name, or covers the same without a name; give each its own `id`, \
                           so that their counters are kept apart after a change"
                .to_owned();
            self.problems.push(RuleProblem { rule: id.to_string(), message });
            while self.counters.contains(&name) {
                name = format!("{name} (again)").into();
            }
        }
        self.counters.insert(Arc::clone(&name));
        name
    }

    /// Files a rule. One that cannot be read becomes a denial of all it covers, as far as that can be read.
    fn push(
        &mut self,
        id: Arc<str>,
        who: &Who,
        what: &What,
        clause: Result<Clause, String>,
        instead: Permission,
    ) {
        let mut problems: Vec<String> = Vec::new();
        let who = WhoSelector::compile(who).unwrap_or_else(|problem| {
            problems.push(problem.to_string());
            WhoSelector::default()
        });
        let what = WhatSelector::compile(what).unwrap_or_else(|problem| {
            problems.push(problem.to_string());
            WhatSelector::default()
        });
        let clause = clause.map_err(|problem| problems.push(problem)).ok().filter(|_| problems.is_empty());
        let clause = clause.unwrap_or_else(|| Clause::Permission(instead));
        self.problems.extend(problems.into_iter().map(|problem| RuleProblem {
            rule: id.to_string(),
            message: format!("{problem}; until this is mended, everything the rule covers is denied"),
        }));
        // More rules than a number can hold cannot be written by hand or kept in memory.
        let number = u32::try_from(self.compiled.entries.len()).unwrap_or(u32::MAX);
        self.compiled.who.insert(number, &who);
        self.compiled.what.insert(number, &what);
        self.compiled.entries.push(Entry { id, who, what, clause });
    }
}

fn name_of(id: Option<&String>, section: &str, place: usize) -> Arc<str> {
    match id {
        Some(id) => id.as_str().into(),
        None => format!("{section}[{place}]").into(),
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn condition_of(source: Option<&String>) -> Result<Option<Condition>, String> {
    let compiled: Result<Option<Condition>, ConditionError> =
        source.map(|source| Condition::compile(source)).transpose();
    compiled.map_err(|problem| problem.to_string())
}
