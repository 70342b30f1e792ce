//! HTTPS: the handshake, after which a connection is like any other.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may take to shake hands.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shakes hands with a client.
pub(super) async fn shake_hands(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(shaken) => shaken,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
