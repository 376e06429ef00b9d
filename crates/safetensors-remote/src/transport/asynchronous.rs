//! Asynchronous requests, with `reqwest`.

use super::{CONNECTION, Limits, REPLY, bad_certificates, ca_file, long_head, network, timeout, unreadable};
use crate::error::RemoteErrorKind;
use crate::exchange::fetch::bounded;
use crate::exchange::{Failure, Head, Request};
use crate::options::Options;
use crate::url::Url;
use reqwest::{Certificate, Client, Proxy, Response, redirect};
use std::error::Error;
use std::time::Duration;

pub(crate) struct Transport {
    client: Client,
}

/// The body of a reply.
pub(crate) struct Body {
    response: Response,
    limits: Limits,
}

impl Transport {
    pub(crate) fn new(options: &Options) -> Result<Self, RemoteErrorKind> {
        let proxies = options.proxies.clone();
        let proxy_for = move |url: &reqwest::Url| {
            let url = Url::parse(url.as_str()).ok()?;
            proxies.proxy_for(&url).map(str::to_owned)
        };
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .proxy(Proxy::custom(proxy_for))
            .http1_only()
            .connect_timeout(bounded(options.connect_timeout))
            .read_timeout(bounded(options.idle_timeout))
            .pool_max_idle_per_host(options.parallel.max(1));
        if let Some(pem) = ca_file(options)? {
            let roots = Certificate::from_pem_bundle(&pem).map_err(|_| bad_certificates(options))?;
            if roots.is_empty() {
                return Err(bad_certificates(options));
            }
            builder = builder.tls_built_in_root_certs(false);
            builder = roots.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
        }
        let client = builder.build();
        let client = client.map_err(|error| RemoteErrorKind::Setup(innermost(&error)))?;
        Ok(Self { client })
    }

    /// Sends a request, and waits for the head of the reply for at most this long.
    pub(crate) async fn send(
        &self,
        request: &Request,
        options: &Options,
        limit: Duration,
    ) -> Result<(Head, Body), Failure> {
        let limits = Limits::of(options);
        let get = self.client.get(request.url.as_text());
        let get = request.headers.iter().fold(get, |get, (name, value)| get.header(*name, value));
        let sent = tokio::time::timeout(limit, get.send()).await;
        let sent = sent.map_err(|_| timeout(REPLY, options.idle_timeout))?;
        let response = sent.map_err(|error| limits.of_reqwest(error))?;
        let head = Head { status: response.status().as_u16(), headers: response.headers().clone() };
        Ok((head, Body { response, limits }))
    }

    /// Waits between two requests.
    pub(crate) async fn wait(&self, delay: Duration) -> Result<(), Failure> {
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

impl Body {
    /// Replaces `piece` with the next bytes of the body, and returns how many: 0 at its end. If the future is
    /// dropped, nothing is lost.
    pub(crate) async fn next(&mut self, piece: &mut Vec<u8>) -> Result<usize, Failure> {
        loop {
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| self.limits.of_reqwest(error))? {
                Some(chunk) if chunk.is_empty() => {}
                chunk => {
                    piece.clear();
                    piece.extend_from_slice(chunk.as_deref().unwrap_or(&[]));
                    return Ok(piece.len());
                }
            }
        }
    }

    /// Returns how many bytes follow where none should: at least, and as far as they come in time.
    pub(crate) async fn surplus(mut self, limit: Duration) -> usize {
        let mut piece = Vec::new();
        let next = tokio::time::timeout(limit, self.next(&mut piece));
        next.await.map_or(0, |outcome| outcome.unwrap_or(0))
    }
}

impl Limits {
    fn of_reqwest(self, error: reqwest::Error) -> Failure {
        // The URL may have a secret.
        let error = error.without_url();
        if error.is_timeout() {
            let is_connect = error.is_connect();
            return if is_connect { timeout(CONNECTION, self.connect) } else { timeout(REPLY, self.idle) };
        }
        let reason = innermost(&error);
        match () {
            () if error.is_connect() => network(reason, false),
            // `hyper` has no method that tells this from other heads that cannot be parsed.
            () if reason == "message head is too large" => {
                long_head(format_args!("100 lines, or 417792 bytes"))
            }
            () if is_no_http(&error) => unreadable(reason),
            () => network(reason, true),
        }
    }
}

/// Whether the head of the reply cannot be parsed.
fn is_no_http(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<hyper::Error>() {
        Some(error) => error.is_parse(),
        None => error.source().is_some_and(is_no_http),
    }
}

/// The message of the first cause.
fn innermost(error: &dyn Error) -> String {
    let mut last = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        last = error.to_string();
        source = error.source();
    }
    last
}
