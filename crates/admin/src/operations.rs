//! The operations: a question by method and address, an answer as JSON, whatever way they travel.

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use toolgate_gateway::Gateway;
use toolgate_gateway::downstream::health;
use toolgate_ledger::Ledger;

use crate::answers::{Health, Quotas};
use crate::problem::{Problem, ProblemKind};
use crate::questions::{self, Decision, ExplainQuery, LedgerQuery, NoQuery, QuotasQuery, StatisticsQuery};
use crate::{approvals, ledger, openapi, rules};

/// How many questions may wait for the disk at one time.
const READING: usize = 4;
/// How long a question waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The operations of one gateway.
#[derive(Debug, Clone)]
pub struct Operations {
    gateway: Weak<Gateway>,
    reading: Arc<Semaphore>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whether it went well, as HTTP says it.
    pub status: StatusCode,
    /// What was asked for, or what went wrong.
    pub body: Value,
}

impl Operations {
    /// The operations of a gateway, which is not kept alive by them.
    pub fn new(gateway: &Arc<Gateway>) -> Operations {
        Operations { gateway: Arc::downgrade(gateway), reading: Arc::new(Semaphore::new(READING)) }
    }

    /// Answers a question. `target` is what follows `/api/v1` in the address, with its parameters.
    pub async fn answer(&self, method: &Method, target: &str, body: &[u8]) -> Answer {
        match self.respond(method, target, body).await {
            Ok(body) => Answer { status: StatusCode::OK, body },
            Err(problem) => Answer::from(&problem),
        }
    }

    async fn respond(&self, method: &Method, target: &str, body: &[u8]) -> Result<Value, Problem> {
        let gateway = self.gateway.upgrade();
        let gateway =
            gateway.ok_or_else(|| Problem::new(ProblemKind::Unavailable, "the gateway is stopping"))?;
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments = path.split('/').map(|segment| percent_decode_str(segment).decode_utf8_lossy());
        let segments: Vec<_> = segments.collect();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match (method.as_str(), segments.as_slice()) {
            ("GET", ["statistics"]) => {
                let query: StatisticsQuery = questions::read(query)?;
                self.read_ledger(gateway, move |found| ledger::statistics(&found.store(), &query)).await
            }
            ("GET", ["ledger"]) => {
                let query: LedgerQuery = questions::read(query)?;
                self.read_ledger(gateway, move |found| ledger::page(&found.store(), &query)).await
            }
            ("GET", ["ledger", replica, sequence]) => {
                let NoQuery {} = questions::read(query)?;
                let sequence = sequence.parse();
                let sequence = sequence.map_err(|_| Problem::invalid("the sequence must be a number"))?;
                let replica = (*replica).to_owned();
                self.read_ledger(gateway, move |found| {
                    ledger::record(&found.store(), &found.reader(), &replica, sequence)
                })
                .await
            }
            ("GET", ["quotas"]) => {
                let query = questions::read(query)?;
                self.read(move || quotas(&gateway, query)).await
            }
            ("GET", ["explain"]) => {
                let query: ExplainQuery = questions::read(query)?;
                self.read(move || {
                    let groups = groups(&gateway, &query.caller, query.groups.as_deref());
                    rules::explain(&gateway, &rules::standing(&gateway, &query.caller, groups), &query)
                })
                .await
            }
            ("GET", ["approvals"]) => {
                let NoQuery {} = questions::read(query)?;
                written(approvals::list(&gateway.gate.approvals))
            }
            ("POST", ["approvals", id]) => {
                let decision: Decision = read_body(body)?;
                written(approvals::decide(&gateway.gate.approvals, id, decision)?)
            }
            ("GET", ["servers"]) => {
                let NoQuery {} = questions::read(query)?;
                let report: Result<Health, _> = serde_json::from_value(health::report(&gateway));
                written(report.map_err(|error| Problem::new(ProblemKind::Failed, error.to_string()))?)
            }
            ("GET", ["openapi.json"]) => Ok(openapi::document()),
            (_, known) if is_known(known) => {
                Err(Problem::new(ProblemKind::MethodNotAllowed, format!("{method} is not possible here")))
            }
            _ => Err(Problem::not_found(format!(
                "there is nothing at '/{path}'; /openapi.json lists what there is"
            ))),
        }
    }

    async fn read_ledger<T: Serialize + Send + 'static>(
        &self,
        gateway: Arc<Gateway>,
        work: impl FnOnce(&Ledger) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Value, Problem> {
        self.read(move || match &gateway.gate.recorder {
            Some(recorder) => work(&recorder.ledger),
            None => Err(Problem::not_found("no ledger is kept; ledger.enabled switches it on")),
        })
        .await
    }

    /// Does work that waits for the disk, away from the threads that serve, a few pieces at a time.
    async fn read<T: Serialize + Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<Value, Problem> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.reading).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Problem::new(ProblemKind::Unavailable, "too much is asked at once; try again later"));
        };
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        written(done.await.map_err(|error| Problem::new(ProblemKind::Failed, error.to_string()))??)
    }
}

impl From<&Problem> for Answer {
    fn from(problem: &Problem) -> Answer {
        let body = serde_json::to_value(problem.answer()).unwrap_or_default();
        Answer { status: problem.status(), body }
    }
}

fn quotas(gateway: &Gateway, query: QuotasQuery) -> Result<Quotas, Problem> {
    let groups = groups(gateway, &query.caller, query.groups.as_deref());
    let standing = rules::standing(gateway, &query.caller, groups.clone());
    let month = match &gateway.gate.recorder {
        Some(recorder) => Some(ledger::month(&recorder.ledger.store(), &query.caller)?),
        None => None,
    };
    let limits = rules::limits(gateway, &standing, query.tool.as_deref())?;
    Ok(Quotas { caller: query.caller, groups, month, limits })
}

/// The groups that are stated, or those that the caller is known to be in.
fn groups(gateway: &Gateway, caller: &str, stated: Option<&str>) -> Vec<String> {
    match stated {
        Some(stated) => {
            stated.split(',').map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned).collect()
        }
        None => gateway.door.load().groups_of(caller),
    }
}

fn is_known(segments: &[&str]) -> bool {
    matches!(
        segments,
        ["statistics" | "ledger" | "quotas" | "explain" | "approvals" | "servers" | "openapi.json"]
            | ["ledger", _, _]
            | ["approvals", _]
    )
}

fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::invalid(format!("the body cannot be used: {error}")))
}

fn written(answer: impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(answer).map_err(|error| Problem::new(ProblemKind::Failed, error.to_string()))
}
