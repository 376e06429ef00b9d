//! What to ask, what a reply means, and what to do next: without any I/O, for both transports.
//!
//! A [`Fetch`](fetch::Fetch) is one question. The transport sends its request, tells it the head of the
//! reply or that none came, and does what the [`Step`](fetch::Step) says: read the body, send the next
//! request, wait, or fail.

pub(crate) mod fetch;
pub(crate) mod reply;
#[cfg(test)]
mod tests;

use crate::error::RemoteErrorKind;
use http::HeaderMap;
use std::fmt::Display;

/// A range of bytes, of which the last one is included, as in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Span {
    /// The bytes from one offset to another one, which is not included and is greater.
    pub(crate) fn between(start: u64, end: u64) -> Self {
        Self { first: start, last: end.saturating_sub(1).max(start) }
    }

    pub(crate) fn end(self) -> u64 {
        self.last.saturating_add(1)
    }
}

/// What identifies the content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) total: Option<u64>,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

impl Version {
    /// The value of `If-Range`: a strong entity tag, or else the date. A weak tag is not allowed there.
    fn if_range(&self) -> Option<&str> {
        match &self.etag {
            Some(etag) => Some(etag.as_str()).filter(|etag| !etag.starts_with("W/")),
            None => self.last_modified.as_deref(),
        }
    }

    /// Compares this version with a later one. What only one of them has is not compared.
    fn check(&self, now: &Self) -> Result<(), RemoteErrorKind> {
        compare("length", self.total, now.total)?;
        match (&self.etag, &now.etag) {
            (Some(before), Some(now)) => compare("ETag", Some(before), Some(now)),
            _ => compare("Last-Modified", self.last_modified.as_ref(), now.last_modified.as_ref()),
        }
    }
}

fn compare<T: PartialEq + Display>(
    what: &str,
    before: Option<T>,
    now: Option<T>,
) -> Result<(), RemoteErrorKind> {
    match (before, now) {
        (Some(before), Some(now)) if before != now => Err(RemoteErrorKind::changed(what, before, now)),
        _ => Ok(()),
    }
}

/// The beginning of a reply.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
}

impl Head {
    fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }
}

/// What a transport sends. The method is `GET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) url: crate::url::Url,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// Why there is no reply, or not all of its body.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: RemoteErrorKind,
    /// Whether the same request may succeed later.
    pub(crate) is_transient: bool,
}
