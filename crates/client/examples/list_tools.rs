//! Lists the tools of any MCP server and calls one of them.
//!
//! ```text
//! list_tools http://127.0.0.1:3000/mcp
//! list_tools npx -y @modelcontextprotocol/server-everything
//! TOOL=echo ARGUMENTS='{"message":"hello"}' list_tools npx -y @modelcontextprotocol/server-everything
//! ```

#![expect(clippy::print_stdout, reason = "what it finds is printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use toolgate_client::{Server, ServerSpec, Transport};
use toolgate_protocol::{Method, text};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let first = words.next().ok_or("usage: list_tools URL | COMMAND [ARGUMENT]…")?;
    let transport = if first.starts_with("http://") || first.starts_with("https://") {
        Transport::Http { url: first, headers: BTreeMap::new() }
    } else {
        Transport::Stdio { command: first, args: words.collect(), env: BTreeMap::new(), cwd: None }
    };
    let spec = ServerSpec {
        call_timeout: Duration::from_secs(60),
        connect_timeout: Duration::from_secs(60),
        ..ServerSpec::new("example", transport)
    };
    // Whoever does not want the news may drop the receiving end.
    let (news, _) = mpsc::channel(16);
    let server = Server::start(spec, news);

    let tools = server.request(Method::ToolsList, Bytes::from_static(b"{}")).await?;
    println!("{}", String::from_utf8_lossy(tools.message.body().unwrap_or_default()));

    if let Ok(tool) = std::env::var("TOOL") {
        let arguments = std::env::var("ARGUMENTS").unwrap_or_else(|_| "{}".to_owned());
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, text::quote(&tool));
        let answer = server.request(Method::ToolsCall, Bytes::from(params)).await?;
        println!("{}", String::from_utf8_lossy(answer.message.body().unwrap_or_default()));
    }
    server.stop(Duration::from_secs(1)).await;
    Ok(())
}
