//! TLS where the address asks for it, with the machine's own certificates.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The way to speak TLS with one host.
pub(super) struct Client {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Client {
    /// Loads the machine's certificates once per process, with the first host that needs them.
    pub(super) fn new(host: &str) -> Result<Client, String> {
        static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
        Client::with(CONFIG.get_or_init(load).clone()?, host)
    }

    fn with(config: Arc<ClientConfig>, host: &str) -> Result<Client, String> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|_| format!("'{host}' is not a host name"))?;
        Ok(Client { connector: TlsConnector::from(config), name })
    }

    /// Makes a connection secret.
    pub(super) async fn wrap(&self, tcp: TcpStream) -> io::Result<Stream> {
        let stream = self.connector.connect(self.name.clone(), tcp).await.map_err(explained)?;
        Ok(Stream::Secret(Box::new(stream)))
    }
}

fn load() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _unusable) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(
            "this machine has no certificates of authorities; install them (often a package 'ca-certificates')"
                .to_owned(),
        );
    }
    trusting(roots)
}

/// Servers with certificates from these authorities are believed, for the names in their certificates.
fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Says what to do where a server has a certificate of its operator's own authority. Of other flaws it is said what they
/// are; they are the server's to mend.
fn explained(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) = cause else {
        return error;
    };
    io::Error::new(
        error.kind(),
        "its certificate is from no authority that this machine trusts; add the authority to the machine's \
         certificates, or name a file of trusted ones in the variable SSL_CERT_FILE",
    )
}

/// A connection, secret or not.
pub(super) enum Stream {
    Plain(TcpStream),
    Secret(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Secret(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Secret(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Stream::Secret(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secret(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Secret(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Secret(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests;
