//! Blocking requests, with `ureq`.

use super::head::Guard;
use super::{
    CONNECTION, Limits, PIECE, REPLY, bad_certificates, ca_file, long_head, network, timeout, unreadable,
};
use crate::error::RemoteErrorKind;
use crate::exchange::fetch::bounded;
use crate::exchange::{Failure, Head, Request};
use crate::options::Options;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Body as UreqBody, BodyReader, Error, Proxy, Timeout};

pub(crate) struct Transport {
    agent: Agent,
    stop: Arc<Stop>,
}

/// Whether the client has been stopped.
#[derive(Default)]
struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

/// The body of a reply.
pub(crate) struct Body {
    reader: BodyReader<'static>,
    limits: Limits,
    stop: Arc<Stop>,
    /// Whether only the server tells where it ends.
    is_open: bool,
}

impl Transport {
    pub(crate) fn new(options: &Options) -> Result<Self, RemoteErrorKind> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = ca_file(options)? {
            let roots: Vec<Certificate<'static>> = parse_pem(&pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            if roots.is_empty() {
                return Err(bad_certificates(options));
            }
            tls = tls.root_certs(RootCerts::Specific(Arc::new(roots)));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(tls.build())
            .timeout_connect(Some(bounded(options.connect_timeout)))
            .timeout_per_read(Some(bounded(options.idle_timeout)))
            .timeout_per_write(Some(bounded(options.idle_timeout)))
            // The longest head. After an interim reply, what follows counts as its head for `ureq`: its limit
            // is not less.
            .input_buffer_size(PIECE)
            .max_response_header_size(PIECE)
            .max_idle_connections_per_host(options.parallel.max(1))
            .build();
        let connector = DefaultConnector::new().chain(Guard);
        let agent = Agent::with_parts(config, connector, DefaultResolver::default());
        Ok(Self { agent, stop: Arc::default() })
    }

    /// Sends a request, and waits for the head of the reply for at most this long.
    pub(crate) fn send(
        &self,
        request: &Request,
        options: &Options,
        limit: Duration,
    ) -> Result<(Head, Body), Failure> {
        self.stop.check()?;
        let limits = Limits::of(options);
        let proxy = options.proxies.proxy_for(&request.url).map(Proxy::new).transpose();
        let proxy = proxy.map_err(|error| limits.of_ureq(error))?;
        let get = self.agent.get(request.url.as_text());
        let get = request.headers.iter().fold(get, |get, (name, value)| get.header(*name, value));
        let get = get.config().proxy(proxy).timeout_recv_response(Some(limit)).build();
        let response = get.call();
        self.stop.check()?;
        let (parts, body) = response.map_err(|error| limits.of_ureq(error))?.into_parts();
        let (reader, stop) = (UreqBody::into_reader(body), self.stop.clone());
        let has = |name| parts.headers.contains_key(name);
        let is_open = has("transfer-encoding") || !has("content-length");
        let head = Head { status: parts.status.as_u16(), headers: parts.headers };
        Ok((head, Body { reader, limits, stop, is_open }))
    }

    /// Waits between two requests.
    pub(crate) fn wait(&self, delay: Duration) -> Result<(), Failure> {
        let is_set = self.stop.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.stop.changed.wait_timeout_while(is_set, delay, |is_set| !*is_set));
        self.stop.check()
    }

    /// Ends all that is being sent, received or waited for, and rejects all that follows.
    pub(crate) fn stop(&self) {
        *self.stop.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        self.agent.clone().shutdown();
    }
}

impl Stop {
    fn check(&self) -> Result<(), Failure> {
        match *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) {
            true => Err(Failure { kind: RemoteErrorKind::Stopped, is_transient: false }),
            false => Ok(()),
        }
    }
}

impl Body {
    /// Replaces `piece` with the next bytes of the body, and returns how many: 0 at its end.
    pub(crate) fn next(&mut self, piece: &mut Vec<u8>) -> Result<usize, Failure> {
        piece.resize(PIECE, 0);
        let outcome = loop {
            match self.reader.read(piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        piece.truncate(*outcome.as_ref().unwrap_or(&0));
        // What the client has closed itself may look like the end.
        self.stop.check()?;
        outcome.map_err(|error| self.limits.of_ureq(error.into()))
    }

    /// Returns how many bytes follow where none should: at least, and as far as they come in time.
    pub(crate) fn surplus(mut self, limit: Duration) -> usize {
        if !self.is_open {
            return self.next(&mut Vec::new()).unwrap_or(0);
        }
        // Another thread waits for the end longer than this one does: then the connection can be used again.
        let (found, surplus) = std::sync::mpsc::channel();
        let read = move || drop(found.send(self.next(&mut Vec::new())));
        match std::thread::Builder::new().spawn(read) {
            Ok(_) => surplus.recv_timeout(limit).map_or(0, |outcome| outcome.unwrap_or(0)),
            Err(_) => 0,
        }
    }
}

impl Limits {
    fn of_ureq(self, error: Error) -> Failure {
        match error {
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => timeout(CONNECTION, self.connect),
            Error::Timeout(_) => timeout(REPLY, self.idle),
            Error::HostNotFound => network("the host was not found".into(), false),
            Error::ConnectionFailed => network("the host cannot be reached".into(), false),
            Error::Io(error) => of_system(&error),
            Error::Rustls(error) => network(format!("TLS: {error}"), false),
            Error::Tls(error) => network(format!("TLS: {error}"), false),
            Error::ConnectProxyFailed(error) => network(format!("the proxy: {error}"), false),
            Error::LargeResponseHeader(..) => long_head(format_args!("{PIECE} bytes")),
            error if error.to_string().ends_with("too many headers") => long_head(format_args!("128 lines")),
            error => unreadable(error.to_string()),
        }
    }
}

fn of_system(error: &io::Error) -> Failure {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, InvalidData, NetworkUnreachable};
    let is_final = [ConnectionRefused, HostUnreachable, InvalidData, NetworkUnreachable];
    network(error.to_string(), !is_final.contains(&error.kind()))
}
