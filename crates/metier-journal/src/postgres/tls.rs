//! Encrypted connections to servers that prove their identity. Accepting any certificate is not possible.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Why there is no such connection. No error of input and output: trying again does not help.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("`{0}` is not a valid host name for a certificate")]
    Name(String),
    #[error("`{}` contains no usable certificate{}", .0.display(), .1)]
    File(PathBuf, String),
    #[error("no trusted certificates were found on this system; set a file with `sslrootcert=`")]
    Nobody,
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// Except this one.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
}

/// Whom to trust.
#[derive(Clone)]
pub(super) struct Tls {
    /// The certificates in this file, or those that the operating system trusts.
    pub(super) certificates: Option<PathBuf>,
}

impl Tls {
    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        let Some(path) = &self.certificates else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return if roots.is_empty() { Err(TlsError::Nobody) } else { Ok(roots) };
        };
        let unusable = |reason: String| TlsError::File(path.clone(), reason);
        let found = CertificateDer::pem_file_iter(path).map_err(|error| unusable(format!(": {error}")))?;
        for certificate in found {
            roots.add(certificate.map_err(|error| unusable(format!(": {error}")))?)?;
        }
        if roots.is_empty() { Err(unusable(String::new())) } else { Ok(roots) }
    }

    fn connector(&self) -> Result<TlsConnector, TlsError> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secret<S>;
    type TlsConnect = Handshake;
    type Error = TlsError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, TlsError> {
        Ok(Handshake { tls: self.clone(), domain: domain.to_owned() })
    }
}

/// A connection that is to be made. Certificates are read only if the server wants to talk in secret.
pub(super) struct Handshake {
    tls: Tls,
    domain: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secret<S>;
    type Error = TlsError;
    type Future = Pin<Box<dyn Future<Output = Result<Secret<S>, TlsError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let Self { tls, domain } = self;
            let name = ServerName::try_from(domain.clone()).map_err(|_| TlsError::Name(domain))?;
            let connected = tls.connector()?.connect(name, stream).await.map_err(of_handshake)?;
            Ok(Secret(Box::new(connected)))
        })
    }
}

/// What the handshake found is wrapped in an error of input and output.
fn of_handshake(error: io::Error) -> TlsError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(found) => TlsError::Rustls(found.clone()),
        None => TlsError::Broken(error),
    }
}

/// An encrypted connection.
pub(super) struct Secret<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secret<S> {
    fn channel_binding(&self) -> ChannelBinding {
        // Not needed where certificates are checked; who requires it is refused.
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secret<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secret<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
