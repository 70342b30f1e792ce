//! What the rules that cover a caller say about one thing, sorted by purpose: made once, asked by every call.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::Micros;
use crate::entry::{Clause, Entry};
use crate::index::RuleNumber;
use crate::memory::LONGEST_REMEMBERED;
use crate::meters::CompiledQuota;
use crate::policy::Policy;
use crate::rules::{DefaultEffect, Effect};
use crate::subject::{Kind, Subject};

/// The rules about one thing for one class of callers.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) kind: Kind,
    pub(crate) server: Arc<str>,
    pub(crate) name: Arc<str>,
    /// Whether the administrator lets the server offer it at all.
    pub(crate) offered: bool,
    pub(crate) default: DefaultEffect,
    /// Permission rules by effect; within one effect those without a condition come first, because they settle the matter.
    pub(crate) hides: Box<[RuleNumber]>,
    pub(crate) denies: Box<[RuleNumber]>,
    pub(crate) allows: Box<[RuleNumber]>,
    /// Approval rules in the order of the file.
    pub(crate) approvals: Box<[RuleNumber]>,
    pub(crate) price: Option<GrantedPrice>,
    pub(crate) quotas: Box<[GrantedQuota]>,
}

/// What the first price rule says.
#[derive(Clone, Debug)]
pub(crate) struct GrantedPrice {
    pub(crate) rule: Arc<str>,
    pub(crate) price: Micros,
    pub(crate) refund_on_failure: bool,
}

/// A quota that counts calls of this thing.
#[derive(Clone, Debug)]
pub(crate) struct GrantedQuota {
    pub(crate) number: RuleNumber,
    pub(crate) quota: Arc<CompiledQuota>,
}

impl Grant {
    /// `numbers` are the rules about the thing that cover the callers, in the order of the file.
    pub(crate) fn compile(policy: &Policy, numbers: &[RuleNumber], subject: &Subject<'_>) -> Grant {
        let about = policy.entries(numbers);
        Grant {
            kind: subject.kind,
            server: subject.server.into(),
            name: counted_name(subject.name),
            offered: policy.is_offered(subject),
            default: policy.default_effect(),
            hides: with_effect(&about, Effect::Hide),
            denies: with_effect(&about, Effect::Deny),
            allows: with_effect(&about, Effect::Allow),
            approvals: about
                .iter()
                .filter(|(_, entry)| matches!(entry.clause, Clause::Approval(_)))
                .map(|(number, _)| *number)
                .collect(),
            price: about.iter().find_map(|(_, entry)| price_of(entry)),
            quotas: about.iter().filter_map(|(number, entry)| quota_of(*number, entry)).collect(),
        }
    }
}

/// The name under which uses are counted. A long one is known by its beginning and a number, since counters stay in memory.
fn counted_name(name: &str) -> Arc<str> {
    if name.len() <= LONGEST_REMEMBERED {
        return name.into();
    }
    let beginning = name.get(..name.floor_char_boundary(LONGEST_REMEMBERED)).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("{beginning}…{:016x}", hasher.finish()).into()
}

fn with_effect(about: &[(RuleNumber, &Entry)], effect: Effect) -> Box<[RuleNumber]> {
    let mut found: Vec<(bool, RuleNumber)> = about
        .iter()
        .filter_map(|(number, entry)| match &entry.clause {
            Clause::Permission(permission) if permission.effect == effect => {
                Some((permission.condition.is_some(), *number))
            }
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}

fn price_of(entry: &Entry) -> Option<GrantedPrice> {
    let Clause::Price(price) = &entry.clause else { return None };
    Some(GrantedPrice {
        rule: Arc::clone(&entry.id),
        price: price.price,
        refund_on_failure: price.refund_on_failure,
    })
}

fn quota_of(number: RuleNumber, entry: &Entry) -> Option<GrantedQuota> {
    let Clause::Quota(quota) = &entry.clause else { return None };
    Some(GrantedQuota { number, quota: Arc::clone(quota) })
}
