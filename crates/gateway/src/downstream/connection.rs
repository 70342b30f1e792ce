//! One HTTP connection, driven to its end by hyper.
//!
//! Its clocks are coarse. A real timer for every request costs a system call, because the thread that sleeps until the
//! nearest one must be told of each that is nearer; to notice a client that dawdles for half a minute it is enough to
//! look every few seconds.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Sleep, Timer};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::downstream::body::Body;

/// How long a client may take to send the head of a request, or to begin one.
pub(super) const HEAD_PATIENCE: Duration = Duration::from_secs(60);

/// How often the clocks of a connection are looked at when nothing else happens on it.
pub(super) const LOOK: Duration = Duration::from_secs(5);

/// Serves one connection until it ends. When the gateway stops, the request under way is the last.
pub(super) async fn drive<I, S>(
    stream: I,
    service: S,
    stopping: &CancellationToken,
) -> Result<(), hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
{
    let connection = http1::Builder::new()
        .timer(CoarseTimer)
        .header_read_timeout(HEAD_PATIENCE)
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stopping = stopping.cancelled();
    tokio::pin!(stopping);
    let mut is_last = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            () = stopping.as_mut(), if !is_last => {
                connection.as_mut().graceful_shutdown();
                is_last = true;
            }
            // Going round polls the connection, which looks at its clocks.
            _ = look.tick() => {}
        }
    }
}

/// The time at which a client's patience with us, or ours with it, ends. It wakes nobody: it is looked at when the
/// connection is polled, which happens at least every [`LOOK`].
#[derive(Clone, Copy, Debug)]
pub(super) struct CoarseSleep {
    deadline: Instant,
}

impl CoarseSleep {
    /// Ends after `patience`.
    pub(super) fn new(patience: Duration) -> CoarseSleep {
        CoarseSleep { deadline: Instant::now() + patience }
    }
}

impl Future for CoarseSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Sleep for CoarseSleep {}

#[derive(Debug)]
struct CoarseTimer;

impl Timer for CoarseTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(CoarseSleep::new(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(CoarseSleep { deadline })
    }
}
