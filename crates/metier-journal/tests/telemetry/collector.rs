//! A collector: as much of HTTP/1.1 as is needed, and everything that it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// How long anything that should happen soon may take.
pub(crate) const SOON: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_trace(&self) -> bool {
        self.path.ends_with("/v1/traces")
    }
}

/// What the collector does about a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16),
    With {
        status: u16,
        header: String,
        body: Vec<u8>,
    },
    Never,
    /// The connection is closed.
    Nothing,
}

type Seen = Arc<(Mutex<Vec<Request>>, Condvar)>;
type Decide = Box<dyn Fn(usize, &Request) -> Answer + Send>;

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    /// Its certificate, where it speaks TLS.
    pub(crate) certificate: String,
    seen: Seen,
}

impl Collector {
    /// One that answers each request, which is told by its number, as it is told to.
    pub(crate) fn start(decide: impl Fn(usize, &Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let seen = Seen::default();
        let sink = Arc::clone(&seen);
        let decide: Decide = Box::new(decide);
        thread::spawn(move || serve(&listener, Some, &sink, &decide));
        Self { endpoint, certificate: String::new(), seen }
    }

    pub(crate) fn fine() -> Self {
        Self::start(|_, _| Answer::Status(200))
    }

    /// One that speaks TLS, with a certificate for `localhost` that nobody else knows.
    pub(crate) fn secure() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let seen = Seen::default();
        let sink = Arc::clone(&seen);
        let decide: Decide = Box::new(|_, _| Answer::Status(200));
        let open = move |mut stream: TcpStream| {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust the certificate ends the handshake.
            while connection.is_handshaking() {
                connection.complete_io(&mut stream).ok()?;
            }
            Some(rustls::StreamOwned::new(connection, stream))
        };
        thread::spawn(move || serve(&listener, open, &sink, &decide));
        Self { endpoint, certificate: made.cert.pem(), seen }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.0.lock().unwrap().clone()
    }

    /// The requests, as soon as they are so.
    pub(crate) fn wait_until(&self, is_so: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        let seen = self.seen.0.lock().unwrap();
        let (seen, waited) = self.seen.1.wait_timeout_while(seen, SOON, |seen| !is_so(seen)).unwrap();
        assert!(!waited.timed_out(), "only this came: {seen:?}");
        seen.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let traces = self.requests().into_iter().filter(Request::is_trace);
        let messages = traces.map(|request| ExportTraceServiceRequest::decode(&*request.body).unwrap());
        let resources = messages.flat_map(|message| message.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// Each message of metrics that came.
    pub(crate) fn metrics(&self) -> Vec<ExportMetricsServiceRequest> {
        let metrics = self.requests().into_iter().filter(|request| !request.is_trace());
        metrics.map(|request| ExportMetricsServiceRequest::decode(&*request.body).unwrap()).collect()
    }

    /// The last state of every metric.
    pub(crate) fn last_metrics(&self) -> Vec<Metric> {
        let last = self.metrics().pop().unwrap();
        let resources = last.resource_metrics.into_iter();
        resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics).collect()
    }
}

fn serve<S: Read + Write>(
    listener: &TcpListener,
    open: impl Fn(TcpStream) -> Option<S>,
    sink: &Seen,
    decide: &Decide,
) {
    // Kept, so that they are not closed.
    let mut unanswered = Vec::new();
    for stream in listener.incoming() {
        let Some(mut stream) = open(stream.unwrap()) else { continue };
        let Some(request) = read(&mut stream) else { continue };
        let number = sink.0.lock().unwrap().len();
        let answer = decide(number, &request);
        sink.0.lock().unwrap().push(request);
        sink.1.notify_all();
        let (status, header, body) = match answer {
            Answer::Status(status) => (status, String::new(), Vec::new()),
            Answer::With { status, header, body } => (status, format!("{header}\r\n"), body),
            Answer::Never => {
                unanswered.push(stream);
                continue;
            }
            Answer::Nothing => continue,
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} X\r\n{header}content-length: {length}\r\nconnection: close\r\n\r\n");
        // Who asked may be gone already.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        let _ = stream.flush();
    }
}

fn read(stream: &mut impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let (method, path) = lines.first()?.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    assert_eq!(method, "POST");
    let pairs = lines[1..].iter().map(|line| line.split_once(':').unwrap());
    let headers: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    let mut request = Request { path: path.to_owned(), headers, body: Vec::new() };
    let length: usize = request.header("content-length").unwrap().parse().unwrap();
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).unwrap();
    Some(request)
}

/// An attribute as text.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    Some(shown(&found.value.clone()?.value?))
}

fn shown(value: &Value) -> String {
    match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(flag) => flag.to_string(),
        Value::ArrayValue(array) => {
            let values = array.values.iter().map(|value| shown(value.value.as_ref().unwrap()));
            values.collect::<Vec<_>>().join(",")
        }
        other => panic!("{other:?} is never sent"),
    }
}
