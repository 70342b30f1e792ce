//! The first words: finding out a server's era and greeting it in it.
//!
//! A modern server answers `server/discover`; a legacy one answers with any error, or not at all, or ends. Only then
//! it is sent `initialize`.

mod greeting;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::HeaderValue;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use toolgate_protocol::{Message, Method, Version};

use crate::connection::streamable_http::StreamableHttp;
use crate::connection::{Ask, Wire, WireError};
use crate::ourselves;
use crate::outbox::Outbox;
use crate::status::Greeting;
use greeting::Judgement;

/// The ids of the first requests on a connection, and the first one that is free afterwards.
const DISCOVER_ID: u64 = 0;
const DISCOVER_AGAIN_ID: u64 = 1;
const INITIALIZE_ID: u64 = 2;
pub(crate) const NEXT_ID: u64 = 3;

/// How long a child that has said something may leave `server/discover` unanswered, and one that has said nothing:
/// that one may still be downloading itself.
const SILENCE_OF_SPEAKER: Duration = Duration::from_secs(3);
const SILENCE_OF_MUTE: Duration = Duration::from_secs(10);

/// How long an HTTP server may leave it unanswered.
const SILENCE_OVER_HTTP: Duration = Duration::from_secs(5);

/// What is known, or was told, of a server's era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Modern,
    Legacy,
    /// Legacy over HTTP+SSE of 2024-11-05.
    Sse,
}

/// Why a server could not be greeted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ungreeted {
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("{0}")]
    Refused(String),
}

impl Ungreeted {
    /// Whether it says something of the server's era, rather than that it is not well or does not know us.
    pub(crate) fn tells_era(&self) -> bool {
        match self {
            Ungreeted::Wire(WireError::Unreachable(_)) => false,
            Ungreeted::Wire(WireError::Refused { status, .. }) => is_verdict(*status),
            _ => true,
        }
    }
}

/// Greets a server over a duplex connection. `spoke` tells that a child has said anything at all.
pub(crate) async fn over_duplex(
    wire: &Wire,
    known: Option<Known>,
    only_modern: bool,
    spoke: &CancellationToken,
) -> Result<Greeting, Ungreeted> {
    if matches!(known, Some(Known::Legacy | Known::Sse)) {
        return initialize(wire, Version::NEWEST_LEGACY).await;
    }
    let outbox = Arc::new(Outbox::default());
    let ask = |id| {
        let outbox = &outbox;
        async move { wire.ask(&discover(id, outbox)).await }
    };
    let mut probe = Box::pin(discovered(ask));
    if only_modern {
        return modern_only(probe.await?);
    }
    let judged = tokio::select! {
        judged = &mut probe => Some(judged?),
        () = silence(spoke) => None,
    };
    match judged {
        Some(Judgement::Modern(greeting)) => Ok(greeting),
        Some(Judgement::Legacy(version)) => initialize(wire, version).await,
        Some(Judgement::Wavering(cause) | Judgement::Unfit(cause)) => Err(Ungreeted::Refused(cause)),
        // It may have been slow rather than silent: what it says to both questions decides.
        None => match initialize(wire, Version::NEWEST_LEGACY).await {
            Ok(greeting) => Ok(greeting),
            Err(error) => match probe.now_or_never() {
                Some(Ok(judgement)) => modern_only(judgement),
                _ => Err(error),
            },
        },
    }
}

/// What a server over HTTP turned out to be.
pub(crate) enum OverHttp {
    Greeted(Box<StreamableHttp>, Greeting),
    /// It does not take POSTs here: it may speak HTTP+SSE. The error is told where it does not.
    MaybeSse(Ungreeted),
}

