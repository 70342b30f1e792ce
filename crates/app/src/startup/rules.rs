//! From what the configuration says of policy, prices and quotas to the rules of the gate.

pub(crate) mod check;

use toolgate_config::{Config, PolicyDefault, QuotaScope};
use toolgate_governance::Micros;
use toolgate_governance::rules::{
    Action, ApprovalMode, ApprovalRule, Approver, DefaultEffect, Effect, Per, PolicyRules, PriceRule, Quota,
    Rule, Rules, What, Who,
};

/// All rules of a configuration.
pub(crate) fn of(config: &Config) -> Rules {
    if !config.policy.enabled {
        // What servers offer at all, and what of it needs consent, is said in their own records and holds without a policy too.
        let policy = PolicyRules { rules: denied_tools(config).collect(), ..PolicyRules::default() };
        let approvals = server_approvals(config).collect();
        return Rules { policy, approvals, server_allowed: allowed_tools(config), ..Rules::default() };
    }
    Rules {
        policy: PolicyRules {
            default: match config.policy.default {
                PolicyDefault::Allow => DefaultEffect::Allow,
                PolicyDefault::Deny => DefaultEffect::Deny,
            },
            rules: config.policy.rules.iter().map(rule).chain(denied_tools(config)).collect(),
        },
        approvals: config.policy.approval.iter().map(approval).chain(server_approvals(config)).collect(),
        prices: config.prices.tools.iter().map(price).collect(),
        quotas: config.quotas.iter().map(quota).collect(),
        server_allowed: allowed_tools(config),
    }
}

fn rule(rule: &toolgate_config::PolicyRule) -> Rule {
    Rule {
        id: rule.id.clone(),
        effect: match rule.effect {
            toolgate_config::Effect::Allow => Effect::Allow,
            toolgate_config::Effect::Deny => Effect::Deny,
            toolgate_config::Effect::Hide => Effect::Hide,
        },
        who: Who { callers: rule.callers.clone(), groups: rule.groups.clone() },
        what: What {
            servers: rule.servers.clone(),
            tools: rule.tools.clone(),
            resources: rule.resources.clone(),
            prompts: rule.prompts.clone(),
        },
        actions: rule.actions.iter().map(action).collect(),
        when: rule.when.clone(),
    }
}

fn action(action: &toolgate_config::Action) -> Action {
    match action {
        toolgate_config::Action::List => Action::List,
        toolgate_config::Action::Call => Action::Call,
        toolgate_config::Action::Read => Action::Read,
        toolgate_config::Action::Get => Action::Get,
    }
}

/// Tools that a server's record denies do not exist for anyone.
fn denied_tools(config: &Config) -> impl Iterator<Item = Rule> + '_ {
    config.servers.iter().filter(|(_, server)| !server.denied_tools.is_empty()).map(|(name, server)| Rule {
        id: Some(format!("servers.{name}.denied_tools")),
        effect: Effect::Hide,
        who: Who::default(),
        what: What { servers: vec![name.clone()], tools: server.denied_tools.clone(), ..What::default() },
        actions: Vec::new(),
        when: None,
    })
}

fn allowed_tools(config: &Config) -> std::collections::BTreeMap<String, Vec<String>> {
    let stated = config.servers.iter().filter_map(|(name, server)| {
        server.allowed_tools.as_ref().map(|allowed| (name.clone(), allowed.clone()))
    });
    stated.collect()
}

fn approval(rule: &toolgate_config::ApprovalRule) -> ApprovalRule {
    ApprovalRule {
        id: rule.id.clone(),
        who: Who { callers: rule.callers.clone(), groups: rule.groups.clone() },
        what: What {
            servers: rule.servers.clone(),
            tools: rule.tools.clone(),
            resources: rule.resources.clone(),
            prompts: rule.prompts.clone(),
        },
        mode: mode(rule.mode),
        when: rule.when.clone(),
        by: match rule.by {
            toolgate_config::Approver::Operator => Approver::Operator,
            toolgate_config::Approver::User => Approver::User,
        },
        timeout_seconds: rule.timeout.as_secs(),
    }
}

