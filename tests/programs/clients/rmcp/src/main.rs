//! A client on the Rust SDK, in either era: `rmcp-client PLAN`, with the plan as JSON.
//!
//! Like the other clients it prints one line of JSON for each check, the last one named `close`.

mod plan;

use std::collections::HashSet;
use std::error::Error;
use std::fmt::Display;

use plan::{Era, Plan, Target};
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use serde::Serialize;
use tokio::process::Command;

type Client = RunningService<RoleClient, ()>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let plan: Plan = serde_json::from_str(&std::env::args().nth(1).ok_or("usage: rmcp-client PLAN")?)?;
    let client = connect(&plan).await?;
    report("connect", right_era(&client, plan.era));
    play(&client, &plan).await;
    report("close", client.cancel().await.map(drop));
    Ok(())
}

async fn connect(plan: &Plan) -> Result<Client, Box<dyn Error>> {
    match &plan.target {
        Target::Http { url } => serve(StreamableHttpClientTransport::from_uri(url.as_str()), plan.era).await,
        Target::Stdio { command, args, env } => {
            let mut gateway = Command::new(command);
            gateway.args(args).env_clear().envs(env);
            serve(TokioChildProcess::new(gateway)?, plan.era).await
        }
    }
}

async fn serve<T, E, A>(transport: T, era: Era) -> Result<Client, Box<dyn Error>>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    match era {
        Era::Legacy => Ok(().serve(transport).await?),
        Era::Modern => {
            let discover =
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
            Ok(().serve_with_lifecycle(transport, discover).await?)
        }
    }
}

fn right_era(client: &Client, wanted: Era) -> Result<(), String> {
    let spoken = client.peer_info().map(|info| info.protocol_version.clone()).ok_or("no greeting")?;
    match spoken.has_initialize() == (wanted == Era::Legacy) {
        true => Ok(()),
        false => Err(format!("asked for the {wanted:?} era, but speaks {spoken}")),
    }
}

async fn play(client: &Client, plan: &Plan) {
    let listed = client.list_tools(None).await;
    let listed = listed.map(|page| page.tools.into_iter().map(|tool| tool.name.into_owned()).collect());
    report("list tools", expect_names(listed, plan.tools.iter().map(|tool| &tool.name)));
    for tool in &plan.tools {
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(tool.arguments.clone());
        let answer = client.call_tool(params).await;
        report(&format!("call {}", tool.name), expect_text(answer, &tool.expect));
    }
    let listed = client.list_resources(None).await;
    let listed = listed.map(|page| page.resources.into_iter().map(|resource| resource.uri.clone()).collect());
    report("list resources", expect_names(listed, plan.resources.iter().map(|resource| &resource.uri)));
    for resource in &plan.resources {
        let answer = client.read_resource(ReadResourceRequestParams::new(resource.uri.clone())).await;
        report(&format!("read {}", resource.uri), expect_text(answer, &resource.expect));
    }
    let listed = client.list_prompts(None).await;
    let listed = listed.map(|page| page.prompts.into_iter().map(|prompt| prompt.name).collect());
    report("list prompts", expect_names(listed, plan.prompts.iter().map(|prompt| &prompt.name)));
    for prompt in &plan.prompts {
        let params =
            GetPromptRequestParams::new(prompt.name.clone()).with_arguments(prompt.arguments.clone());
        let answer = client.get_prompt(params).await;
        report(&format!("get {}", prompt.name), expect_text(answer, &prompt.expect));
    }
}

fn expect_names<'a>(
    listed: Result<HashSet<String>, impl Display>,
    wanted: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let listed = listed.map_err(|error| error.to_string())?;
    let missing: Vec<_> = wanted.filter(|name| !listed.contains(*name)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("not listed: {missing:?}; listed: {listed:?}")),
    }
}

fn expect_text(answer: Result<impl Serialize, impl Display>, expected: &str) -> Result<(), String> {
    let answer = answer.map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&answer).map_err(|error| error.to_string())?;
    match text.contains(expected) && !text.contains(r#""isError":true"#) {
        true => Ok(()),
        false => Err(format!("expected {expected} in {}", text.chars().take(500).collect::<String>())),
    }
}

fn report(name: &str, result: Result<(), impl Display>) {
    let detail = result.err().map(|problem| problem.to_string());
    println!("{}", serde_json::json!({"name": name, "ok": detail.is_none(), "detail": detail}));
}