/// Greets a server at an HTTP endpoint.
pub(crate) async fn over_http(
    http: StreamableHttp,
    known: Option<Known>,
    only_modern: bool,
) -> Result<OverHttp, Ungreeted> {
    let mut version = Version::NEWEST_LEGACY;
    if known != Some(Known::Legacy) {
        let judgement = probe_http(&http, only_modern).await?;
        if only_modern {
            return modern_only(judgement).map(|greeting| OverHttp::Greeted(Box::new(http), greeting));
        }
        match judgement {
            Judgement::Modern(greeting) => return Ok(OverHttp::Greeted(Box::new(http), greeting)),
            Judgement::Wavering(cause) | Judgement::Unfit(cause) => return Err(Ungreeted::Refused(cause)),
            Judgement::Legacy(offered) => version = offered,
        }
    }
    let http = http.into_legacy();
    let outbox = Arc::new(Outbox::default());
    let introduced = match http.introduce(introduction(version, &outbox)).await {
        Ok(introduced) => introduced,
        Err(error @ WireError::Refused { status: 400 | 404 | 405, .. }) => {
            return Ok(OverHttp::MaybeSse(error.into()));
        }
        Err(error) => return Err(error.into()),
    };
    match greeting::of_initialize(&introduced.answer) {
        Ok(greeting) => {
            let http = open_session(http, &greeting, introduced.session).await?;
            Ok(OverHttp::Greeted(Box::new(http), greeting))
        }
        Err(cause) if !introduced.status.is_success() => Ok(OverHttp::MaybeSse(Ungreeted::Refused(cause))),
        Err(cause) => Err(Ungreeted::Refused(cause)),
    }
}

async fn open_session(
    http: StreamableHttp,
    greeting: &Greeting,
    session: Option<HeaderValue>,
) -> Result<StreamableHttp, Ungreeted> {
    let http = http.into_session(greeting.version, session);
    http.tell(ourselves::notification(Method::Initialized, None)).await?;
    Ok(http)
}

async fn probe_http(http: &StreamableHttp, only_modern: bool) -> Result<Judgement, Ungreeted> {
    let outbox = Arc::new(Outbox::default());
    let ask = |id| {
        let outbox = &outbox;
        async move { http.ask(&discover(id, outbox)).await }
    };
    match timeout(SILENCE_OVER_HTTP, discovered(ask)).await {
        Ok(Ok(judgement)) => Ok(judgement),
        Ok(Err(error @ WireError::Unreachable(_))) => Err(error.into()),
        Ok(Err(error @ WireError::Refused { status, .. })) if only_modern || !is_verdict(status) => {
            Err(error.into())
        }
        Ok(Err(_)) | Err(_) => Ok(Judgement::Legacy(Version::NEWEST_LEGACY)),
    }
}

/// Asks what the server is, once more where it wavers: one behind a balancer, amid its upgrade, may change its mind.
async fn discovered<F>(ask: impl Fn(u64) -> F) -> Result<Judgement, WireError>
where
    F: Future<Output = Result<Message, WireError>>,
{
    match greeting::judge(&ask(DISCOVER_ID).await?) {
        Judgement::Wavering(_) => Ok(greeting::judge(&ask(DISCOVER_AGAIN_ID).await?)),
        judgement => Ok(judgement),
    }
}

/// Whether an HTTP status says that the server does not understand us, rather than that it is ill or does not let us in.
fn is_verdict(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 402 | 403 | 407 | 408 | 429)
}

async fn initialize(wire: &Wire, version: Version) -> Result<Greeting, Ungreeted> {
    let outbox = Arc::new(Outbox::default());
    let answer = wire.ask(&introduction(version, &outbox)).await?;
    let greeting = greeting::of_initialize(&answer).map_err(Ungreeted::Refused)?;
    wire.tell(ourselves::notification(Method::Initialized, None)).await?;
    Ok(greeting)
}

fn modern_only(judgement: Judgement) -> Result<Greeting, Ungreeted> {
    match judgement {
        Judgement::Modern(greeting) => Ok(greeting),
        Judgement::Wavering(cause) | Judgement::Unfit(cause) => Err(Ungreeted::Refused(cause)),
        Judgement::Legacy(_) => Err(Ungreeted::Refused(format!(
            "it does not speak {}, the only era it may speak by its configuration",
            Version::NEWEST.date()
        ))),
    }
}

/// Waits as long as an answer to `server/discover` may take.
async fn silence(spoke: &CancellationToken) {
    if timeout(SILENCE_OF_MUTE, spoke.cancelled()).await.is_ok() {
        sleep(SILENCE_OF_SPEAKER).await;
    }
}

fn discover(id: u64, outbox: &Arc<Outbox>) -> Ask<'_> {
    first(id, ourselves::discovery(id), Method::Discover, outbox)
}

fn introduction(version: Version, outbox: &Arc<Outbox>) -> Ask<'_> {
    first(INITIALIZE_ID, ourselves::introduction(INITIALIZE_ID, version), Method::Initialize, outbox)
}

fn first(id: u64, bytes: Bytes, method: Method, outbox: &Arc<Outbox>) -> Ask<'_> {
    Ask { id, bytes, method, name: None, parameters: &[], key: None, outbox }
}
