//! The certificate that clients over HTTPS are shown, and the ones they must show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;
use toolgate_config::TlsConfig;

/// Why clients cannot be served over HTTPS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("listen.tls: {} cannot be used: {cause}; it must be PEM and readable", .path.display())]
    File { path: PathBuf, cause: String },
    #[error("listen.tls: the certificate and the key cannot be used together: {0}")]
    Pair(rustls::Error),
    #[error(
        "listen.tls: verify_client needs client_ca_file, the authorities whose certificates are accepted"
    )]
    NoAuthorities,
}

/// What shakes hands as the configuration says.
pub(crate) fn acceptor(tls: &TlsConfig) -> Result<TlsAcceptor, TlsError> {
    let chain = certificates(&tls.cert_file)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key_file).map_err(|error| unusable(&tls.key_file, &error))?;
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?
        .with_client_cert_verifier(verifier(tls)?)
        .with_single_cert(chain, key)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Judges the certificates of clients: required, welcome, or not asked for.
fn verifier(tls: &TlsConfig) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let Some(path) = &tls.client_ca_file else {
        return if tls.verify_client { Err(TlsError::NoAuthorities) } else { Ok(Arc::new(NoClientAuth)) };
    };
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(path)? {
        authorities.add(certificate).map_err(|error| unusable(path, &error))?;
    }
    let provider = Arc::new(ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
    let builder = if tls.verify_client { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| unusable(path, &error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unusable(path, &error))?;
    if certificates.is_empty() {
        return Err(unusable(path, &"there is no certificate in it"));
    }
    Ok(certificates)
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { path: path.to_owned(), cause: cause.to_string() }
}
