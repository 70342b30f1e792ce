//! How a server is reached and within which bounds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolgate_protocol::Era;

use crate::child::nursery::Nursery;
use crate::in_process::InProcess;

/// All that is needed to reach one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// Its name in logs and errors.
    pub name: Arc<str>,
    /// The way to it.
    pub transport: Transport,
    /// The era to speak; found out where nothing is said.
    pub era: Option<Era>,
    /// Whether it starts with the first call instead of at once.
    pub on_demand: bool,
    /// How long it may be without a call before it is stopped (stdio only).
    pub idle_stop: Option<Duration>,
    /// How long a call may take that says nothing else.
    pub call_timeout: Duration,
    /// The longest time of those of its tools that have one of their own.
    pub longest_tool_timeout: Option<Duration>,
    /// How often it is asked whether it is well while it is connected; never where nothing is said.
    pub health_interval: Option<Duration>,
    /// How long it may take to start and to be greeted.
    pub connect_timeout: Duration,
    /// How many calls it gets at a time; further ones wait, those of different callers in turn.
    pub max_concurrency: usize,
    /// How many calls may wait.
    pub max_waiting: usize,
    /// How long one message of it may be.
    pub max_message_bytes: usize,
    /// How many processes of the program share its calls (stdio only); at least one.
    pub processes: usize,
    /// The bounds that its child processes share with those of other servers.
    pub nursery: Nursery,
}

impl ServerSpec {
    /// A server in this process, within bounds that suit most. Others are said with `..ServerSpec::in_process(…)`.
    pub fn in_process(name: &str, server: InProcess) -> ServerSpec {
        ServerSpec::new(name, Transport::InProcess(server))
    }

    /// A server within bounds that suit most. Others are said with `..ServerSpec::new(…)`.
    pub fn new(name: &str, transport: Transport) -> ServerSpec {
        ServerSpec {
            name: name.into(),
            transport,
            era: None,
            on_demand: false,
            idle_stop: None,
            call_timeout: Duration::from_secs(300),
            longest_tool_timeout: None,
            health_interval: None,
            connect_timeout: Duration::from_secs(30),
            max_concurrency: 256,
            max_waiting: 4096,
            max_message_bytes: 64 << 20,
            processes: 1,
            nursery: Nursery::default(),
        }
    }

    /// How long any of its calls may take.
    pub fn longest_call(&self) -> Duration {
        self.longest_tool_timeout.unwrap_or_default().max(self.call_timeout)
    }
}

/// The way to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started and spoken to over its standard streams.
    Stdio {
        /// The program: a path, or a name that is looked up in `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What the child's environment has besides the small allow-list.
        env: BTreeMap<String, String>,
        /// The directory it is started in; ours where nothing is said.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP, 2025-03-26 to 2026-07-28.
    Http {
        /// The endpoint.
        url: String,
        /// What every request carries besides.
        headers: BTreeMap<String, String>,
    },
    /// HTTP+SSE of 2024-11-05.
    Sse {
        /// Where the event stream is.
        url: String,
        /// What every request carries besides.
        headers: BTreeMap<String, String>,
    },
    /// Something in this process that answers messages.
    InProcess(InProcess),
}

impl std::fmt::Debug for Transport {
    /// What references led to may be a secret wherever it stands: of variables and headers only the names are told, of
    /// arguments how many there are, and of addresses the part that names the host.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Transport::Stdio { command, args, env, cwd } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish(),
            Transport::Http { url, headers } => formatter
                .debug_struct("Http")
                .field("url", &origin_of(url))
                .field("headers", &headers.keys())
                .finish(),
            Transport::Sse { url, headers } => formatter
                .debug_struct("Sse")
                .field("url", &origin_of(url))
                .field("headers", &headers.keys())
                .finish(),
            Transport::InProcess(server) => server.fmt(formatter),
        }
    }
}

fn origin_of(url: &str) -> String {
    url::Url::parse(url).map_or_else(|_| "no URL".to_owned(), |url| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_a_way_to_a_server_tells_no_secret() {
        let named = |name: &str| BTreeMap::from([(name.to_owned(), "hidden".to_owned())]);
        let url = "https://hidden:hidden@host:8443/hidden?key=hidden#hidden".to_owned();
        let check = |transport: Transport, shown: &str| {
            let text = format!("{:?}", ServerSpec::new("s", transport));
            assert!(text.contains(shown) && !text.contains("hidden"), "{text}");
        };
        check(Transport::Http { url: url.clone(), headers: named("x-key") }, "https://host:8443\"");
        check(Transport::Sse { url, headers: named("x-key") }, "x-key");
        check(Transport::Http { url: "hidden".to_owned(), headers: BTreeMap::new() }, "no URL");
        let args = vec!["--token".to_owned(), "hidden".to_owned()];
        check(Transport::Stdio { command: "npx".to_owned(), args, env: named("KEY"), cwd: None }, "args: 2");
    }
}
