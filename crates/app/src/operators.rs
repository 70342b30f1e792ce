//! How commands ask what operators ask: the gateway that runs here, over its socket; one elsewhere, over HTTP; or one of
//! their own in this process, made from the configuration and the ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::Method;
use serde_json::Value;
use toolgate_admin::Operations;
use toolgate_client::fetch::{Fetch, fetch};
use toolgate_config::{Loaded, Secret};

use crate::cli::ConfigArgs;
use crate::connection::{self, Connection, Purpose, block_on, client_failure};
use crate::failure::{Failure, FailureKind};
use crate::logs;
use crate::startup::{callers, files};

/// The variable that holds the operators' token.
const TOKEN_VARIABLE: &str = "TOOLGATE_ADMIN_TOKEN";
/// What the path of every operation begins with.
const BASE: &str = "/api/v1";
/// How long a gateway elsewhere may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer of a gateway elsewhere, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// Which gateway is asked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OperatorArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Ask the gateway at this address, where its admin API is served
    #[arg(long, value_name = "URL", help_heading = "Gateway")]
    url: Option<String>,
    /// Token of the admin API. Without it, the variable TOOLGATE_ADMIN_TOKEN is used
    #[arg(long, requires = "url", help_heading = "Gateway", value_parser = secret)]
    token: Option<Secret>,
}

/// What a command does where no gateway runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// It fails: only a running gateway knows the answer.
    Fail,
    /// It makes a gateway of its own, which has the rules, the tools and the counters of the ledger.
    MakeOne,
}

/// A question.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    /// The path below the base.
    pub(crate) path: &'a str,
    /// The parameters; those without a value are left out.
    pub(crate) parameters: &'a [(&'a str, Option<&'a str>)],
    pub(crate) body: Value,
}

impl Question<'_> {
    fn target(&self) -> String {
        let given = self.parameters.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
        if query.is_empty() { self.path.to_owned() } else { format!("{}?{query}", self.path) }
    }
}

/// Asks, and gives the answer's body.
pub(crate) fn ask(
    args: &OperatorArgs,
    otherwise: Otherwise,
    question: &Question<'_>,
) -> Result<Value, Failure> {
    let (status, body) = block_on(async {
        if let Some(url) = &args.url {
            return over_http(args, url, question).await;
        }
        let mut loaded = files::load(&args.config, args.config.overrides());
        logs::begin_quietly(args.config.log_level.as_deref(), &loaded.config.log);
        if let Some((mut client, _)) = connection::running(&args.config, &loaded).await {
            let answer =
                client.operate(question.method.as_str(), &question.target(), question.body.clone()).await;
            return answer.map_err(client_failure);
        }
        if otherwise == Otherwise::Fail {
            return Err(Failure::not_found("no gateway is running with this configuration").help(
                "start one with `toolgate start`, name its state folder with --state-dir, or its address with --url",
            ));
        }
        files::require_sound(&loaded)?;
        let connection = own(&mut loaded)?;
        let answer = in_this_process(&connection, question).await;
        connection.close().await;
        Ok(answer)
    })?;
    if (200..300).contains(&status) { Ok(body) } else { Err(failure(status, &body)) }
}

/// A gateway of our own with the keys and the counters of the state folder, in which nothing new is made.
fn own(loaded: &mut Loaded) -> Result<Connection, Failure> {
    let state_dir = files::state_dir(&loaded.config);
    let ledger = loaded.config.ledger.dir.clone().or_else(|| Some(state_dir.as_ref()?.join("ledger")));
    let purpose = if ledger.is_some_and(|folder| folder.is_dir()) { Purpose::Use } else { Purpose::Look };
    loaded.config.callers.keys_file =
        callers::keys_file(&loaded.config, state_dir.as_deref()).map(|file| file.path().to_owned());
    Connection::own(loaded, purpose)
}

async fn in_this_process(connection: &Connection, question: &Question<'_>) -> (u16, Value) {
    let Connection::Own(gateway) = connection else { return (503, Value::Null) };
    gateway.fleet.settle(gateway.settings.start_patience).await;
    let body = question.body.to_string();
    let answer = Operations::new(gateway).answer(&question.method, &question.target(), body.as_bytes()).await;
    (answer.status.as_u16(), answer.body)
}

async fn over_http(args: &OperatorArgs, url: &str, question: &Question<'_>) -> Result<(u16, Value), Failure> {
    let token = args.token.clone().or_else(|| files::variable(TOKEN_VARIABLE).map(Secret::new));
    let token = token.ok_or_else(|| {
        Failure::invalid("the admin API needs a token")
            .help(format!("give it with --token or in the variable {TOKEN_VARIABLE}"))
    })?;
    let base = url.trim_end_matches('/').trim_end_matches(BASE);
    let headers = BTreeMap::from([
        ("authorization".to_owned(), format!("Bearer {}", token.expose())),
        ("content-type".to_owned(), "application/json".to_owned()),
    ]);
    let body = if question.body.is_null() { String::new() } else { question.body.to_string() };
    let request = Fetch {
        method: &question.method,
        url: &format!("{base}{BASE}{}", question.target()),
        headers: &headers,
        body: &Bytes::from(body),
        patience: PATIENCE,
        limit: LONGEST_ANSWER,
    };
    let answer = fetch(request).await;
    let (status, body) =
        answer.map_err(|error| Failure::not_found(format!("the gateway cannot be asked: {error}")))?;
    match serde_json::from_slice(&body) {
        Ok(body) => Ok((status.as_u16(), body)),
        Err(_) => {
            Err(Failure::failed(format!("{base} answers with status {status}, and not as an admin API does")))
        }
    }
}

fn failure(status: u16, body: &Value) -> Failure {
    let message = body.pointer("/error/message").and_then(Value::as_str);
    let kind = match status {
        400 => FailureKind::Invalid,
        401 | 403 => FailureKind::Refused,
        404 => FailureKind::NotFound,
        _ => FailureKind::Failed,
    };
    Failure::new(
        kind,
        message.map_or_else(|| format!("the gateway answers with status {status}"), str::to_owned),
    )
}

fn secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_encoded_and_empty_ones_left_out() {
        let parameters = [("caller", Some("a b&c")), ("tool", None), ("groups", Some("x,y"))];
        let check = |parameters: &[(&str, Option<&str>)], expected: &str| {
            let question = Question { method: Method::GET, path: "/quotas", parameters, body: Value::Null };
            assert_eq!(question.target(), expected);
        };
        check(&parameters, "/quotas?caller=a+b%26c&groups=x%2Cy");
        check(&parameters[1..2], "/quotas");
    }

    #[test]
    fn statuses_become_kinds_of_failure() {
        let check = |status: u16, expected: FailureKind| {
            let failure = failure(status, &json!({"error": {"message": "no"}}));
            assert_eq!((failure.kind, failure.message.as_str()), (expected, "no"), "{status}");
        };
        check(400, FailureKind::Invalid);
        check(401, FailureKind::Refused);
        check(404, FailureKind::NotFound);
        check(503, FailureKind::Failed);
    }
}
