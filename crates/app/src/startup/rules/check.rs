//! What is wrong with the rules: patterns, conditions, time zones.
//!
//! The configuration knows nothing of CEL, so the rules are compiled when it has been read, and what cannot be read makes
//! it invalid like anything else that is wrong. The gate would deny what such a rule covers; that is for those that get
//! past this.

use toolgate_config::{Loaded, Problem, Redaction, join_path};
use toolgate_governance::rules::{PolicyRules, Rules};
use toolgate_governance::{Pattern, Policy, RuleProblem};
use toolgate_ledger::Redactor;

use crate::startup::gate;

/// How the gate begins to say what follows from a rule that cannot be read. Here nothing follows: it is refused.
const CONSEQUENCE: &str = "; until this is mended";

/// Adds what is wrong with policy, approvals, prices, quotas, redaction and the patterns in the records of servers.
pub(crate) fn rules(loaded: &mut Loaded) {
    let mut problems = patterns_of_rules(loaded);
    problems.extend(patterns_of_servers(loaded));
    let are_readable = problems.is_empty();
    problems.extend(conditions(loaded));
    problems.extend(time_zones(loaded));
    if let Err(error) = Redactor::new(&gate::redaction(&loaded.config)) {
        problems.push(loaded.problem_at("ledger.redact", error.to_string()));
    }
    problems.extend(replacements(loaded));
    if are_readable && problems.is_empty() {
        let mut doubts = twins(loaded);
        loaded.warnings.append(&mut doubts);
    }
    loaded.problems.append(&mut problems);
}

fn patterns_of_rules(loaded: &Loaded) -> Vec<Problem> {
    let config = &loaded.config;
    let mut lists: Vec<(String, &[String])> = Vec::new();
    for (index, rule) in config.policy.rules.iter().enumerate() {
        let of_rule = [
            ("callers", &rule.callers),
            ("groups", &rule.groups),
            ("servers", &rule.servers),
            ("tools", &rule.tools),
            ("resources", &rule.resources),
            ("prompts", &rule.prompts),
        ];
        lists.extend(of_rule.map(|(key, list)| (format!("policy.rules[{index}].{key}"), list.as_slice())));
    }
    for (index, rule) in config.policy.approval.iter().enumerate() {
        let of_rule = [
            ("callers", &rule.callers),
            ("groups", &rule.groups),
            ("servers", &rule.servers),
            ("tools", &rule.tools),
            ("resources", &rule.resources),
            ("prompts", &rule.prompts),
        ];
        lists.extend(of_rule.map(|(key, list)| (format!("policy.approval[{index}].{key}"), list.as_slice())));
    }
    for (index, rule) in config.prices.tools.iter().enumerate() {
        let of_rule = [("servers", &rule.servers), ("tools", &rule.tools)];
        lists.extend(of_rule.map(|(key, list)| (format!("prices.tools[{index}].{key}"), list.as_slice())));
    }
    for (index, quota) in config.quotas.iter().enumerate() {
        let of_quota = [
            ("callers", &quota.callers),
            ("groups", &quota.groups),
            ("servers", &quota.servers),
            ("tools", &quota.tools),
        ];
        lists.extend(of_quota.map(|(key, list)| (format!("quotas[{index}].{key}"), list.as_slice())));
    }
    lists.iter().flat_map(|(path, list)| bad_patterns(loaded, path, list)).collect()
}

fn patterns_of_servers(loaded: &Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, server) in &loaded.config.servers {
        let section = if server.sources.is_some() { "handlers" } else { "servers" };
        let record = join_path(section, name);
        let allowed = server.allowed_tools.as_deref().unwrap_or_default();
        for (key, list) in [("allowed_tools", allowed), ("denied_tools", server.denied_tools.as_slice())] {
            problems.extend(bad_patterns(loaded, &join_path(&record, key), list));
        }
        let approvals = server.tool_approvals.keys().map(|pattern| ("tool_approvals", pattern));
        let timeouts = server.tool_timeouts.keys().map(|pattern| ("tool_timeouts", pattern));
        for (key, pattern) in approvals.chain(timeouts) {
            if let Err(error) = Pattern::parse(pattern) {
                let path = join_path(&join_path(&record, key), pattern);
                problems.push(loaded.problem_at(&path, error.to_string()));
            }
        }
    }
    problems
}

fn bad_patterns(loaded: &Loaded, path: &str, list: &[String]) -> Vec<Problem> {
    let bad = list.iter().enumerate().filter_map(|(index, pattern)| {
        let error = Pattern::parse(pattern).err()?;
        Some(loaded.problem_at(&format!("{path}[{index}]"), error.to_string()))
    });
    bad.collect()
}

/// Rules and approvals one by one, without their patterns: what is left that can be wrong is the condition.
fn conditions(loaded: &Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, rule) in loaded.config.policy.rules.iter().enumerate() {
        let mut bare = super::rule(rule);
        (bare.who, bare.what) = Default::default();
        let policy = PolicyRules { rules: vec![bare], ..PolicyRules::default() };
        let wrong = compiled(&Rules { policy, ..Rules::default() });
        let path = format!("policy.rules[{index}].when");
        problems.extend(wrong.iter().map(|wrong| at(loaded, &path, wrong)));
    }
    for (index, rule) in loaded.config.policy.approval.iter().enumerate() {
        let mut bare = super::approval(rule);
        (bare.who, bare.what) = Default::default();
        let wrong = compiled(&Rules { approvals: vec![bare], ..Rules::default() });
        let path = format!("policy.approval[{index}].when");
        problems.extend(wrong.iter().map(|wrong| at(loaded, &path, wrong)));
    }
    problems
}

