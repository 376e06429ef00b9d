//! Decisions that no test with a server can reach: those about https, and about time.

use super::fetch::{Deadline, Fetch, HEADER, Route, Step};
use super::reply::{Meaning, meaning_of};
use super::{Failure, Head, Span, Version};
use crate::error::RemoteErrorKind;
use crate::hub::{Hub, Token};
use crate::options::Options;
use crate::url::Url;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

fn head(status: u16, headers: &[(&str, &str)]) -> Head {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    Head { status, headers: headers.iter().map(pair).collect::<HeaderMap>() }
}

fn options() -> Options {
    let hub = Hub { token: Token::new("hf_secret"), ..Hub::default() };
    Options { hub, ..Options::new() }
}

fn fetch<'a>(options: &'a Options, url: &str) -> Fetch<'a> {
    Fetch::new(options, Route::new(Url::parse(url).unwrap()), Some(Span::between(0, 100)), None)
}

fn has_token(fetch: &Fetch<'_>) -> bool {
    fetch.request().headers.iter().any(|(name, _)| *name == "authorization")
}

const FILE: &str = "https://huggingface.co/o/n/resolve/main/model.safetensors";

/// What follows a reply: the next URL, or an error.
fn after(fetch: &mut Fetch<'_>, status: u16, headers: &[(&str, &str)]) -> String {
    match fetch.reply(&head(status, headers)) {
        Step::Send => fetch.request().url.as_text().to_owned(),
        Step::Fail(error) => error.to_string(),
        step => panic!("{step:?}"),
    }
}

