//! Making a connection: the transport, then the greeting.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolgate_protocol::Era;

use super::Shared;
use crate::child::{Child, Program};
use crate::connection::duplex::Duplex;
use crate::connection::outlet::Outlet;
use crate::connection::streamable_http::StreamableHttp;
use crate::connection::{Ending, Outbound, Wire, WireError, sse, stdio};
use crate::handshake::{self, Known, NEXT_ID, OverHttp, Ungreeted};
use crate::hearing::Hearing;
use crate::http::Endpoint;
use crate::in_process::{InProcess, Pipe};
use crate::link::Link;
use crate::questions;
use crate::spec::Transport;

/// How long a child that closed a pipe may take to end, so that its end can be told.
pub(super) const EXIT: Duration = Duration::from_millis(500);

/// A live connection with all that keeps it alive.
pub(super) struct Connected {
    pub(super) link: Arc<Link>,
    /// Ended when dropped.
    pub(super) tasks: JoinSet<()>,
    pub(super) child: Option<Child>,
    /// What must be sent over HTTP besides calls.
    pub(super) errands: Option<mpsc::Receiver<Outbound>>,
}

/// Why there is no connection.
#[derive(Debug)]
struct Failure {
    cause: String,
    /// Whether it says that what is remembered of the era is wrong.
    tells_era: bool,
    /// A child ended when it was sent `server/discover`: some legacy servers do.
    died_of_probe: bool,
}

impl Failure {
    fn plain(cause: impl Into<String>) -> Failure {
        Failure { cause: cause.into(), tells_era: false, died_of_probe: false }
    }
}

impl From<Ungreeted> for Failure {
    fn from(error: Ungreeted) -> Failure {
        Failure { tells_era: error.tells_era(), cause: error.to_string(), died_of_probe: false }
    }
}

impl Shared {
    /// Connects; the cause in words where that fails. Remembers the era that was found out.
    pub(super) async fn connect(&self) -> Result<Connected, String> {
        let known = self.known();
        let mut outcome = self.try_to_connect(known).await;
        if known.is_none() && outcome.as_ref().is_err_and(|failure| failure.died_of_probe) {
            outcome = self.try_to_connect(Some(Known::Legacy)).await;
        }
        match outcome {
            Ok((connected, known)) => {
                self.remember(Some(known));
                Ok(connected)
            }
            Err(failure) => {
                if failure.tells_era {
                    self.remember(None);
                }
                Err(failure.cause)
            }
        }
    }

