//! What the tests have in common.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_client::{ServerSpec, Transport};
use toolgate_gateway::catalog::{Kind, Listing, Memory, Naming};
use toolgate_gateway::gateway::background::fingerprint;
use toolgate_gateway::recorder::{Draft, End, OnFailure, Recorder};
use toolgate_gateway::router::Target;
use toolgate_gateway::{Desired, Gate, Gateway, Principal, Settings};
use toolgate_governance::Policy;
use toolgate_ledger::{Ledger, RedactionRules, Redactor, Status};
use toolgate_protocol::Era;

use crate::Operations;

/// A gateway with a server `db` that has two tools, a resource and a prompt and never starts, and four calls in its ledger.
pub(super) struct Scene {
    pub(super) gateway: Arc<Gateway>,
    pub(super) operations: Operations,
    _folder: TempDir,
}

impl Scene {
    pub(super) fn begin() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let desired = database();
        let mut listing = Listing::new("db".into(), None, false);
        listing.add_page(Kind::Tool, &Bytes::from(tools().to_string())).unwrap();
        let rows = json!({"resources": [{"uri": "db://rows", "name": "rows"}]});
        listing.add_page(Kind::Resource, &Bytes::from(rows.to_string())).unwrap();
        let help = json!({"prompts": [{"name": "help"}]});
        listing.add_page(Kind::Prompt, &Bytes::from(help.to_string())).unwrap();
        Memory::under(folder.path()).store(&listing, &fingerprint(&desired)).unwrap();
        let settings =
            Settings { state_dir: Some(folder.path().to_owned()), ..Settings::on_this_machine([7; 32]) };
        let (policy, problems) = Policy::compile(&serde_json::from_value(rules()).unwrap(), 1);
        assert!(problems.is_empty(), "{problems:?}");
        let gate = Gate::new(policy, Some(recorder(&folder)));
        let gateway = Gateway::start(settings, gate).unwrap();
        gateway.apply(vec![desired], Naming::Prefixed);
        Scene { operations: Operations::new(&gateway), gateway, _folder: folder }
    }

    /// Asks, and gives status and body.
    pub(super) async fn ask(&self, method: &str, target: &str, body: Value) -> (u16, Value) {
        let method: Method = method.parse().unwrap();
        let answer = self.operations.answer(&method, target, body.to_string().as_bytes()).await;
        (answer.status.as_u16(), answer.body)
    }

    /// Asks for what must be there.
    pub(super) async fn get(&self, target: &str) -> Value {
        let (status, body) = self.ask("GET", target, Value::Null).await;
        assert_eq!(status, 200, "{target}: {body}");
        body
    }
}

fn database() -> Desired {
    let transport =
        Transport::Stdio { command: "none".into(), args: vec![], env: BTreeMap::new(), cwd: None };
    let spec = ServerSpec {
        on_demand: true,
        call_timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        max_concurrency: 1,
        max_waiting: 1,
        ..ServerSpec::new("db", transport)
    };
    Desired::from(spec)
}

fn tools() -> Value {
    let schema = json!({"type": "object", "required": ["table"]});
    json!({"tools": [
        {"name": "read", "inputSchema": schema},
        {"name": "drop", "inputSchema": schema},
    ]})
}

fn rules() -> Value {
    json!({
        "policy": {"rules": [
            {"id": "no-drop", "effect": "deny", "tools": ["drop"], "when": "!('admins' in caller.groups)"},
            {"id": "no-rows", "effect": "deny", "resources": ["db://*"], "when": "!('admins' in caller.groups)"},
            {"id": "no-help", "effect": "hide", "prompts": ["help"], "callers": ["bert"]},
        ]},
        "approvals": [{"id": "ask", "tools": ["drop"], "mode": "always"}],
        "quotas": [{"id": "slow", "calls_per_minute": 10}],
    })
}

/// A ledger in which anna read twice and was denied once, and bert read once.
fn recorder(folder: &TempDir) -> Recorder {
    let ledger =
        Arc::new(Ledger::open(toolgate_ledger::Settings::new(folder.path().join("ledger"))).unwrap());
    let redactor = Redactor::new(&RedactionRules::default()).unwrap();
    let recorder = Recorder::new(Arc::clone(&ledger), redactor, 1024, OnFailure::Deny);
    let now = Timestamp::now().as_microsecond();
    let calls = [
        ("anna", "read", Status::Ok),
        ("anna", "read", Status::Ok),
        ("bert", "read", Status::Ok),
        ("anna", "drop", Status::Denied),
    ];
    for (age, (caller, tool, status)) in calls.into_iter().rev().enumerate() {
        let draft = Draft {
            // The last of them is the newest.
            time_us: now - age as i64,
            principal: Arc::new(Principal::named(caller)),
            kind: toolgate_ledger::Kind::ToolCall,
            target: Arc::new(Target {
                kind: toolgate_governance::Kind::Tool,
                server: "db".into(),
                exposed: format!("db__{tool}").into(),
                native: tool.into(),
                declared_price: None,
            }),
            era: Era::Modern,
            arguments: Some(Bytes::from_static(br#"{"table":"t","password":"1234"}"#)),
            trace_id: None,
        };
        let is_ok = status == Status::Ok;
        let end = End {
            status,
            error_code: (!is_ok).then_some(-32003),
            result: Some(br#"{"rows":3}"#),
            duration_us: 1500,
            price_reserved: 250_000,
            price_settled: if is_ok { 250_000 } else { 0 },
            policy_revision: 1,
        };
        recorder.write(&draft, &end).unwrap();
    }
    ledger.catch_up().unwrap();
    recorder
}
