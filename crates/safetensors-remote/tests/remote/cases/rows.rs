//! The table. What only the head of a reply decides is tested beside `exchange`.

use super::{HEADS, LEN, Row, Step};
use crate::server::{File, Reply, Request, Server, Wire, part};
use safetensors_remote::{Hub, Options, Token};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// The most that a socket on loopback takes before the client has read anything.
const SOCKETS: u64 = 12_000_000;
const FIRST: u64 = 100_000;

pub fn all() -> Vec<Row> {
    let parts: [fn() -> Vec<Row>; 11] = [
        good,
        without_ranges,
        wrong_lengths,
        wrong_files,
        lost,
        neighbours,
        no_http,
        slow,
        redirects,
        statuses_and_changes,
        forms,
    ];
    parts.into_iter().flat_map(|rows| rows()).collect()
}

/// What the server does with a request.
type Answer = fn(&File, &Request, &mut Wire) -> io::Result<()>;

/// An answer to each request; the last one to all that follow, too.
fn each<const N: usize>(answers: [Answer; N]) -> impl Fn(&File, &Request, &mut Wire) -> io::Result<()> {
    move |file, request, wire| answers[request.number.min(N - 1)](file, request, wire)
}

fn normal(file: &File, request: &Request, wire: &mut Wire) -> io::Result<()> {
    part(file, request).send(wire)
}

/// The file, whatever the range.
fn whole(file: &File, _: &Request, wire: &mut Wire) -> io::Result<()> {
    Reply::new(file).set("ETag", "\"v1\"").send(wire)
}

fn close(_: &File, _: &Request, wire: &mut Wire) -> io::Result<()> {
    wire.is_closed = true;
    Ok(())
}

