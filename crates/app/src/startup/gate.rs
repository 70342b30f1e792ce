//! The gate as the configuration wants it: rules, counters of earlier runs, the ledger.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use toolgate_config::{Config, Fsync, OnLedgerFailure};
use toolgate_gateway::Gate;
use toolgate_gateway::recorder::{OnFailure, Recorder};
use toolgate_governance::{Kind, Meters, Micros, PastUse, Policy, Subject};
use toolgate_ledger::redact::RedactionRules;
use toolgate_ledger::{Durability, Ledger, Redactor, Status};

use crate::startup::{StartError, rules};

/// Windows of quotas are months at most; a month of any time zone began within this many seconds.
const REPLAYED_SECONDS: i64 = 33 * 24 * 3600;

/// The gate at start: counters go on where the ledger says they were.
pub(crate) fn open(config: &Config, state_dir: Option<&Path>) -> Result<Gate, StartError> {
    let policy = policy(config);
    let ledger_dir = config.ledger.dir.clone().or_else(|| state_dir.map(|folder| folder.join("ledger")));
    let recorder = match ledger_dir.filter(|_| config.ledger.enabled) {
        None => None,
        Some(folder) => Some(recorder(config, folder)?),
    };
    let gate = Gate::new(policy, recorder);
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

/// What is taken out of records before they are written.
pub(super) fn redaction(config: &Config) -> RedactionRules {
    let mut redaction = RedactionRules::default();
    for rule in &config.ledger.redact {
        redaction.keys.extend(rule.keys.iter().cloned());
        redaction.paths.extend(rule.paths.iter().cloned());
        redaction.replacement.clone_from(&rule.replace);
    }
    redaction
}

fn recorder(config: &Config, folder: PathBuf) -> Result<Recorder, StartError> {
    let wanted = &config.ledger;
    let redactor = Redactor::new(&redaction(config))?;
    let mut settings = toolgate_ledger::Settings::new(folder);
    settings.durability = match wanted.fsync {
        Fsync::Interval => Durability::Interval(wanted.fsync_interval),
        Fsync::Always => Durability::Always,
    };
    settings.retention.maximum_age = wanted.retention.age;
    settings.retention.maximum_bytes = wanted.retention.size.map(|size| size as u64);
    let ledger = Arc::new(Ledger::open(settings)?);
    for finding in &ledger.health().findings {
        tracing::warn!(alert = "ledger", finding, "the ledger was mended");
    }
    let on_failure = match wanted.on_failure {
        OnLedgerFailure::Deny => OnFailure::Deny,
        OnLedgerFailure::Continue => OnFailure::Continue,
    };
    Ok(Recorder::new(ledger, redactor, wanted.max_body_bytes, on_failure))
}

/// Counts again what the ledger recorded, as far as it falls into windows that are still open.
fn recall(policy: &Arc<Policy>, meters: &Meters, ledger: &Ledger) {
    let now = Timestamp::now();
    let since = now.as_microsecond() - REPLAYED_SECONDS * 1_000_000;
    let records = match ledger.replay_since(since) {
        Ok(records) => records,
        Err(error) => {
            tracing::error!(alert = "ledger", %error, "counters could not be recalled");
            return;
        }
    };
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(alert = "ledger", %error, "counters are recalled only in part");
                return;
            }
        };
        if record.status == Status::Denied {
            continue;
        }
        let kind = match record.kind {
            toolgate_ledger::Kind::ToolCall => Kind::Tool,
            toolgate_ledger::Kind::ResourceRead => Kind::Resource,
            toolgate_ledger::Kind::PromptGet => Kind::Prompt,
            _ => continue,
        };
        let Ok(at) = Timestamp::from_microsecond(record.time_us) else { continue };
        let standing = policy.standing(record.caller.as_str().into(), record.groups.into());
        let subject =
            Subject { kind, server: &record.server, name: &record.native, exposed: &record.exposed };
        let past = PastUse { subject, at, uses: 1, charged: Micros(record.price_settled) };
        meters.replay(&standing, &past, now);
    }
}
