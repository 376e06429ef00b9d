//! A client: the options and the connections.

use super::{Body, Transport};
use crate::error::{RemoteError, RemoteErrorKind};
use crate::exchange::fetch::{Fetch, Route, Step};
use crate::exchange::reply::Reply;
use crate::options::Options;
use std::fmt;
use std::sync::Arc;

/// Options, and the connections that all files of a client share. A clone shares them, too.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    transport: Transport,
}

/// A reply whose body has not been read.
pub(super) struct Answer {
    pub(super) reply: Reply,
    pub(super) body: Body,
    pub(super) route: Route,
    /// The requests that failed in a row.
    pub(super) failures: u32,
}

impl Client {
    /// Creates a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Setup`]: the certificates cannot be read, or a proxy is not one of HTTP.
    pub fn new(options: Options) -> Result<Self, RemoteError> {
        let proxies = options.proxies.check().map_err(|proxy| {
            RemoteErrorKind::Setup(format!("the proxy {proxy} in the environment is not one of HTTP"))
        });
        let transport = proxies.and_then(|()| Transport::new(&options));
        let transport = transport.map_err(|kind| RemoteError::new("the client", kind))?;
        Ok(Self { inner: Arc::new(Inner { options, transport }) })
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.inner.transport
    }

    /// Sends requests until one has a reply to read, or none will.
    pub(super) fn ask(&self, mut fetch: Fetch<'_>) -> Result<Answer, RemoteError> {
        loop {
            let sent = self.transport().send(&fetch.request(), self.options(), fetch.limit());
            let (step, body) = match sent {
                Ok((head, body)) => (fetch.reply(&head), Some(body)),
                Err(failure) => (fetch.failed(failure), None),
            };
            match (step, body) {
                (Step::Done(reply), Some(body)) => {
                    let failures = fetch.failures();
                    return Ok(Answer { reply, body, route: fetch.into_route(), failures });
                }
                (Step::Done(_) | Step::Send, _) => {}
                (Step::Wait(delay), body) => {
                    drop(body);
                    let waited = self.transport().wait(delay);
                    if let Err(failure) = waited {
                        return Err(RemoteError::new(&fetch.into_route().start, failure.kind));
                    }
                }
                (Step::Fail(error), _) => return Err(error),
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("options", self.options()).finish_non_exhaustive()
    }
}
