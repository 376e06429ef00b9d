//! One request for bytes: redirects, repetitions, and the token.

use super::reply::{Meaning, Reply, meaning_of};
use super::{Failure, Head, Request, Span, Version};
use crate::error::{RemoteError, RemoteErrorKind};
use crate::options::Options;
use crate::url::Url;
use std::time::{Duration, Instant};

/// What the longest of all timeouts waits for.
pub(crate) const HEADER: &str = "the header";
pub(crate) const INDEX: &str = "the index";
pub(crate) const CONFIG: &str = "config.json";

/// The shortest and the longest wait that sockets and clocks take.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A limit within what sockets and clocks take.
pub(crate) fn bounded(limit: Duration) -> Duration {
    limit.clamp(SHORTEST, LONGEST)
}

/// The end of the time for something, with all repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
    what: &'static str,
}

impl Deadline {
    /// Begins now. There is none that a clock cannot show.
    pub(crate) fn after(limit: Duration, what: &'static str) -> Option<Self> {
        Some(Self { end: Instant::now().checked_add(limit)?, limit, what })
    }

    pub(crate) fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    pub(crate) fn error(self) -> RemoteErrorKind {
        RemoteErrorKind::Timeout { waiting_for: self.what, limit: self.limit }
    }
}

/// Where a file is: the URL that was given, and the one to which it led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) start: Url,
    pub(crate) at: Url,
}

impl Route {
    pub(crate) fn new(start: Url) -> Self {
        Self { at: start.clone(), start }
    }
}

/// What the transport does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Read the body.
    Done(Reply),
    /// Send the next request.
    Send,
    /// Wait, then send it.
    Wait(Duration),
    Fail(RemoteError),
}

/// A request for bytes of one file, through redirects and repetitions.
pub(crate) struct Fetch<'a> {
    options: &'a Options,
    route: Route,
    asked: Option<Span>,
    known: Option<&'a Version>,
    redirects: u32,
    /// The requests that failed in a row, also before this request.
    failures: u32,
    deadline: Option<Deadline>,
}

impl<'a> Fetch<'a> {
    /// Begins to ask for these bytes, or for the whole file. `known` is the version of earlier replies.
    pub(crate) fn new(
        options: &'a Options,
        route: Route,
        asked: Option<Span>,
        known: Option<&'a Version>,
    ) -> Self {
        Self { options, route, asked, known, redirects: 0, failures: 0, deadline: None }
    }

    /// Counts these failures, and ends at this time.
    pub(crate) fn after(self, failures: u32, deadline: Option<Deadline>) -> Self {
        Self { failures, deadline, ..self }
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Where the file was found.
    pub(crate) fn into_route(self) -> Route {
        self.route
    }

    /// The next request. It has the token only if its URL is one of the Hub.
    pub(crate) fn request(&self) -> Request {
        let agent = concat!("safetensors-remote/", env!("CARGO_PKG_VERSION"));
        let mut headers = vec![("user-agent", agent.into()), ("accept-encoding", "identity".into())];
        if let Some(span) = self.asked {
            headers.push(("range", format!("bytes={}-{}", span.first, span.last)));
            let condition = self.known.and_then(Version::if_range);
            headers.extend(condition.map(|condition| ("if-range", condition.to_owned())));
        }
        let token = self.options.hub.token_for(&self.route.at);
        headers.extend(token.map(|token| ("authorization", token.header())));
        Request { url: self.route.at.clone(), headers }
    }

    /// How long the head of the next reply may take.
    pub(crate) fn limit(&self) -> Duration {
        let idle = self.options.idle_timeout;
        bounded(self.time_left().map_or(idle, |left| left.min(idle)))
    }

    fn time_left(&self) -> Option<Duration> {
        self.deadline.map(Deadline::left)
    }

    /// The beginning of a reply has come.
    pub(crate) fn reply(&mut self, head: &Head) -> Step {
        match meaning_of(head, self.asked, self.known) {
            Meaning::Body(reply) => Step::Done(reply),
            Meaning::Moved(location) => self.redirect(&location),
            Meaning::Busy(status, seconds) => self.busy(status, seconds),
            // The URL to which the file was redirected may have expired.
            Meaning::Status(401 | 403 | 404 | 410) if self.is_at_remembered_url() => {
                self.route.at = self.route.start.clone();
                Step::Send
            }
            Meaning::Status(status) => self.fail(self.status(status)),
            Meaning::Fail(kind) => self.fail(kind),
        }
    }

    /// No reply has come, or not all of it. A server that has replied before may come back.
    pub(crate) fn failed(&mut self, failure: Failure) -> Step {
        let is_lost = self.known.is_some() && matches!(failure.kind, RemoteErrorKind::Network { .. });
        if failure.is_transient || is_lost {
            self.repeat(failure.kind, None)
        } else {
            self.fail(failure.kind)
        }
    }

    fn is_at_remembered_url(&self) -> bool {
        self.redirects == 0 && self.route.at != self.route.start
    }

    fn status(&self, status: u16) -> RemoteErrorKind {
        let with_token = self.options.hub.token_for(&self.route.at).is_some();
        let is_on_hub = self.options.hub.has(&self.route.start);
        RemoteErrorKind::Status { status, with_token, is_on_hub }
    }

    fn redirect(&mut self, location: &str) -> Step {
        if self.redirects >= self.options.max_redirects {
            let reason = format!("more than {} in a row", self.options.max_redirects);
            return self.fail(RemoteErrorKind::Redirect(reason));
        }
        let next = match self.route.at.join(location) {
            Ok(next) if self.route.at.is_https() && !next.is_https() => Err("it leads from https to http"),
            next => next,
        };
        match next {
            Ok(next) => {
                self.redirects += 1;
                self.route.at = next;
                Step::Send
            }
            Err(reason) => self.fail(RemoteErrorKind::Redirect(reason.to_owned())),
        }
    }

    fn busy(&mut self, status: u16, seconds: Option<u64>) -> Step {
        let limit = self.options.max_retry_delay;
        match seconds {
            Some(seconds) if Duration::from_secs(seconds) > limit => {
                self.fail(RemoteErrorKind::Wait { status, seconds, limit })
            }
            _ => self.repeat(self.status(status), seconds.map(Duration::from_secs)),
        }
    }

    /// Repeats the request after this delay, or else after one that doubles each time.
    fn repeat(&mut self, kind: RemoteErrorKind, delay: Option<Duration>) -> Step {
        if self.failures >= self.options.retries {
            return self.fail(kind);
        }
        let doubled = self.options.retry_delay.saturating_mul(1 << self.failures.min(16));
        let delay = delay.unwrap_or(doubled).min(self.options.max_retry_delay);
        if self.time_left().is_some_and(|left| left <= delay) {
            return self.fail(kind);
        }
        self.failures += 1;
        Step::Wait(delay)
    }

    fn fail(&self, kind: RemoteErrorKind) -> Step {
        let over = self.deadline.filter(|deadline| deadline.left().is_zero());
        let kind = match (kind, over) {
            (RemoteErrorKind::Timeout { .. }, Some(deadline)) => deadline.error(),
            (kind, _) => kind,
        };
        Step::Fail(RemoteError::new(&self.route.start, kind).after(self.failures + 1))
    }
}
