//! What the head of a reply means.

use super::{Head, Span, Version};
use crate::error::RemoteErrorKind;

/// A success: the body has these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) version: Version,
    /// The first byte of the body, as an offset in the file.
    pub(crate) start: u64,
    /// The offset where the body ends, unless only the body tells.
    pub(crate) end: Option<u64>,
    /// Whether the server answered with the range.
    pub(crate) has_range: bool,
}

/// What a reply means.
#[derive(Debug)]
pub(crate) enum Meaning {
    Body(Reply),
    /// The file is elsewhere.
    Moved(String),
    /// The status; a repetition may help, after the seconds of `Retry-After`.
    Busy(u16, Option<u64>),
    /// The status of a final answer.
    Status(u16),
    Fail(RemoteErrorKind),
}

/// Returns what a reply to a request for these bytes, or for all, means. `known` is the version of earlier
/// replies.
pub(crate) fn meaning_of(head: &Head, asked: Option<Span>, known: Option<&Version>) -> Meaning {
    let outcome = match (head.status, asked) {
        (301 | 302 | 303 | 307 | 308, _) => return moved(head),
        (429 | 500 | 502 | 503 | 504, _) => return Meaning::Busy(head.status, retry_after(head)),
        (200, _) => whole(head),
        (206, Some(span)) => part(head, span),
        (206, None) => Err(invalid("206 to a request without a range")),
        (416, Some(span)) => match empty(head, span) {
            Some(reply) => Ok(reply),
            None => return Meaning::Status(416),
        },
        (status, _) => return Meaning::Status(status),
    };
    let checked = outcome.and_then(|reply| match known {
        Some(known) => known.check(&reply.version).map(|()| reply),
        None => Ok(reply),
    });
    checked.map_or_else(Meaning::Fail, Meaning::Body)
}

fn moved(head: &Head) -> Meaning {
    match head.get("location") {
        Some(location) if !location.is_empty() => Meaning::Moved(location.to_owned()),
        _ => Meaning::Fail(RemoteErrorKind::Redirect("it has no Location".into())),
    }
}

/// The seconds of `Retry-After`. A date counts as absent: the clocks may differ.
fn retry_after(head: &Head) -> Option<u64> {
    head.get("retry-after")?.parse().ok()
}

fn whole(head: &Head) -> Result<Reply, RemoteErrorKind> {
    check_encoding(head)?;
    let len = content_length(head)?;
    let version = version(head, len);
    Ok(Reply { version, start: 0, end: len, has_range: false })
}

fn part(head: &Head, span: Span) -> Result<Reply, RemoteErrorKind> {
    check_encoding(head)?;
    let kind = head.get("content-type").unwrap_or("").to_ascii_lowercase();
    if kind.starts_with("multipart/") {
        return Err(invalid("several ranges, and one was requested"));
    }
    let text = head.get("content-range").ok_or_else(|| invalid("206 without Content-Range"))?;
    let Span { first, last } = span;
    let wrong = || invalid(&format!("bytes {first}-{last} were requested, and it has {text:?}"));
    let (found, total) = parse_content_range(text).ok_or_else(wrong)?;
    let total = total.ok_or_else(|| invalid("it does not tell the length of the file"))?;
    // A server may send fewer bytes; the rest is requested then.
    let last = span.last.min(total.saturating_sub(1));
    if found.first != span.first || found.last > last {
        return Err(wrong());
    }
    let len = found.end() - found.first;
    let announced = content_length(head)?;
    if let Some(announced) = announced.filter(|&announced| announced != len) {
        return Err(RemoteErrorKind::wrong_length(len, announced));
    }
    Ok(Reply {
        version: version(head, Some(total)),
        start: found.first,
        end: Some(found.end()),
        has_range: true,
    })
}

/// 416 to a request for the first bytes of an empty file.
fn empty(head: &Head, span: Span) -> Option<Reply> {
    let is_empty = span.first == 0 && head.get("content-range") == Some("bytes */0");
    let version = version(head, Some(0));
    is_empty.then_some(Reply { version, start: 0, end: Some(0), has_range: true })
}

/// Parses `bytes FIRST-LAST/TOTAL`, where the total may be `*`.
fn parse_content_range(text: &str) -> Option<(Span, Option<u64>)> {
    let (unit, rest) = text.split_once(' ')?;
    let (range, total) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    let total = if total.trim() == "*" { None } else { Some(number(total.trim())?) };
    let is_valid = unit.eq_ignore_ascii_case("bytes") && first <= last;
    is_valid.then_some((Span { first, last }, total))
}

fn content_length(head: &Head) -> Result<Option<u64>, RemoteErrorKind> {
    if head.headers.contains_key("transfer-encoding") {
        return Ok(None);
    }
    match head.headers.get("content-length") {
        None => Ok(None),
        Some(_) => {
            let len = head.get("content-length").and_then(|len| len.parse().ok());
            len.map(Some).ok_or_else(|| invalid("its Content-Length is not a number"))
        }
    }
}

fn check_encoding(head: &Head) -> Result<(), RemoteErrorKind> {
    match head.get("content-encoding") {
        None | Some("" | "identity") => Ok(()),
        Some(encoding) => Err(invalid(&format!("it is compressed ({encoding:?}), which was not requested"))),
    }
}

fn version(head: &Head, total: Option<u64>) -> Version {
    let text = |name| head.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    Version { total, etag: text("etag"), last_modified: text("last-modified") }
}

fn invalid(reason: &str) -> RemoteErrorKind {
    RemoteErrorKind::Reply(reason.to_owned())
}
