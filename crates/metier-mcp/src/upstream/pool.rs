//! HTTP connections to one server, kept open between requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::UpstreamError;

/// How many idle connections are kept.
const IDLE: usize = 64;

/// How long a connection may take to open.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections to one address.
pub(super) struct Pool {
    host: String,
    port: u16,
    /// What requests name: path and query.
    target: Uri,
    authority: String,
    tls: Option<TlsConnector>,
    idle: Mutex<Vec<SendRequest<Body>>>,
}

/// A response whose connection is used again once its body was read to the end.
pub(super) struct Answer {
    pub(super) response: Response<Incoming>,
    pub(super) connection: SendRequest<Body>,
}

impl Pool {
    pub(super) fn new(url: &str) -> Result<Self, UpstreamError> {
        let wrong =
            |reason: &str| UpstreamError::unreachable(format!("invalid `url` `{}`: {reason}", shown(url)));
        let uri: Uri = url.parse().map_err(|_| wrong("it is not an address"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("put credentials into `headers`"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let target = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            host,
            port,
            target: target.parse().map_err(|_| wrong("its path is invalid"))?,
            authority: authority.as_str().to_owned(),
            tls: is_tls.then(tls).transpose()?,
            idle: Mutex::default(),
        })
    }

    /// Sends a request on an idle connection or a new one. A server may close an idle connection at any time; a request
    /// that was not sent because of that is sent again.
    pub(super) async fn send(&self, request: impl Fn() -> Request<Body>) -> Result<Answer, UpstreamError> {
        let build = || -> Result<Request<Body>, UpstreamError> {
            let mut request = request();
            *request.uri_mut() = self.target.clone();
            let host = self.authority.parse().map_err(UpstreamError::unreachable)?;
            request.headers_mut().insert(header::HOST, host);
            Ok(request)
        };
        while let Some(mut connection) = self.take() {
            if connection.ready().await.is_err() {
                continue;
            }
            match connection.send_request(build()?).await {
                Ok(response) => return Ok(Answer { response, connection }),
                Err(error) if error.is_canceled() => {}
                Err(error) => return Err(UpstreamError::ended(error.to_string())),
            }
        }
        let mut connection = self.connect().await?;
        let response = connection.send_request(build()?).await;
        let response = response.map_err(|error| UpstreamError::ended(error.to_string()))?;
        Ok(Answer { response, connection })
    }

    /// Keeps a connection whose response was read to its end.
    pub(super) fn keep(&self, connection: SendRequest<Body>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE && !connection.is_closed() {
            idle.push(connection);
        }
    }

    fn take(&self) -> Option<SendRequest<Body>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    async fn connect(&self) -> Result<SendRequest<Body>, UpstreamError> {
        let connect = TcpStream::connect((self.host.as_str(), self.port));
        let stream = tokio::time::timeout(PATIENCE, connect).await;
        let stream = stream.map_err(UpstreamError::unreachable)?.map_err(UpstreamError::unreachable)?;
        // Messages are small, and each waits for the other side.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            let (sender, connection) =
                handshake(TokioIo::new(stream)).await.map_err(UpstreamError::unreachable)?;
            tokio::spawn(connection);
            return Ok(sender);
        };
        let name = ServerName::try_from(self.host.clone()).map_err(UpstreamError::unreachable)?;
        let secured = tokio::time::timeout(PATIENCE, tls.connect(name, stream)).await;
        let secured = secured.map_err(UpstreamError::unreachable)?.map_err(UpstreamError::unreachable)?;
        let (sender, connection) =
            handshake(TokioIo::new(secured)).await.map_err(UpstreamError::unreachable)?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// An address without what may be a credential.
fn shown(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match (plain.split_once("://"), plain.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => plain.to_owned(),
    }
}

/// TLS with the system's certificates.
fn tls() -> Result<TlsConnector, UpstreamError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(UpstreamError::unreachable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
