//! A gateway inside a program, with the program's own `rmcp` server behind it.
//!
//! ```text
//! cargo run -p toolgate-gateway --example rmcp_server
//! npx @modelcontextprotocol/inspector --cli http://127.0.0.1:8080/mcp --method tools/list
//! ```

#![expect(clippy::print_stdout, reason = "whoever starts it wants to know where it listens")]

mod bakery;
mod mount;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use toolgate_client::ServerSpec;
use toolgate_gateway::catalog::Naming;
use toolgate_gateway::downstream::http;
use toolgate_gateway::seal::Seal;
use toolgate_gateway::{Desired, Gate, Gateway, Settings};

use bakery::Bakery;
use mount::mount;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bakery = Bakery::new(Duration::from_secs(1));
    let server = ServerSpec::in_process("bakery", mount(move || bakery.clone()));

    // A gate made with a policy and a recorder governs and records the calls; this one lets all through.
    let gateway = Gateway::start(Settings::on_this_machine(Seal::new_key()?), Gate::default())?;
    gateway.apply(vec![Desired::from(server)], Naming::Prefixed);

    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let lanes = http::lanes(&gateway, None)?;
    tokio::select! {
        () = http::serve(Arc::clone(&gateway), listener, lanes) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    gateway.stop(Duration::from_secs(4)).await;
    Ok(())
}