/// Quotas one by one, without their patterns: what is left that can be wrong is the time zone.
fn time_zones(loaded: &Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, quota) in loaded.config.quotas.iter().enumerate() {
        let mut bare = super::quota(quota);
        (bare.who, bare.what) = Default::default();
        let wrong = compiled(&Rules { quotas: vec![bare], ..Rules::default() });
        let path = format!("quotas[{index}].time_zone");
        problems.extend(wrong.iter().map(|wrong| at(loaded, &path, wrong)));
    }
    problems
}

/// Quotas that are sound one by one and not beside each other.
fn twins(loaded: &Loaded) -> Vec<Problem> {
    let quotas = &loaded.config.quotas;
    let wrong = compiled(&Rules { quotas: quotas.iter().map(super::quota).collect(), ..Rules::default() });
    let place = |rule: &str| match quotas.iter().position(|quota| quota.id.as_deref() == Some(rule)) {
        Some(index) => format!("quotas[{index}]"),
        // One without a name goes by its place.
        None => rule.to_owned(),
    };
    wrong.iter().map(|wrong| at(loaded, &place(&wrong.rule), wrong)).collect()
}

/// One text stands for all that is taken out: records do not say by which rule it was.
fn replacements(loaded: &Loaded) -> Vec<Problem> {
    let rules = &loaded.config.ledger.redact;
    let wanted = gate::redaction(&loaded.config).replacement;
    let is_other = |replace: &str| replace != wanted && replace != Redaction::default().replace;
    let others = rules.iter().enumerate().filter(|(_, rule)| is_other(&rule.replace));
    let what = "another rule names another text, and one text stands for all that is taken out";
    others.map(|(index, _)| loaded.problem_at(&format!("ledger.redact[{index}].replace"), what)).collect()
}

fn compiled(rules: &Rules) -> Vec<RuleProblem> {
    Policy::compile(rules, 0).1
}

fn at(loaded: &Loaded, path: &str, wrong: &RuleProblem) -> Problem {
    // What follows the first line is a drawing of the place.
    let what = wrong.message.split(CONSEQUENCE).next().unwrap_or_default().lines().next().unwrap_or_default();
    loaded.problem_at(path, what)
}

#[cfg(test)]
mod tests {
    use toolgate_config::{Overrides, Request};

    use super::*;

    #[test]
    fn what_cannot_be_compiled_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolgate.yaml");
        let check = |text: &str, expected: &str| {
            std::fs::write(&path, text).unwrap();
            let paths = vec![path.clone()];
            let request =
                Request { paths, overrides: Overrides::default(), strict: false, environment: &|_| None };
            let mut loaded = toolgate_config::load(&request);
            rules(&mut loaded);
            let said: Vec<String> =
                loaded.problems.iter().chain(&loaded.warnings).map(ToString::to_string).collect();
            let place = format!("{}:{expected}", path.display());
            assert!(said.len() == usize::from(!expected.is_empty()), "{text}: {said:?}");
            assert!(
                expected.is_empty() || said.iter().all(|said| said.starts_with(&place)),
                "{text}: {said:?}"
            );
        };
        check("policy:\n  rules:\n    - effect: deny\n      when: arguments.n > 3\n", "");
        check(
            "policy:\n  rules:\n    - effect: deny\n      when: arguments.n >\n",
            "4:13: policy.rules[0].when: the condition is not valid CEL",
        );
        check(
            "policy:\n  rules:\n    - {id: a, effect: deny, when: nobody.id == 'x'}\n",
            "3:35: policy.rules[0].when: the condition uses `nobody`",
        );
        check(
            "policy:\n  rules:\n    - {effect: hide, when: arguments.n > 3}\n",
            "3:28: policy.rules[0].when: a list is the same",
        );
        check(
            "policy:\n  approval:\n    - {mode: always, when: \"(\"}\n",
            "3:28: policy.approval[0].when: the condition is not valid CEL",
        );
        check(
            "policy:\n  rules:\n    - {effect: deny, tools: [a, \"\"]}\n",
            "3:33: policy.rules[0].tools[1]: the pattern is empty",
        );
        check("quotas:\n  - {calls_per_day: 3, time_zone: Europe/Atlantis}\n", "2:35: quotas[0].time_zone: ");
        check(
            "quotas:\n  - {calls_per_day: 3, callers: [\"\"]}\n",
            "2:34: quotas[0].callers[0]: the pattern",
        );
        check(
            "quotas:\n  - {calls_per_day: 3}\n  - {calls_per_minute: 3}\n",
            "3:24: quotas[1]: another quota has the same name",
        );
        check(
            "prices:\n  tools:\n    - {price: 1, servers: [\"\"]}\n",
            "3:28: prices.tools[0].servers[0]: the",
        );
        check(
            "servers:\n  a: {command: x, tool_timeouts: {\"\": 3s}}\n",
            "2:39: servers.a.tool_timeouts.\"\": the pattern is empty",
        );
        check(
            "policy:\n  approval:\n    - {mode: always, resources: [\"\"]}\n",
            "3:34: policy.approval[0].resources[0]: the pattern is empty",
        );
        check(
            "policy:\n  approval:\n    - {mode: always, prompts: [\"\"]}\n",
            "3:32: policy.approval[0].prompts[0]: the pattern is empty",
        );
        check("ledger:\n  redact:\n    - {paths: [no slash]}\n", "3:");
        check("ledger:\n  redact:\n    - {keys: [a], replace: X}\n    - {keys: [b]}\n", "");
        check(
            "ledger:\n  redact:\n    - {keys: [a], replace: X}\n    - {keys: [b], replace: Y}\n",
            "4:28: ledger.redact[1].replace: another rule names another text",
        );
    }
}
