//! The table.

use super::{HEADS, LEN, Row, Step};
use crate::server::{File, Reply, Request, Server, Wire, part};
use safetensors_remote::{Hub, Token};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// The most that a socket on loopback takes before the client has read anything.
const SOCKETS: u64 = 12_000_000;
const FIRST: u64 = 100_000;

pub fn all() -> Vec<Row> {
    let mut rows = good();
    rows.extend(without_ranges());
    rows.extend(wrong_ranges());
    rows.extend(wrong_lengths());
    rows.extend(wrong_files());
    rows.extend(lost());
    rows.extend(lost_in_data());
    rows.extend(neighbours());
    rows.extend(no_http());
    rows.extend(slow());
    rows.extend(redirects());
    rows.extend(statuses());
    rows.extend(changes());
    rows.extend(forms());
    rows
}

fn normal(file: &File, request: &Request, wire: &mut Wire) -> io::Result<()> {
    part(file, request).send(wire)
}

/// The right reply with a change.
fn changed(change: fn(Reply<'_>) -> Reply<'_>) -> impl Fn(&File, &Request, &mut Wire) -> io::Result<()> {
    move |file, request, wire| change(part(file, request)).send(wire)
}

/// The right replies, with a change in the reply to the request of this number.
fn nth(
    number: usize,
    change: fn(Reply<'_>) -> Reply<'_>,
) -> impl Fn(&File, &Request, &mut Wire) -> io::Result<()> {
    move |file, request, wire| match request.number == number {
        true => change(part(file, request)).send(wire),
        false => normal(file, request, wire),
    }
}

fn is_first(request: &Request) -> bool {
    request.number == 0
}

fn good() -> Vec<Row> {
    let all = Step::Tensor("b");
    vec![
        Row::new("only the header", 1, normal).sends(FIRST + HEADS),
        Row::new("a tensor in the first request", 1, normal).then(&[Step::Tensor("a")]).sends(FIRST + HEADS),
        Row::new("a tensor is one request", 2, normal).then(&[all]).over(1),
        Row::new("small reads in sequence", 4, normal).then(&[Step::Pieces(0, LEN, 1000)]).over(1),
        Row::new("a large buffer is one request", 2, normal).then(&[Step::Pieces(0, LEN, 400_000)]),
        Row::new("a header of two requests", 2, normal)
            .file(File::with_header(150_000, 200_000))
            .sends(150_000 + HEADS)
            .over(1),
        Row::new("a short first request", 2, normal)
            .with(|options, _| options.first_request = 64)
            .sends(HEADS),
        Row::new("a file shorter than the first request", 1, normal)
            .file(File::with_header(200, 1000))
            .then(&[Step::Tensor("b"), Step::Tensor("a")]),
        Row::new("reads at far offsets", 3, normal)
            .file(File::with_header(200, 50_000_000))
            .then(&[Step::Pieces(40_000_000, 40_000_100, 100), Step::Pieces(20_000_000, 20_000_100, 100)])
            .sends(FIRST + 2 * 65_536 + HEADS),
        Row::new("claims a tensor of 32 TiB", 2, |file, request, wire| {
            if is_first(request) { normal(file, request, wire) } else { status(404, wire) }
        })
        .file(File::with_header(200, 1 << 45))
        .then(&[all])
        .fails("404 Not Found"),
        Row::new("an invalid header", 1, |file, request, wire| {
            let broken = File::new(r#"{"a":{"dtype":"U9","shape":[],"data_offsets":[0,0]}}"#, file.len);
            part(&broken, request).send(wire)
        })
        .fails("dtype"),
        Row::new("a file that is too short for its tensors", 1, |file, request, wire| {
            let cut = File { len: file.len - 1, ..file.clone() };
            part(&cut, request).send(wire)
        })
        .fails("file"),
    ]
}

fn whole(file: &File, _: &Request, wire: &mut Wire) -> io::Result<()> {
    Reply::new(file).set("ETag", "\"v1\"").send(wire)
}

fn without_ranges() -> Vec<Row> {
    let long = || File::with_header(200, 64_000_000);
    vec![
        Row::new("ignores ranges: a short file", 1, whole).then(&[Step::Tensor("b"), Step::Tensor("a")]),
        Row::new("ignores ranges: only the header", 1, whole).file(long()).sends(SOCKETS),
        Row::new("ignores ranges: in sequence", 1, whole)
            .file(long())
            .then(&[Step::Tensor("a"), Step::Pieces(500_000, 900_000, 4096)])
            .sends(SOCKETS),
        Row::new("ignores ranges: backwards", 1, whole)
            .file(long())
            // Farther back than what a client may have received at once.
            .then(&[Step::Pieces(5_000_000, 5_000_100, 100), Step::Pieces(1_000_000, 1_000_100, 100)])
            .fails("byte 1000000 cannot be read")
            .sends(SOCKETS),
        Row::new("ignores ranges and tells no length", 1, |file, _, wire| {
            Reply::new(file).chunked().send(wire)
        })
        .then(&[Step::Tensor("a"), Step::Tensor("b")]),
        Row::new("ignores ranges and breaks off", 2, |file, request, wire| {
            let reply = Reply::new(file);
            if is_first(request) { reply.cut(120_000).send(wire) } else { reply.send(wire) }
        })
        .then(&[Step::Tensor("b")])
        .sends(LEN + 120_000 + HEADS),
        // Each repetition begins at the first byte, so it is no progress.
        Row::new("ignores ranges and always breaks off at the same byte", 3, |file, _, wire| {
            Reply::new(file).cut(200_000).send(wire)
        })
        .then(&[Step::Tensor("b")])
        .sends(3 * 200_000 + HEADS)
        .fails("(after 3 attempts)"),
        Row::new("ignores ranges, and breaks off later each time", 6, |file, request, wire| {
            Reply::new(file).cut(70_000 * (request.number as u64 + 1)).send(wire)
        })
        .file(File::with_header(200, 400_000))
        .then(&[Step::Tensor("b")])
        .sends(2_000_000),
    ]
}

/// The reply to the first bytes with another `Content-Range`.
fn ranged(file: &File, request: &Request, wire: &mut Wire, range: &str) -> io::Result<()> {
    part(file, request).set("Content-Range", range).send(wire)
}

fn wrong_ranges() -> Vec<Row> {
    vec![
        Row::new("another first byte", 1, |f, r, w| ranged(f, r, w, "bytes 1-100000/300000"))
            .fails("requested bytes 0-99999"),
        Row::new("fewer bytes than sent", 1, |f, r, w| ranged(f, r, w, "bytes 0-511/300000"))
            .fails("announced 512 bytes and sent 100000"),
        Row::new("a shorter range than requested", 6, |file, request, wire| {
            let first = request.range().unwrap().0;
            let range = format!("bytes {first}-{}/{}", first + 49_999, file.len);
            let reply = Reply::new(file).status(206).bytes(first, first + 50_000);
            reply.set("ETag", "\"v1\"").set("Content-Range", &range).send(wire)
        })
        .then(&[Step::Tensor("b")])
        .sends(LEN + 2 * HEADS),
        Row::new("an unknown total", 1, |f, r, w| ranged(f, r, w, "bytes 0-99999/*"))
            .fails("does not tell the length"),
        Row::new("a part without its range", 1, changed(|reply| reply.without("Content-Range")))
            .fails("without Content-Range"),
        Row::new(
            "several ranges",
            1,
            changed(|reply| reply.set("Content-Type", "multipart/byteranges; boundary=x")),
        )
        .fails("several ranges"),
    ]
}

fn wrong_lengths() -> Vec<Row> {
    vec![
        Row::new("a total smaller than the header", 1, |file, request, wire| {
            let short = File { len: 1000, ..file.clone() };
            part(&short, request).send(wire)
        })
        .file(File::with_header(5000, 1000))
        .fails("has 1000 bytes, but its header ends at byte 5000"),
        Row::new("a length shorter than the range", 1, changed(|reply| reply.set("Content-Length", "5000")))
            .fails("announced 100000 bytes and sent 5000"),
        Row::new("a length longer than the range", 1, changed(|reply| reply.set("Content-Length", "100001")))
            .fails("announced 100000 bytes and sent 100001"),
        Row::new("chunks with more bytes than the range", 1, changed(|reply| reply.chunked().extra(b"more")))
            .fails("announced 100000 bytes and sent 100004"),
        Row::new("chunks with fewer bytes than the range", 3, |file, request, wire| {
            let (first, last) = request.range().unwrap();
            part(file, request).bytes(first, (first + 100).min(last)).chunked().send(wire)
        })
        .fails("the reply ended at byte"),
    ]
}

fn wrong_files() -> Vec<Row> {
    vec![
        Row::new("a compressed reply", 1, changed(|reply| reply.set("Content-Encoding", "gzip")))
            .fails("compressed (\"gzip\")"),
        Row::new("a compressed whole file", 1, |file, _, wire| {
            Reply::new(file).set("Content-Encoding", "br").send(wire)
        })
        .fails("compressed (\"br\")"),
        Row::new("a header longer than the limit", 1, |_, request, wire| {
            let file = File { beginning: 25_000_001_u64.to_le_bytes().to_vec(), len: 60_000_000 };
            part(&file, request).send(wire)
        })
        .fails("claims 25000001 bytes, the limit is 25000000"),
        Row::new("a web page", 1, |_, _, wire| {
            let page = File::of("<!DOCTYPE html><html><title>Log in</title></html>");
            Reply::new(&page).set("Content-Type", "text/html").send(wire)
        })
        .fails("a web page instead of the file"),
        Row::new("a web page of unknown length", 1, |_, _, wire| {
            let page = File::of("<!DOCTYPE html><html><title>Log in</title></html>");
            Reply::new(&page).chunked().pace(8, 20).send(wire)
        })
        .fails("a web page instead of the file"),
        Row::new("an empty file", 1, |_, request, wire| part(&File::of([]), request).send(wire))
            .fails("the file has 0 bytes"),
        Row::new("an empty whole file", 1, |_, _, wire| Reply::new(&File::of([])).send(wire))
            .fails("the file has 0 bytes"),
        Row::new("a file of 7 bytes", 1, |_, request, wire| part(&File::of([0; 7]), request).send(wire))
            .fails("the file has 7 bytes"),
    ]
}

fn lost() -> Vec<Row> {
    vec![
        Row::new("closes without a reply, once", 2, |file, request, wire| match request.number {
            0 => {
                wire.is_closed = true;
                Ok(())
            }
            _ => normal(file, request, wire),
        }),
        Row::new("closes without a reply, always", 3, |_, _, wire| {
            wire.is_closed = true;
            Ok(())
        })
        .fails("(after 3 attempts)"),
        Row::new("breaks off in the head", 2, |file, request, wire| match request.number {
            0 => {
                wire.is_closed = true;
                wire.write(b"HTTP/1.1 206 Partial Content\r\nContent-Le")
            }
            _ => normal(file, request, wire),
        }),
        Row::new("breaks off in the header, once", 2, nth(0, |reply| reply.cut(100)))
            .sends(FIRST + HEADS)
            .check(|server| assert_eq!(server.requests()[1].header("range"), Some("bytes=100-99999"))),
        Row::new("breaks off in the header, always", 3, changed(|reply| reply.cut(10)))
            .fails("(after 3 attempts)"),
    ]
}

fn lost_in_data() -> Vec<Row> {
    vec![
        Row::new("breaks off in a tensor, once", 3, nth(1, |reply| reply.cut(50_000)))
            .then(&[Step::Tensor("b")])
            .check(|server| {
                let ranges: Vec<_> =
                    server.requests().iter().map(|request| request.range().unwrap()).collect();
                assert_eq!(ranges, [(0, 99_999), (100_000, 299_999), (150_000, 299_999)]);
            }),
        Row::new("breaks off after each 70,000 bytes", 9, |file, request, wire| {
            let reply = part(file, request);
            if is_first(request) { reply.send(wire) } else { reply.cut(70_000).send(wire) }
        })
        .file(File::with_header(200, 600_000))
        .sends(600_000 + 2 * HEADS)
        .then(&[Step::Tensor("b")]),
    ]
}

/// Small tensors that share a reply: the third one, after those of the header.
fn neighbours() -> Vec<Row> {
    let third = |row: Row| row.file(File::with_header(150_000, 200_000)).then(&[Step::Neighbours]);
    let rows = vec![
        Row::new("neighbours are one request", 3, normal).over(1),
        Row::new("closes within neighbours", 4, nth(2, |reply| reply.cut(50_000)))
            .check(|server| assert_eq!(server.requests()[3].range(), Some((200_000, 349_999)))),
        Row::new("ignores ranges: neighbours", 1, whole),
        Row::new("changes before neighbours", 3, nth(2, |reply| reply.set("ETag", "\"v2\"")))
            .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("hangs within neighbours", 5, |file, request, wire| match request.number {
            0 | 1 => normal(file, request, wire),
            _ => part(file, request).cut(50).send(wire).and_then(|()| wire.hang()),
        })
        .with(impatient)
        .fails("too slow"),
    ];
    let mut rows: Vec<Row> = rows.into_iter().map(|row| third(row).sends(350_000 + HEADS)).collect();
    let chunked =
        Row::new("a small tensor before a large one, in chunks", 4, changed(|reply| reply.chunked()));
    rows.push(third(chunked).file(File::with_header(150_000, 600_000)).over(1).sends(750_000 + HEADS));
    rows
}

fn no_http() -> Vec<Row> {
    vec![
        Row::new("is no HTTP server", 1, |_, _, wire| {
            wire.is_closed = true;
            wire.write(b"220 mail.example.org ESMTP\r\n\r\n")
        })
        .fails("invalid"),
        Row::new("an endless head", 1, |_, _, wire| {
            wire.write(b"HTTP/1.1 206 Partial Content\r\n")?;
            loop {
                wire.write(b"X-Padding: 0123456789012345678901234567890123456789\r\n")?;
            }
        })
        .sends(SOCKETS)
        .fails("invalid: its head is too long"),
        Row::new(
            "a head with a line of 1 MB",
            1,
            changed(|reply| reply.set("X-Padding", &"x".repeat(1_000_000))),
        )
        .sends(SOCKETS)
        .fails("invalid: its head is too long"),
        Row::new("a head of 200 lines", 1, |file, request, wire| {
            (0..200).fold(part(file, request), |reply, line| reply.set(&format!("X-{line}"), "x")).send(wire)
        })
        .fails("invalid: its head is too long"),
    ]
}

fn impatient(options: &mut safetensors_remote::Options, _: &Server) {
    options.idle_timeout = Duration::from_millis(400);
}

fn slow() -> Vec<Row> {
    let rows =
        vec![
            Row::new("hangs before the head", 3, |_, _, wire| wire.hang()).fails("too slow"),
            Row::new("hangs in the head", 3, |_, _, wire| {
                wire.write(b"HTTP/1.1 206 Partial Content\r\nContent-Le")?;
                wire.hang()
            })
            .fails("too slow"),
            Row::new("hangs in the body", 3, |file, request, wire| {
                part(file, request).cut(50).send(wire)?;
                wire.hang()
            })
            .fails("too slow"),
            Row::new("hangs once", 2, |file, request, wire| {
                if is_first(request) { wire.hang() } else { normal(file, request, wire) }
            }),
            Row::new("a head, byte by byte, for too long", 3, |_, _, wire| {
                wire.write(b"HTTP/1.1 206 Partial Content\r\nX-Padding: ")?;
                loop {
                    wire.write(b"x")?;
                    sleep(Duration::from_millis(10));
                }
            })
            .fails("too slow"),
        ];
    let mut rows: Vec<Row> = rows.into_iter().map(|row| row.with(impatient)).collect();
    rows.extend([
        Row::new("one byte each 2 ms, in time", 1, changed(|reply| reply.pace(1, 2)))
            .file(File::with_header(200, 150)),
        Row::new("one byte each 10 ms, for too long", 1, changed(|reply| reply.pace(1, 10)))
            .with(|options, _| options.header_timeout = Duration::from_millis(1200))
            .fails("for the header"),
    ]);
    rows
}

/// Sends all paths but `/file` there.
fn moved(status: u16, file: &File, request: &Request, wire: &mut Wire, to: &str) -> io::Result<()> {
    match request.path.as_str() {
        "/file" => normal(file, request, wire),
        _ => Reply::new(&File::of([])).status(status).set("Location", to).send(wire),
    }
}

/// The address of the server by another host.
fn elsewhere(request: &Request, path: &str) -> String {
    let host = request.header("host").unwrap().replace("127.0.0.1", "127.0.0.2");
    format!("http://{host}{path}")
}

fn with_token(options: &mut safetensors_remote::Options, server: &Server) {
    let (endpoint, token) = (server.url(""), Token::new("hf_secret"));
    options.hub = Hub { endpoint, token, ..Hub::default() };
}

fn without_token(options: &mut safetensors_remote::Options, server: &Server) {
    options.hub = Hub { endpoint: server.url(""), ..Hub::default() };
}

fn authorized(server: &Server) -> Vec<bool> {
    server.requests().iter().map(|request| request.header("authorization").is_some()).collect()
}

fn redirects() -> Vec<Row> {
    vec![
        Row::new("301", 2, |f, r, w| moved(301, f, r, w, "/file")),
        Row::new("302", 2, |f, r, w| moved(302, f, r, w, "/file")),
        Row::new("303", 2, |f, r, w| moved(303, f, r, w, "/file")),
        Row::new("307", 2, |f, r, w| moved(307, f, r, w, "/file")),
        Row::new("308", 2, |f, r, w| moved(308, f, r, w, "/file")),
        Row::new("a relative redirect", 2, |f, r, w| moved(302, f, r, w, "./x/../file")),
        Row::new("a redirect is remembered", 3, |f, r, w| moved(302, f, r, w, "/file"))
            .then(&[Step::Tensor("b")])
            .check(|server| assert_eq!(server.requests()[2].path, "/file")),
        Row::new("a remembered redirect expires", 4, |file, request, wire| match request.number {
            2 => Reply::new(&File::of([])).status(403).send(wire),
            3 => normal(file, request, wire),
            _ => moved(302, file, request, wire, "/file"),
        })
        .then(&[Step::Tensor("b")])
        .check(|server| assert_eq!(server.requests()[3].path, "/m")),
        Row::new("a remembered redirect expires after it was busy", 5, |file, request, wire| {
            match request.number {
                2 => Reply::new(&File::of([])).status(429).set("Retry-After", "0").send(wire),
                3 => Reply::new(&File::of([])).status(403).send(wire),
                4 => normal(file, request, wire),
                _ => moved(302, file, request, wire, "/file"),
            }
        })
        .then(&[Step::Tensor("b")])
        .check(|server| assert_eq!(server.requests()[4].path, "/m")),
        Row::new("a redirect loop", 11, |f, r, w| moved(302, f, r, w, "/m")).fails("more than 10 redirects"),
        Row::new("a redirect without a location", 1, |_, _, wire| {
            Reply::new(&File::of([])).status(302).send(wire)
        })
        .fails("no Location"),
        Row::new("a redirect to another scheme", 1, |f, r, w| moved(302, f, r, w, "file:///etc/passwd"))
            .fails("a redirect is not followed"),
        Row::new("a redirect with a password", 1, |f, r, w| moved(302, f, r, w, "http://a:secret@h/"))
            .fails("a redirect is not followed"),
        Row::new("the token goes to the Hub", 2, |f, r, w| moved(302, f, r, w, "/file"))
            .with(with_token)
            .check(|server| {
                assert_eq!(authorized(server), [true, true]);
                assert_eq!(server.requests()[0].header("authorization"), Some("Bearer hf_secret"));
            }),
        Row::new("the token does not go to another host", 3, |file, request, wire| {
            let to = elsewhere(request, "/file");
            moved(302, file, request, wire, &to)
        })
        .with(with_token)
        .then(&[Step::Tensor("b")])
        .check(|server| assert_eq!(authorized(server), [true, false, false])),
        Row::new("no token for a host that is not the Hub", 1, normal)
            .with(|options, server| {
                with_token(options, server);
                options.hub.endpoint = "http://127.0.0.2:1".into();
            })
            .check(|server| assert_eq!(authorized(server), [false])),
    ]
}

fn status(status: u16, wire: &mut Wire) -> io::Result<()> {
    Reply::new(&File::of("no")).status(status).send(wire)
}

fn busy(seconds: &str, request: &Request, file: &File, wire: &mut Wire) -> io::Result<()> {
    match request.number {
        0 => Reply::new(&File::of([])).status(429).set("Retry-After", seconds).send(wire),
        _ => normal(file, request, wire),
    }
}

fn statuses() -> Vec<Row> {
    vec![
        Row::new("401", 1, |_, _, wire| status(401, wire)).fails("401 Unauthorized$"),
        Row::new("401 of the Hub", 1, |_, _, wire| status(401, wire))
            .with(without_token)
            .fails("401 Unauthorized; the name may be wrong, and a private or gated model needs a token"),
        Row::new("403 of the Hub", 1, |_, _, wire| status(403, wire))
            .with(without_token)
            .fails("403 Forbidden; a private or gated model needs a token in HF_TOKEN"),
        Row::new("401 with a token", 1, |_, _, wire| status(401, wire))
            .with(with_token)
            .fails("the token has no access"),
        Row::new("403", 1, |_, _, wire| status(403, wire)).fails("403 Forbidden"),
        Row::new("403 with a token", 1, |_, _, wire| status(403, wire))
            .with(with_token)
            .fails("the token has no access"),
        Row::new("404", 1, |_, _, wire| status(404, wire)).fails("404 Not Found"),
        Row::new("410", 1, |_, _, wire| status(410, wire)).fails("410 Gone"),
        Row::new("416", 1, |_, _, wire| status(416, wire)).fails("416"),
        Row::new("204", 1, |_, _, wire| wire.write(b"HTTP/1.1 204 No Content\r\n\r\n")).fails("204"),
        Row::new("304", 1, |_, _, wire| wire.write(b"HTTP/1.1 304 Not Modified\r\n\r\n")).fails("304"),
        Row::new("429 with Retry-After of 0", 2, |f, r, w| busy("0", r, f, w)),
        Row::new("429 with a long Retry-After", 1, |f, r, w| busy("3600", r, f, w))
            .fails("asks to wait 3600 s"),
        Row::new("429 without Retry-After, always", 3, |_, _, wire| status(429, wire))
            .fails("429 Too Many Requests (after 3 attempts)"),
        Row::new("500 once", 2, |file, request, wire| {
            if is_first(request) { status(500, wire) } else { normal(file, request, wire) }
        }),
        Row::new("502, then 504", 3, |file, request, wire| match request.number {
            0 => status(502, wire),
            1 => status(504, wire),
            _ => normal(file, request, wire),
        }),
        Row::new("503 always", 3, |_, _, wire| status(503, wire))
            .fails("503 Service Unavailable (after 3 attempts)"),
        Row::new("503 in the middle", 3, |file, request, wire| {
            if request.number == 1 { status(503, wire) } else { normal(file, request, wire) }
        })
        .then(&[Step::Tensor("b")]),
        Row::new("no repetitions", 1, |_, _, wire| status(503, wire))
            .with(|options, _| options.retries = 0)
            .fails("503 Service Unavailable"),
        Row::new("501 is not repeated", 1, |_, _, wire| status(501, wire)).fails("501 Not Implemented"),
    ]
}

/// The right reply, and another one from the second request on.
fn then(
    file: &File,
    request: &Request,
    wire: &mut Wire,
    change: fn(Reply<'_>) -> Reply<'_>,
) -> io::Result<()> {
    let reply = part(file, request);
    if is_first(request) { reply.send(wire) } else { change(reply).send(wire) }
}

fn versioned(file: &File, request: &Request, wire: &mut Wire, name: &str, pair: [&str; 2]) -> io::Result<()> {
    let value = if is_first(request) { pair[0] } else { pair[1] };
    let (first, last) = request.range().unwrap();
    let last = last.min(file.len - 1);
    let reply = Reply::new(file).status(206).bytes(first, last + 1).set(name, value);
    reply.set("Content-Range", &format!("bytes {first}-{last}/{}", file.len)).send(wire)
}

fn changes() -> Vec<Row> {
    const MONDAY: &str = "Mon, 05 Jan 2026 00:00:00 GMT";
    const TUESDAY: &str = "Tue, 06 Jan 2026 00:00:00 GMT";
    let rows = vec![
        Row::new("another ETag", 2, |f, r, w| then(f, r, w, |reply| reply.set("ETag", "\"v2\"")))
            .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("another ETag, and the whole file", 2, |file, request, wire| {
            if is_first(request) {
                return normal(file, request, wire);
            }
            Reply::new(file).set("ETag", "\"v2\"").send(wire)
        })
        .check(|server| assert_eq!(server.requests()[1].header("if-range"), Some("\"v1\"")))
        .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("the same weak ETag", 2, |f, r, w| versioned(f, r, w, "ETag", ["W/\"1\"", "W/\"1\""]))
            .check(|server| assert_eq!(server.requests()[1].header("if-range"), None)),
        Row::new("another weak ETag", 2, |f, r, w| versioned(f, r, w, "ETag", ["W/\"1\"", "W/\"2\""]))
            .fails("its ETag was W/\"1\" and is W/\"2\""),
        Row::new("the same date", 2, |f, r, w| versioned(f, r, w, "Last-Modified", [MONDAY, MONDAY]))
            .check(|server| assert_eq!(server.requests()[1].header("if-range"), Some(MONDAY))),
        Row::new("another date", 2, |f, r, w| versioned(f, r, w, "Last-Modified", [MONDAY, TUESDAY]))
            .fails("its Last-Modified was Mon, 05 Jan"),
        Row::new("neither ETag nor date", 2, |f, r, w| versioned(f, r, w, "X", ["", ""])),
        Row::new("another length", 2, |file, request, wire| {
            let longer = File { len: file.len + u64::from(!is_first(request)), ..file.clone() };
            part(&longer, request).send(wire)
        })
        .fails("its length was 300000 and is 300001"),
        Row::new("stops to support ranges", 2, |file, request, wire| {
            if is_first(request) {
                return normal(file, request, wire);
            }
            Reply::new(file).set("ETag", "\"v1\"").send(wire)
        })
        .fails("its reply was a range and is a whole file"),
        Row::new("another ETag after it broke off", 3, |file, request, wire| match request.number {
            1 => part(file, request).cut(1000).send(wire),
            2 => part(file, request).set("ETag", "\"v2\"").send(wire),
            _ => normal(file, request, wire),
        })
        .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("deleted", 2, |file, request, wire| {
            if is_first(request) { normal(file, request, wire) } else { status(404, wire) }
        })
        .fails("404 Not Found"),
    ];
    rows.into_iter().map(|row| row.then(&[Step::Tensor("b")]).sends(2 * LEN + HEADS)).collect()
}

fn forms() -> Vec<Row> {
    let rows = vec![
        Row::new("chunks", 2, changed(|reply| reply.chunked().pace(777, 0))).over(1),
        Row::new("chunks whose end never comes", 2, |file, request, wire| {
            part(file, request).chunked().cut(u64::MAX - 300_000).send(wire)?;
            wire.hang()
        }),
        Row::new("HTTP/1.0", 2, changed(|reply| reply.protocol("HTTP/1.0"))),
        Row::new(
            "HTTP/1.0 without a length",
            2,
            changed(|reply| reply.protocol("HTTP/1.0").without("Content-Length")),
        ),
        Row::new("no keep-alive", 2, changed(|reply| reply.set("Connection", "close"))).over(2),
        Row::new("an interim reply", 2, |file, request, wire| {
            wire.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n")?;
            normal(file, request, wire)
        }),
        Row::new("the encoding that was requested", 2, |file, request, wire| {
            assert_eq!(request.header("accept-encoding"), Some("identity"));
            part(file, request).set("Content-Encoding", "identity").send(wire)
        }),
        Row::new("headers in other letters", 2, |file, request, wire| {
            let (first, last) = request.range().unwrap();
            let last = last.min(file.len - 1);
            let range = format!("BYTES {first}-{last}/{}", file.len);
            Reply::new(file).status(206).bytes(first, last + 1).set("CONTENT-RANGE", &range).send(wire)
        }),
    ];
    rows.into_iter().map(|row| row.then(&[Step::Tensor("b")]).sends(LEN + 40_000)).collect()
}
