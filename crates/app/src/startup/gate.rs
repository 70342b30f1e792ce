//! The gate as the configuration wants it: rules, counters of earlier runs, the ledger.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use toolgate_config::{Config, Fsync, LedgerConfig, OnLedgerFailure};
use toolgate_gateway::recorder::{OnFailure, Recorder};
use toolgate_gateway::{Gate, Gateway};
use toolgate_governance::{Kind, Meters, Micros, PastUse, Policy, Subject};
use toolgate_ledger::redact::RedactionRules;
use toolgate_ledger::retention::LONGEST_WINDOW;
use toolgate_ledger::store::CarriedUse;
use toolgate_ledger::{Durability, Ledger, Record, Redactor, Settings, Status};

use crate::startup::{StartError, rules};

/// The gate at start: counters go on where the ledger says they were.
pub(crate) fn open(config: &Config, state_dir: Option<&Path>) -> Result<Gate, StartError> {
    let policy = policy(config);
    let ledger_dir = config.ledger.dir.clone().or_else(|| state_dir.map(|folder| folder.join("ledger")));
    let recorder = match ledger_dir.filter(|_| config.ledger.enabled) {
        None => None,
        Some(folder) => Some(recorder(config, folder)?),
    };
    let gate = Gate::new(policy, recorder).hiding(redactor(config)?);
    if !config.quotas.is_empty()
        && let Some(recorder) = &gate.recorder
    {
        recall(&gate.policy(), &gate.meters, &recorder.ledger);
    }
    Ok(gate)
}

/// The policy of a configuration. What cannot be read denies, and is told.
pub(crate) fn policy(config: &Config) -> Arc<Policy> {
    static REVISION: AtomicU64 = AtomicU64::new(0);
    let begun = Timestamp::now().as_second().unsigned_abs() << 20;
    let revision = begun + REVISION.fetch_add(1, Ordering::Relaxed);
    let (policy, problems) = Policy::compile(&rules::of(config), revision);
    for problem in problems {
        tracing::error!(
            alert = "policy",
            rule = problem.rule,
            problem = problem.message,
            "a rule cannot be read"
        );
    }
    policy
}

fn redactor(config: &Config) -> Result<Redactor, StartError> {
    Ok(Redactor::new(&redaction(config))?)
}

/// What is taken out of records before they are written.
pub(super) fn redaction(config: &Config) -> RedactionRules {
    let mut redaction = RedactionRules::default();
    for rule in &config.ledger.redact {
        redaction.keys.extend(rule.keys.iter().cloned());
        redaction.paths.extend(rule.paths.iter().cloned());
    }
    // A rule that says nothing of it leaves it to the others.
    let usual = toolgate_config::Redaction::default().replace;
    if let Some(rule) = config.ledger.redact.iter().find(|rule| rule.replace != usual) {
        redaction.replacement.clone_from(&rule.replace);
    }
    redaction
}

fn recorder(config: &Config, folder: PathBuf) -> Result<Recorder, StartError> {
    let wanted = &config.ledger;
    let ledger = Arc::new(Ledger::open(settings(wanted, folder))?);
    for finding in &ledger.health().findings {
        tracing::warn!(alert = "ledger", finding, "the ledger was mended");
    }
    let on_failure = match wanted.on_failure {
        OnLedgerFailure::Deny => OnFailure::Deny,
        OnLedgerFailure::Continue => OnFailure::Continue,
    };
    Ok(Recorder::new(ledger, redactor(config)?, wanted.max_body_bytes, on_failure))
}

fn settings(wanted: &LedgerConfig, folder: PathBuf) -> Settings {
    let mut settings = Settings::new(folder);
    settings.durability = match wanted.fsync {
        Fsync::Interval => Durability::Interval(wanted.fsync_interval),
        Fsync::Always => Durability::Always,
    };
    settings.retention.maximum_age = wanted.retention.age;
    settings.retention.maximum_bytes = wanted.retention.size.map(|size| size as u64);
    settings
}

/// Puts the rules of another configuration in place. Quotas that are new, or count more than before, begin with what the
/// ledger knows of them.
pub(crate) fn replace_policy(gateway: &Gateway, config: &Config) {
    let policy = policy(config);
    let gate = &gateway.gate;
    let recount = policy.recount_since(&gate.policy());
    if !recount.is_empty()
        && let Some(recorder) = &gate.recorder
    {
        let counted = Meters::default();
        recall(&policy, &counted, &recorder.ledger);
        if !gate.meters.take_over(&counted, &recount, Timestamp::now()) {
            tracing::error!(alert = "ledger", "there is no room for all counters of the new quotas");
        }
    }
    gateway.set_policy(policy);
}

/// Counts again what the ledger recorded, as far as it falls into windows that are still open.
fn recall(policy: &Arc<Policy>, meters: &Meters, ledger: &Ledger) {
    let now = Timestamp::now();
    let since = now.as_microsecond() - i64::try_from(LONGEST_WINDOW.as_micros()).unwrap_or(i64::MAX);
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(alert = "ledger", %error, "counters are recalled only in part");
    };
    let count = |past: CarriedUse| {
        let kind = match past.kind {
            toolgate_ledger::Kind::ToolCall => Kind::Tool,
            toolgate_ledger::Kind::ResourceRead => Kind::Resource,
            toolgate_ledger::Kind::PromptGet => Kind::Prompt,
            _ => return,
        };
        let Ok(at) = Timestamp::from_microsecond(past.time_us) else { return };
        let standing = policy.standing(past.caller.as_str().into(), past.groups.into());
        let subject = Subject { kind, server: &past.server, name: &past.native, exposed: &past.exposed };
        let past = PastUse { subject, at, uses: past.uses, charged: Micros(past.charged) };
        meters.replay(&standing, &past, now);
    };
    match ledger.replay_since(since) {
        Ok(records) => {
            for record in records {
                match record {
                    Ok(record) if record.status == Status::Denied => {}
                    Ok(record) => count(use_of(record)),
                    // What is behind the damage counts all the same.
                    Err(error) => failed(&error),
                }
            }
        }
        Err(error) => failed(&error),
    }
    match ledger.carried_since(since) {
        Ok(carried) => carried.into_iter().for_each(count),
        Err(error) => failed(&error),
    }
}

fn use_of(record: Record) -> CarriedUse {
    CarriedUse {
        time_us: record.time_us,
        caller: record.caller,
        groups: record.groups,
        kind: record.kind,
        server: record.server,
        exposed: record.exposed,
        native: record.native,
        uses: 1,
        charged: record.price_settled,
    }
}

#[cfg(test)]
mod tests;