#[test]
fn replies_that_are_not_the_requested_bytes() {
    let range = |range: &'static str| ("content-range", range);
    for (status, headers, expected) in [
        (206, &[][..], "invalid: 206 without Content-Range"),
        (206, &[range("bytes 1-100/300")], "bytes 0-99 were requested, and it has \"bytes 1-100/300\""),
        (206, &[range("bytes 0-99/*")], "does not tell the length of the file"),
        (206, &[range("bytes 0-99/300"), ("content-length", "50")], "announced 100 bytes and has 50"),
        (206, &[range("bytes 0-99/300"), ("content-length", "101")], "announced 100 bytes and has 101"),
        (206, &[("content-type", "multipart/byteranges; boundary=x")], "several ranges"),
        (206, &[("content-encoding", "gzip")], "compressed (\"gzip\")"),
        (200, &[("content-encoding", "br")], "compressed (\"br\")"),
        (200, &[("content-length", "-1")], "its Content-Length is not a number"),
        (304, &[], "304 Not Modified"),
        (404, &[], "404 Not Found"),
        (410, &[], "410 Gone"),
        (416, &[range("bytes */300")], "416"),
        (429, &[("retry-after", "31")], "429 and asks to wait 31 s, the limit is 30 s"),
        (501, &[], "501 Not Implemented"),
        (302, &[], "it has no Location"),
        (302, &[("location", "file:///etc/passwd")], "a redirect is not followed"),
        (302, &[("location", "http://a:secret@h/")], "a redirect is not followed"),
    ] {
        let options = options();
        let error = after(&mut fetch(&options, "http://h/m"), status, headers);
        assert!(error.starts_with("http://h/m: ") && error.contains(expected), "{status}: {error}");
        assert!(!error.contains("attempts") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_model_that_needs_a_token_says_so() {
    let without = || Options::new();
    for (status, options, url, end) in [
        (401, without(), "http://h/m", "401 Unauthorized"),
        (403, without(), "http://h/m", "403 Forbidden"),
        (401, without(), FILE, "may be wrong, and a private or gated model needs a token in HF_TOKEN"),
        (403, without(), FILE, "403 Forbidden; a private or gated model needs a token in HF_TOKEN"),
        (401, options(), FILE, "the token has no access to it"),
        (403, options(), FILE, "the token has no access to it"),
    ] {
        let error = after(&mut fetch(&options, url), status, &[]);
        assert!(error.ends_with(end), "{status}: {error}");
    }
}

#[test]
fn redirects_are_followed_up_to_a_limit() {
    let options = options();
    for status in [301, 302, 303, 307, 308] {
        let next = after(&mut fetch(&options, FILE), status, &[("location", "/file")]);
        assert_eq!(next, "https://huggingface.co/file");
    }
    let mut fetch = fetch(&options, FILE);
    for _ in 0..10 {
        assert_eq!(after(&mut fetch, 302, &[("location", FILE)]), FILE);
    }
    assert!(after(&mut fetch, 302, &[("location", FILE)]).contains("more than 10 in a row"));
}

/// A weak tag may not be sent, but is compared.
#[test]
fn a_file_that_changes_is_an_error() {
    let (options, url) = (options(), Url::parse("http://h/m").unwrap());
    let version = |name: &str, value: &str| {
        let reply = head(206, &[("content-range", "bytes 0-99/300"), (name, value)]);
        match meaning_of(&reply, Some(Span::between(0, 100)), None) {
            Meaning::Body(reply) => reply.version,
            other => panic!("{other:?}"),
        }
    };
    for (name, before, now, condition, error) in [
        ("etag", "\"1\"", "\"2\"", Some("\"1\""), Some("its ETag was \"1\" and is \"2\"")),
        ("etag", "W/\"1\"", "W/\"1\"", None, None),
        ("etag", "W/\"1\"", "W/\"2\"", None, Some("its ETag was W/\"1\" and is W/\"2\"")),
        ("last-modified", "Monday", "Monday", Some("Monday"), None),
        (
            "last-modified",
            "Monday",
            "Tuesday",
            Some("Monday"),
            Some("Last-Modified was Monday and is Tuesday"),
        ),
        ("content-range", "bytes 0-99/300", "bytes 0-99/301", None, Some("its length was 300 and is 301")),
    ] {
        let known = version(name, before);
        let mut fetch =
            Fetch::new(&options, Route::new(url.clone()), Some(Span::between(0, 100)), Some(&known));
        let request = fetch.request();
        let find = |wanted| request.headers.iter().find(|(name, _)| *name == wanted);
        assert_eq!(find("if-range").map(|(_, value)| value.as_str()), condition);
        assert_eq!(find("accept-encoding").map(|(_, value)| value.as_str()), Some("identity"));
        let range = if name == "content-range" { now } else { "bytes 0-99/300" };
        match (fetch.reply(&head(206, &[(name, now), ("content-range", range)])), error) {
            (Step::Done(_), None) => {}
            (Step::Fail(found), Some(error)) => assert!(found.to_string().contains(error), "{found}"),
            (step, _) => panic!("{name}: {step:?}"),
        }
    }
}

#[test]
fn a_redirect_from_https_to_http_is_not_followed() {
    let options = options();
    for to in ["http://huggingface.co/a", "http://cdn.example/a"] {
        let mut fetch = fetch(&options, FILE);
        let error = format!("{FILE}: a redirect is not followed: it leads from https to http");
        assert_eq!(after(&mut fetch, 302, &[("location", to)]), error);
    }
}

#[test]
fn the_token_stays_with_scheme_host_and_port() {
    let options = options();
    for (to, expected) in [
        ("/other/file", true),
        ("//huggingface.co/file", true),
        ("https://HuggingFace.co:443/file", true),
        ("https://huggingface.co:444/file", false),
        ("https://cdn.huggingface.co/file", false),
        ("https://huggingface.co.example/file", false),
    ] {
        let mut fetch = fetch(&options, FILE);
        assert!(has_token(&fetch));
        assert!(matches!(fetch.reply(&head(302, &[("location", to)])), Step::Send), "{to}");
        assert_eq!(has_token(&fetch), expected, "{to}");
    }
    assert!(!has_token(&fetch(&options, "http://huggingface.co/file")), "without TLS");
}

#[test]
fn delays_double_up_to_a_limit() {
    let options = Options { retries: 9, ..options() };
    let mut fetch = fetch(&options, FILE);
    let mut delay = || match fetch.reply(&head(503, &[])) {
        Step::Wait(delay) => delay.as_millis(),
        step => panic!("{step:?}"),
    };
    let delays: Vec<_> = std::iter::repeat_with(&mut delay).take(9).collect();
    assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    assert!(matches!(fetch.reply(&head(503, &[])), Step::Fail(_)));
}

#[test]
fn what_a_server_asks_to_wait_is_waited() {
    let options = options();
    for (value, expected) in [("7", 7000), ("0", 0), ("30", 30_000), ("soon", 500), ("-1", 500)] {
        match fetch(&options, FILE).reply(&head(429, &[("retry-after", value)])) {
            Step::Wait(delay) => assert_eq!(delay.as_millis(), expected, "{value}"),
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn no_wait_is_longer_than_the_time_that_is_left() {
    let options = options();
    let soon = Deadline::after(Duration::from_millis(400), HEADER);
    let mut fetch = fetch(&options, FILE).after(0, soon);
    assert!(fetch.limit() <= Duration::from_millis(400));
    assert!(matches!(fetch.reply(&head(503, &[])), Step::Fail(_)), "500 ms are too long");
}

#[test]
fn a_server_that_has_gone_is_asked_again() {
    let (options, version) = (options(), Version::default());
    let gone =
        || Failure { kind: RemoteErrorKind::Network("connection refused".into()), is_transient: false };
    assert!(matches!(fetch(&options, FILE).failed(gone()), Step::Fail(_)));
    let route = Route::new(Url::parse(FILE).unwrap());
    let mut fetch = Fetch::new(&options, route, Some(Span::between(0, 100)), Some(&version));
    assert!((0..options.retries).all(|_| matches!(fetch.failed(gone()), Step::Wait(_))));
    assert!(matches!(fetch.failed(gone()), Step::Fail(_)));
}

/// No limit makes a clock overflow, or is shorter than what a socket takes.
#[test]
fn any_limit_is_a_wait() {
    for (idle, left) in [(0, 0), (0, 7), (7, 0), (u64::MAX, 7), (u64::MAX, u64::MAX)] {
        let options = Options { idle_timeout: Duration::from_secs(idle), ..options() };
        let deadline = Deadline::after(Duration::from_secs(left), HEADER);
        assert_eq!(deadline.is_none(), left == u64::MAX);
        let limit = fetch(&options, FILE).after(0, deadline).limit();
        assert!(limit >= Duration::from_millis(1) && limit.as_secs() < 1 << 32, "{idle} {left}: {limit:?}");
    }
}

/// No text of `Content-Range` is taken for the requested range, except the right one.
#[test]
fn content_ranges_are_strict() {
    let asked = Some(Span::between(10, 20));
    let meaning = |range: &str| meaning_of(&head(206, &[("content-range", range)]), asked, None);
    for right in
        ["bytes 10-19/100", "Bytes 10-19/20", "bytes 10-18/100", "bytes  10-19/100", "bytes 10 - 19 / 100"]
    {
        assert!(matches!(meaning(right), Meaning::Body(_)), "{right}");
    }
    for wrong in [
        "bytes=10-19/100",
        "bytes 10-19",
        "bytes 10-19/",
        "bytes 10-19/19",
        "bytes 10-20/100",
        "bytes 9-19/100",
        "bytes +10-19/100",
        "bytes 19-10/100",
        "bytes 10-18446744073709551616/100",
        "bytes */100",
        "",
    ] {
        let is_wrong = matches!(meaning(wrong), Meaning::Fail(RemoteErrorKind::Reply(_)));
        assert!(is_wrong, "{wrong}");
    }
}

/// Nothing that a server can send makes the decisions panic.
#[test]
fn random_heads_have_a_meaning() {
    let values =
        ["", "bytes 0-99/100", "bytes 0-18446744073709551615/*", "18446744073709551615", "gzip", "\u{a0}"];
    let names = ["content-range", "content-length", "content-encoding", "content-type", "etag", "location"];
    let options = options();
    for status in [100, 200, 206, 299, 301, 304, 401, 416, 429, 503, 599, 999] {
        for first in 0..values.len() * names.len() {
            for second in 0..values.len() * names.len() {
                let pair = |at: usize| (names[at % names.len()], values[at / names.len()]);
                let mut fetch = fetch(&options, FILE);
                let step = fetch.reply(&head(status, &[pair(first), pair(second)]));
                assert!(!format!("{step:?}").contains("hf_secret"));
            }
        }
    }
}