/// What server records say of approval, tools before their server. The operator's own rules come first.
fn server_approvals(config: &Config) -> impl Iterator<Item = ApprovalRule> + '_ {
    config.servers.iter().flat_map(|(name, server)| {
        let of_server = |tools: Vec<String>, approval, id| ApprovalRule {
            id: Some(id),
            who: Who::default(),
            what: What { servers: vec![name.clone()], tools, ..What::default() },
            // The operator's own rules have been asked before and said nothing, or this would not be looked at.
            mode: match approval {
                toolgate_config::ApprovalMode::Always => ApprovalMode::Always,
                toolgate_config::ApprovalMode::Never | toolgate_config::ApprovalMode::Policy => {
                    ApprovalMode::Never
                }
            },
            when: None,
            by: Approver::Operator,
            timeout_seconds: 300,
        };
        let mut patterns: Vec<_> = server.tool_approvals.iter().collect();
        // The longest matching pattern counts, and the first rule that matches decides.
        patterns.sort_by_key(|(tool, _)| std::cmp::Reverse(tool.len()));
        let of_tools = patterns.into_iter().map(move |(tool, approval)| {
            of_server(vec![tool.clone()], *approval, format!("servers.{name}.tool_approvals.{tool}"))
        });
        let whole = (server.approval == toolgate_config::ApprovalMode::Always)
            .then(|| of_server(vec!["*".into()], server.approval, format!("servers.{name}.approval")));
        of_tools.chain(whole)
    })
}

fn mode(mode: toolgate_config::ApprovalMode) -> ApprovalMode {
    match mode {
        toolgate_config::ApprovalMode::Never => ApprovalMode::Never,
        toolgate_config::ApprovalMode::Always => ApprovalMode::Always,
        toolgate_config::ApprovalMode::Policy => ApprovalMode::Policy,
    }
}

/// A price is of tools. Without patterns for any kind it would be one of resources and prompts too.
fn price(rule: &toolgate_config::PriceRule) -> PriceRule {
    let tools = if rule.tools.is_empty() { vec!["*".to_owned()] } else { rule.tools.clone() };
    PriceRule {
        id: None,
        who: Who::default(),
        what: What { servers: rule.servers.clone(), tools, ..What::default() },
        // Loading refuses negative prices; one beyond all counting costs the most that can be counted.
        price: Micros::from_units(rule.price).unwrap_or(Micros(1 << 53)),
        refund_on_failure: rule.refund_on_failure,
    }
}

fn quota(quota: &toolgate_config::Quota) -> Quota {
    // A limit beyond all counting is none.
    let money = |units: Option<f64>| units.and_then(Micros::from_units);
    Quota {
        id: quota.id.clone(),
        who: Who { callers: quota.callers.clone(), groups: quota.groups.clone() },
        what: What { servers: quota.servers.clone(), tools: quota.tools.clone(), ..What::default() },
        per: match quota.per {
            QuotaScope::Caller => Per::Caller,
            QuotaScope::Group => Per::Group,
            QuotaScope::Tool => Per::Tool,
            QuotaScope::CallerAndTool => Per::CallerAndTool,
            QuotaScope::All => Per::All,
        },
        budget_per_month: money(quota.budget_per_month),
        max_per_call: money(quota.max_per_call),
        calls_per_minute: quota.calls_per_minute,
        calls_per_day: quota.calls_per_day,
        reads_per_minute: quota.reads_per_minute,
        concurrency: quota.concurrency,
        time_zone: quota.time_zone.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolgate_config::ServerConfig;
    use toolgate_governance::{Kind, Policy, Subject};

    use super::*;

    #[test]
    fn a_price_is_of_tools_whichever_it_names() {
        let mut config = Config::default();
        let (servers, tools) = (vec!["shop".into()], Vec::new());
        config.prices.tools.push(toolgate_config::PriceRule {
            servers,
            tools,
            price: 2.0,
            refund_on_failure: false,
        });
        let policy = Arc::new(Policy::compile(&of(&config), 1).0);
        let standing = policy.standing("anna".into(), [].into());
        let price = |subject: Subject<'_>| standing.terms_of_use(&subject, None).price;
        let tool = Subject { kind: Kind::Tool, server: "shop", name: "buy", exposed: "shop__buy" };
        assert_eq!(price(tool), Micros::from_units(2.0));
        assert_eq!(price(Subject::resource("shop", "file:///list")), None);
        assert_eq!(price(Subject { kind: Kind::Prompt, ..tool }), None);
        assert_eq!(price(Subject { server: "bank", ..tool }), None);
    }

    #[test]
    fn what_records_say_holds_without_a_policy() {
        let mut config = Config::default();
        let record = ServerConfig {
            approval: toolgate_config::ApprovalMode::Always,
            denied_tools: vec!["rm".into()],
            ..ServerConfig::default()
        };
        config.servers.insert("a".into(), record);
        config.policy.enabled = false;
        config.quotas.push(toolgate_config::Quota { calls_per_day: Some(1), ..Default::default() });
        let rules = of(&config);
        assert_eq!(rules.approvals[0].id.as_deref(), Some("servers.a.approval"));
        assert_eq!(rules.policy.rules[0].id.as_deref(), Some("servers.a.denied_tools"));
        assert!(rules.quotas.is_empty());
    }
}