fn status<const STATUS: u16>(_: &File, _: &Request, wire: &mut Wire) -> io::Result<()> {
    Reply::new(&File::of("no")).status(STATUS).send(wire)
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

fn good() -> Vec<Row> {
    let all = Step::Tensor("b");
    // The 8 bytes before the header count, too.
    let header = |name, requests, len: usize| {
        let file = File::with_header(8 + len, 5000);
        Row::new(name, requests, normal).file(file).sends(FIRST.max(len as u64) + HEADS)
    };
    let limited = |name, requests, limit: fn(&mut Options, &Server)| {
        let row = Row::new(name, requests, normal).file(File::with_header(8 + 200_000, 5000));
        row.with(limit).then(&[Step::Tensor("a")])
    };
    vec![
        Row::new("only the header", 1, normal).sends(FIRST + HEADS),
        Row::new("a tensor in the first request", 1, normal).then(&[Step::Tensor("a")]).sends(FIRST + HEADS),
        Row::new("a tensor is one request", 2, normal).then(&[all]).over(1),
        Row::new("small reads in sequence", 4, normal).then(&[Step::Pieces(0, LEN, 1000)]).over(1),
        header("the longest header of one request", 1, 99_992),
        header("the shortest header of two requests", 2, 99_993)
            .check(|server| assert_eq!(server.requests()[1].range(), Some((100_000, 100_000))))
            .over(1),
        limited("a header as long as the limit", 3, |options, _| options.max_header = 200_000),
        limited("a header longer than the limit", 1, |options, _| options.max_header = 199_999)
            .fails("claims 200000 bytes, the limit is 199999"),
        Row::new("a file shorter than the first request", 1, normal)
            .file(File::with_header(200, 1000))
            .then(&[Step::Tensor("b"), Step::Tensor("a")]),
        Row::new("reads at far offsets", 3, normal)
            .file(File::with_header(200, 50_000_000))
            .then(&[Step::Pieces(40_000_000, 40_000_100, 100), Step::Pieces(20_000_000, 20_000_100, 100)])
            .sends(FIRST + 2 * 65_536 + HEADS),
        Row::new("claims a tensor of 32 TiB", 2, each([normal, status::<404>]))
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
        Row::new("ignores ranges and breaks off", 2, each([|file, _, wire| cut(120_000, file, wire), whole]))
            .then(&[Step::Tensor("b")])
            .sends(LEN + 120_000 + HEADS),
        // Each repetition begins at the first byte, so it is no progress.
        Row::new("ignores ranges and always breaks off", 3, |file, _, wire| cut(200_000, file, wire))
            .then(&[Step::Tensor("b")])
            .sends(3 * 200_000 + HEADS)
            .fails("(after 3 attempts)"),
        Row::new("ignores ranges, and breaks off later each time", 6, |file, request, wire| {
            cut(70_000 * (request.number as u64 + 1), file, wire)
        })
        .file(File::with_header(200, 400_000))
        .then(&[Step::Tensor("b")])
        .sends(2_000_000),
    ]
}

/// So many bytes of the whole file.
fn cut(len: u64, file: &File, wire: &mut Wire) -> io::Result<()> {
    Reply::new(file).set("ETag", "\"v1\"").cut(len).send(wire)
}

fn wrong_lengths() -> Vec<Row> {
    vec![
        Row::new(
            "fewer bytes than sent",
            1,
            changed(|reply| reply.set("Content-Range", "bytes 0-511/300000")),
        )
        .fails("announced 512 bytes and has 100000"),
        Row::new("a shorter range than requested", 6, |file, request, wire| {
            let first = request.range().unwrap().0;
            let range = format!("bytes {first}-{}/{}", first + 49_999, file.len);
            let reply = Reply::new(file).status(206).bytes(first, first + 50_000);
            reply.set("ETag", "\"v1\"").set("Content-Range", &range).send(wire)
        })
        .then(&[Step::Tensor("b")])
        .sends(LEN + 2 * HEADS),
        Row::new("a total smaller than the header", 1, |file, request, wire| {
            let short = File { len: 1000, ..file.clone() };
            part(&short, request).send(wire)
        })
        .file(File::with_header(5000, 1000))
        .fails("has 1000 bytes, but its header ends at byte 5000"),
        Row::new("chunks with more bytes than the range", 1, changed(|reply| reply.chunked().extra(b"more")))
            .fails("announced 100000 bytes and has 100004"),
        Row::new("chunks with fewer bytes than the range", 3, |file, request, wire| {
            let (first, last) = request.range().unwrap();
            part(file, request).bytes(first, (first + 100).min(last)).chunked().send(wire)
        })
        .fails("the reply ended at byte"),
    ]
}

fn wrong_files() -> Vec<Row> {
    let page = || File::of("<!DOCTYPE html><html><title>Log in</title></html>");
    vec![
        Row::new("a web page", 1, whole).file(page()).fails("a web page instead of the file"),
        Row::new("a web page of unknown length", 1, |file, _, wire| {
            Reply::new(file).chunked().pace(8, 20).send(wire)
        })
        .file(page())
        .fails("a web page instead of the file"),
        Row::new("an empty file", 1, normal).file(File::of([])).fails("the file has 0 bytes"),
        Row::new("an empty whole file", 1, whole).file(File::of([])).fails("the file has 0 bytes"),
        Row::new("a file of 7 bytes", 1, normal).file(File::of([0; 7])).fails("the file has 7 bytes"),
    ]
}

fn lost() -> Vec<Row> {
    let half: Answer = |_, _, wire| {
        wire.is_closed = true;
        wire.write(b"HTTP/1.1 206 Partial Content\r\nContent-Le")
    };
    vec![
        Row::new("closes without a reply, once", 2, each([close, normal])),
        Row::new("closes without a reply, always", 3, close).fails("(after 3 attempts)"),
        Row::new("breaks off in the head", 2, each([half, normal])),
        Row::new("breaks off in the header, once", 2, nth(0, |reply| reply.cut(100)))
            .sends(FIRST + HEADS)
            .check(|server| assert_eq!(server.requests()[1].header("range"), Some("bytes=100-99999"))),
        Row::new("breaks off in the header, always", 3, changed(|reply| reply.cut(10)))
            .fails("(after 3 attempts)"),
        Row::new("breaks off in a tensor, once", 3, nth(1, |reply| reply.cut(50_000)))
            .then(&[Step::Tensor("b")])
            .check(|server| {
                let ranges: Vec<_> =
                    server.requests().iter().map(|request| request.range().unwrap()).collect();
                assert_eq!(ranges, [(0, 99_999), (100_000, 299_999), (150_000, 299_999)]);
            }),
        Row::new("breaks off after each 70,000 bytes", 9, |file, request, wire| {
            let reply = part(file, request);
            if request.number == 0 { reply.send(wire) } else { reply.cut(70_000).send(wire) }
        })
        .file(File::with_header(200, 600_000))
        .sends(600_000 + 2 * HEADS)
        .then(&[Step::Tensor("b")]),
    ]
}

/// Small tensors that share a reply: the third one, after those of the header.
fn neighbours() -> Vec<Row> {
    let third = |row: Row| row.file(File::with_header(150_000, 200_000)).then(&[Step::Neighbours]);
    let hang: Answer =
        |file, request, wire| part(file, request).cut(50).send(wire).and_then(|()| wire.hang());
    let rows = vec![
        Row::new("neighbours are one request", 3, normal).over(1),
        Row::new("closes within neighbours", 4, nth(2, |reply| reply.cut(50_000)))
            .check(|server| assert_eq!(server.requests()[3].range(), Some((200_000, 349_999)))),
        Row::new("ignores ranges: neighbours", 1, whole),
        Row::new("changes before neighbours", 3, nth(2, |reply| reply.set("ETag", "\"v2\"")))
            .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("hangs within neighbours", 5, each([normal, normal, hang]))
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
    let rows = vec![
        Row::new("an endless head", 1, |_, _, wire| {
            wire.write(b"HTTP/1.1 206 Partial Content\r\n")?;
            loop {
                wire.write(b"X-Padding: 0123456789012345678901234567890123456789\r\n")?;
            }
        }),
        Row::new(
            "a head with a line of 1 MB",
            1,
            changed(|reply| reply.set("X-Padding", &"x".repeat(1_000_000))),
        ),
        Row::new(
            "a head of 200 lines",
            1,
            changed(|reply| (0..200).fold(reply, |reply, line| reply.set(&format!("X-{line}"), "x"))),
        ),
    ];
    let mut rows: Vec<Row> =
        rows.into_iter().map(|row| row.sends(SOCKETS).fails("invalid: its head is too long")).collect();
    let mail = Row::new("is no HTTP server", 1, |_, _, wire| {
        wire.is_closed = true;
        wire.write(b"220 mail.example.org ESMTP\r\n\r\n")
    });
    rows.push(mail.fails("invalid"));
    rows
}

fn impatient(options: &mut Options, _: &Server) {
    options.idle_timeout = Duration::from_millis(400);
}

fn slow() -> Vec<Row> {
    let hang: Answer = |_, _, wire| wire.hang();
    let rows = vec![
        Row::new("hangs before the head", 3, hang).fails("too slow"),
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
        Row::new("hangs once", 2, each([hang, normal])),
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

fn redirects() -> Vec<Row> {
    let moved: Answer = |file, request, wire| match request.path.as_str() {
        "/file" => normal(file, request, wire),
        _ => Reply::new(&File::of([])).status(302).set("Location", "./x/../file").send(wire),
    };
    let expired: Answer = |_, _, wire| Reply::new(&File::of([])).status(403).send(wire);
    let busy: Answer = |_, _, wire| Reply::new(&File::of([])).status(429).set("Retry-After", "0").send(wire);
    let rows = vec![
        Row::new("a redirect is remembered", 3, moved)
            .check(|server| assert_eq!(server.requests()[2].path, "/file")),
        Row::new("a remembered redirect expires", 4, each([moved, moved, expired, normal]))
            .check(|server| assert_eq!(server.requests()[3].path, "/m")),
        Row::new("it expires after it was busy", 5, each([moved, moved, busy, expired, normal]))
            .check(|server| assert_eq!(server.requests()[4].path, "/m")),
        Row::new("the token does not go to another host", 3, |file, request, wire| {
            let elsewhere = request.header("host").unwrap().replace("127.0.0.1", "127.0.0.2");
            match request.number {
                0 => Reply::new(&File::of([]))
                    .status(307)
                    .set("Location", &format!("http://{elsewhere}/file"))
                    .send(wire),
                _ => normal(file, request, wire),
            }
        })
        .with(|options, server| {
            let (endpoint, token) = (server.url(""), Token::new("hf_secret"));
            options.hub = Hub { endpoint, token, ..Hub::default() };
        })
        .check(|server| {
            let tokens: Vec<_> =
                server.requests().iter().map(|it| it.header("authorization").map(str::to_owned)).collect();
            assert_eq!(tokens, [Some("Bearer hf_secret".to_owned()), None, None]);
        }),
    ];
    rows.into_iter().map(|row| row.then(&[Step::Tensor("b")])).collect()
}

fn statuses_and_changes() -> Vec<Row> {
    let cut: Answer = |file, request, wire| part(file, request).cut(1000).send(wire);
    let other: Answer = |file, request, wire| part(file, request).set("ETag", "\"v2\"").send(wire);
    let other_whole: Answer = |file, _, wire| Reply::new(file).set("ETag", "\"v2\"").send(wire);
    let rows = vec![
        Row::new("204", 1, |_, _, wire| wire.write(b"HTTP/1.1 204 No Content\r\n\r\n")).fails("204"),
        Row::new("502, then 504", 4, each([status::<502>, status::<504>, normal])),
        Row::new("503 always", 3, status::<503>).fails("503 Service Unavailable (after 3 attempts)"),
        Row::new("503 in the middle", 3, each([normal, status::<503>, normal])),
        Row::new("another ETag", 2, each([normal, other])).fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("another ETag, and the whole file", 2, each([normal, other_whole]))
            .check(|server| assert_eq!(server.requests()[1].header("if-range"), Some("\"v1\"")))
            .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("neither ETag nor date", 2, changed(|reply| reply.without("ETag"))),
        Row::new("stops to support ranges", 2, each([normal, whole]))
            .fails("its reply was a range and is a whole file"),
        Row::new("another ETag after it broke off", 3, each([normal, cut, other]))
            .fails("its ETag was \"v1\" and is \"v2\""),
        Row::new("deleted", 2, each([normal, status::<404>])).fails("404 Not Found"),
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
    ];
    rows.into_iter().map(|row| row.then(&[Step::Tensor("b")]).sends(LEN + 40_000)).collect()
}
