//! The threads that serve connections.
//!
//! A connection stays on the thread it was given to, which has a runtime of its own: a call is received, sent to its
//! server and answered without waking another thread. With one runtime over all threads every call was handed about
//! between them, which cost more than all that Toolgate does to it.

use std::net::{SocketAddr, TcpStream};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokio::net;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::task::TaskTracker;

/// How many connections may wait for a thread to take them up.
const ARRIVALS: usize = 1024;

/// A connection that was accepted, and from where.
type Arrival = (TcpStream, SocketAddr);

/// The threads, each with the connections it serves.
#[derive(Debug)]
pub struct Lanes {
    lanes: Vec<Lane>,
}

#[derive(Debug)]
struct Lane {
    arrivals: Sender<Arrival>,
    connections: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Lanes {
    /// One thread for each processor that this process may use. `serve` is what is done with a connection.
    pub(super) fn open<S, F>(serve: S) -> std::io::Result<Lanes>
    where
        S: Fn(net::TcpStream, SocketAddr) -> F + Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let lanes = (0..count).map(|number| Lane::open(number, serve.clone())).collect::<Result<_, _>>()?;
        Ok(Lanes { lanes })
    }

    /// Gives a connection to the thread that has the fewest.
    pub(super) async fn take(&self, stream: net::TcpStream, peer: SocketAddr) {
        let Some(lane) = self.lanes.iter().min_by_key(|lane| lane.connections.load(Ordering::Relaxed)) else {
            return;
        };
        match stream.into_std() {
            Ok(stream) => {
                lane.connections.fetch_add(1, Ordering::Relaxed);
                let _ = lane.arrivals.send((stream, peer)).await;
            }
            Err(error) => tracing::warn!(%error, %peer, "a connection could not be handed over"),
        }
    }

    /// Lets all connections end.
    pub(super) async fn close(self) {
        for Lane { arrivals, thread, .. } in self.lanes {
            drop(arrivals);
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Lane {
    fn open<S, F>(number: usize, serve: S) -> std::io::Result<Lane>
    where
        S: Fn(net::TcpStream, SocketAddr) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (arrivals, arriving) = mpsc::channel(ARRIVALS);
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let run = move || runtime.block_on(attend(arriving, counted, serve));
        let thread = thread::Builder::new().name(format!("lane-{number}")).spawn(run)?;
        Ok(Lane { arrivals, connections, thread })
    }
}

async fn attend<S, F>(mut arriving: Receiver<Arrival>, connections: Arc<AtomicUsize>, serve: S)
where
    S: Fn(net::TcpStream, SocketAddr) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let tasks = TaskTracker::new();
    while let Some((stream, peer)) = arriving.recv().await {
        let place = Place(Arc::clone(&connections));
        match net::TcpStream::from_std(stream) {
            Ok(stream) => {
                let served = serve(stream, peer);
                tasks.spawn(async move {
                    let _place = place;
                    served.await;
                });
            }
            Err(error) => tracing::warn!(%error, %peer, "a connection could not be taken up"),
        }
    }
    tasks.close();
    tasks.wait().await;
}

/// One connection's part in the count of its thread.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn connections_are_spread_evenly_and_end_before_the_lanes_do() {
        let (served, mut serving) = mpsc::channel(64);
        let lanes = Lanes::open(move |mut stream: TcpStream, _| {
            let served = served.clone();
            async move {
                let _ = served.send(thread::current().name().map(str::to_owned)).await;
                let _ = stream.read(&mut [0]).await;
            }
        })
        .unwrap();
        let count = lanes.lanes.len();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut clients = Vec::new();
        let mut by_lane = HashMap::new();
        for _ in 0..3 * count {
            clients.push(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap());
            let (stream, peer) = listener.accept().await.unwrap();
            lanes.take(stream, peer).await;
            *by_lane.entry(serving.recv().await.unwrap()).or_insert(0) += 1;
        }
        assert_eq!(by_lane.len(), count);
        assert!(by_lane.values().all(|served| *served == 3), "{by_lane:?}");
        drop(clients);
        lanes.close().await;
        assert!(serving.recv().await.is_none(), "no connection is served any more");
    }
}