    async fn try_to_connect(&self, known: Option<Known>) -> Result<(Connected, Known), Failure> {
        match &self.spec.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let program = Program { command, args, env, cwd: cwd.as_deref() };
                Box::pin(self.connect_to_child(program, known)).await
            }
            Transport::Http { url, headers } => {
                let endpoint = Endpoint::new(url, headers, self.spec.connect_timeout);
                let endpoint = Arc::new(endpoint.map_err(|error| Failure::plain(error.to_string()))?);
                self.in_time(Box::pin(self.connect_over_http(endpoint, known))).await
            }
            Transport::Sse { url, headers } => {
                let endpoint = Endpoint::new(url, headers, self.spec.connect_timeout);
                let endpoint = Arc::new(endpoint.map_err(|error| Failure::plain(error.to_string()))?);
                self.in_time(Box::pin(self.connect_over_sse(endpoint))).await
            }
            Transport::InProcess(server) => {
                self.in_time(Box::pin(self.connect_in_process(server, known))).await
            }
        }
    }

    async fn connect_to_child(
        &self,
        program: Program<'_>,
        known: Option<Known>,
    ) -> Result<(Connected, Known), Failure> {
        let nursery = &self.spec.nursery;
        let place = nursery.place(self.spec.connect_timeout).await;
        let place = place.map_err(|error| Failure::plain(error.to_string()))?;
        let turn = nursery.turn().await;
        let ending = Arc::new(Ending::default());
        let opened = stdio::open(program, place, &self.board, &ending, self.spec.max_message_bytes).await;
        let stdio::Opened { mut child, duplex, tasks, tail, spoke } = opened.map_err(Failure::plain)?;
        let wire = Wire::Duplex(duplex);
        let greeted = tokio::select! {
            greeted = timeout(self.spec.connect_timeout, handshake::over_duplex(&wire, known, self.only_modern(), &spoke)) => greeted,
            cause = child.finished() => {
                return Err(Failure { cause, tells_era: true, died_of_probe: true });
            }
            cause = ending.ended() => {
                let cause = timeout(EXIT, child.finished()).await.unwrap_or(cause);
                return Err(Failure { cause, tells_era: true, died_of_probe: true });
            }
        };
        let failure = match greeted {
            Ok(Ok(greeting)) => {
                let known = known_as(greeting.era);
                let link = Arc::new(Link::new(wire, greeting, ending, NEXT_ID));
                return Ok((Connected { link, tasks, child: Some(child), errands: None }, known));
            }
            Ok(Err(error)) => Failure::from(error),
            Err(_) => Failure::plain(self.too_slow()),
        };
        drop((turn, wire, tasks));
        let last_words = tail.text();
        child.close().await;
        if last_words.is_empty() {
            return Err(failure);
        }
        Err(Failure { cause: format!("{}; the end of its stderr: {last_words}", failure.cause), ..failure })
    }

    async fn connect_over_http(
        &self,
        endpoint: Arc<Endpoint>,
        known: Option<Known>,
    ) -> Result<(Connected, Known), Failure> {
        if known == Some(Known::Sse) {
            return self.connect_over_sse(endpoint).await;
        }
        let (outgoing, errands) = Outlet::new();
        let (desk, clerk) = questions::desk(outgoing.clone());
        let hearing = Arc::new(Hearing::new(Arc::clone(&self.board), desk));
        let http = StreamableHttp::new(Arc::clone(&endpoint), hearing, outgoing, self.spec.max_message_bytes);
        let (http, greeting) = match handshake::over_http(http, known, self.only_modern()).await? {
            OverHttp::Greeted(http, greeting) => (http, greeting),
            OverHttp::MaybeSse(refusal) => {
                return self.connect_over_sse(endpoint).await.map_err(|failure| Failure {
                    cause: format!("{refusal}; and as HTTP+SSE: {}", failure.cause),
                    ..Failure::from(refusal)
                });
            }
        };
        let known = known_as(greeting.era);
        let ending = Arc::new(Ending::default());
        let link = Arc::new(Link::new(Wire::Http(*http), greeting, ending, NEXT_ID));
        let mut tasks = JoinSet::new();
        tasks.spawn(clerk.serve());
        Ok((Connected { link, tasks, child: None, errands: Some(errands) }, known))
    }

    async fn connect_over_sse(&self, endpoint: Arc<Endpoint>) -> Result<(Connected, Known), Failure> {
        let ending = Arc::new(Ending::default());
        let opened = sse::open(endpoint, &self.board, &ending, self.spec.max_message_bytes).await;
        let sse::Opened { duplex, tasks } = opened.map_err(Ungreeted::from)?;
        let wire = Wire::Duplex(duplex);
        let spoke = CancellationToken::new();
        let greeting = tokio::select! {
            greeted = handshake::over_duplex(&wire, Some(Known::Sse), false, &spoke) => greeted?,
            cause = ending.ended() => return Err(Ungreeted::from(WireError::Broken(cause)).into()),
        };
        let link = Arc::new(Link::new(wire, greeting, ending, NEXT_ID));
        Ok((Connected { link, tasks, child: None, errands: None }, Known::Sse))
    }

    async fn connect_in_process(
        &self,
        server: &InProcess,
        known: Option<Known>,
    ) -> Result<(Connected, Known), Failure> {
        let ending = Arc::new(Ending::default());
        let (outgoing, queue) = Outlet::new();
        let (desk, clerk) = questions::desk(outgoing.clone());
        let hearing = Arc::new(Hearing::new(Arc::clone(&self.board), desk));
        let serving = server.serve(Pipe::new(queue, Arc::clone(&hearing)));
        let mut tasks = JoinSet::new();
        tasks.spawn(clerk.serve());
        let ended = Arc::clone(&ending);
        tasks.spawn(async move { ended.end(serving.await) });
        let wire = Wire::Duplex(Duplex { outgoing, hearing, whereabouts: None });
        let spoke = CancellationToken::new();
        let greeting = tokio::select! {
            greeted = handshake::over_duplex(&wire, known, self.only_modern(), &spoke) => greeted?,
            cause = ending.ended() => return Err(Ungreeted::from(WireError::Broken(cause)).into()),
        };
        let known = known_as(greeting.era);
        let link = Arc::new(Link::new(wire, greeting, ending, NEXT_ID));
        Ok((Connected { link, tasks, child: None, errands: None }, known))
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        timeout(self.spec.connect_timeout, work)
            .await
            .unwrap_or_else(|_| Err(Failure::plain(self.too_slow())))
    }

    fn only_modern(&self) -> bool {
        self.spec.era == Some(Era::Modern)
    }

    fn too_slow(&self) -> String {
        format!("it was not ready within {} s", self.spec.connect_timeout.as_secs_f32())
    }
}

fn known_as(era: Era) -> Known {
    match era {
        Era::Modern => Known::Modern,
        Era::Legacy => Known::Legacy,
    }
}
