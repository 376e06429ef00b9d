//! What servers do wrong, and the sentence about it.

use super::{File, Place, Reply, Server, file, large, part, run, serve, sound, tensor};
use crate::remote::server::{Request, Wire};
use crate::support::{Row, model};
use std::io;

type Serve = fn(&File, &Request, &mut Wire) -> io::Result<()>;

/// A busy server is asked again at once if it says so, and a silent one after `--server-timeout`.
#[test]
fn requests_are_repeated() {
    let model = File::of(sound());
    let server = Server::new(move |request, wire| match (request.path.as_str(), request.number) {
        ("/busy", _) => Reply::new(&model).status(503).set("Retry-After", "0").send(wire),
        (_, 5) => wire.hang(),
        _ => part(&model, request).send(wire),
    });
    let (place, busy, slow) = (Place::new(), server.url("/busy"), server.url("/slow"));
    let sentence = "the server answers 503 Service Unavailable (after 5 attempts); try again later";
    run(&place, &["check", &busy], &[]).is(2, "", &format!("{busy}: {sentence}\n"));
    let run = run(&place, &["check", "--server-timeout", "1", &slow], &[]);
    assert!(run.code == Some(0) && run.out.starts_with(&format!("{slow}: ok, 2 tensors")), "{run:?}");
    assert_eq!(server.requests().len(), 7);
}

/// All commands print the same sentence about what a server does wrong, and leave nothing.
#[test]
fn every_command_reports_a_bad_server_in_one_sentence() {
    let bad: [(Serve, &str); 5] = [
        (|file, _, wire| Reply::new(file).status(404).send(wire), "the server answers 404 Not Found"),
        (|file, _, wire| Reply::new(file).status(403).send(wire), "the server answers 403 Forbidden"),
        (|file, _, wire| Reply::new(file).status(501).send(wire), "the server answers 501 Not Implemented"),
        (
            |file, request, wire| part(file, request).set("Content-Encoding", "gzip").send(wire),
            "the reply of the server is invalid: it is compressed (\"gzip\"), which was not requested",
        ),
        (
            |file, request, wire| part(file, request).without("Content-Range").send(wire),
            "the reply of the server is invalid: 206 without Content-Range",
        ),
    ];
    for (serve, sentence) in bad {
        let model = File::of(sound());
        let (server, place) = (Server::new(move |request, wire| serve(&model, request, wire)), Place::new());
        place.put("sound", &sound());
        let url = server.url("/m");
        for case in super::commands() {
            let args = case.args(&url);
            let found = run(&place, &args.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
            found.is(2, "", &format!("{url}: {sentence}\n"));
        }
        assert_eq!(place.names("."), ["sound"]);
    }
}

/// The header arrives, the connection is lost in the middle of the data, and then the server has a failure.
#[test]
fn a_dropped_connection_leaves_nothing() {
    let commands: [&[&str]; 4] = [
        &["convert", "URL", "out.safetensors"],
        &["slice", "URL", "m=", "-o", "out"],
        &["split", "URL", "-o", "out", "--max-size", "1MB"],
        &["cat", "URL", "m", "-o", "out.npy"],
    ];
    std::thread::scope(|scope| {
        for args in commands {
            scope.spawn(move || {
                let model = File::of(large());
                let server = Server::new(move |request, wire| match request.number {
                    0 => part(&model, request).send(wire),
                    1 => part(&model, request).cut(1000).send(wire),
                    _ => Reply::new(&model).status(503).set("Retry-After", "0").send(wire),
                });
                let (place, url) = (Place::new(), server.url("/m.safetensors"));
                let args: Vec<&str> =
                    args.iter().map(|arg| if *arg == "URL" { &url } else { *arg }).collect();
                let run = run(&place, &args, &[]);
                assert_eq!((run.code, run.err.lines().count()), (Some(2), 1), "{run:?}");
                assert!(run.err.contains("503 Service Unavailable (after 5 attempts)"), "{run:?}");
                assert!(place.names(".").is_empty() && server.requests().len() >= 6, "{args:?}");
            });
        }
    });
}

#[test]
fn a_file_that_changes_is_an_error() {
    let model = File::of(large());
    let server = Server::new(move |request, wire| match request.range() {
        Some((0, _)) => part(&model, request).send(wire),
        _ => part(&model, request).set("ETag", "\"v2\"").send(wire),
    });
    let place = Place::new();
    let run = run(&place, &["slice", &server.url("/m"), "m=", "-o", "out"], &[]);
    assert!(run.code == Some(2) && run.err.contains("the file changed while it was read"), "{run:?}");
    assert!(!place.path("out").exists());
}

#[test]
fn the_limit_of_a_header_can_be_changed() {
    let spaces = " ".repeat(200_000);
    let server = serve([("/m", file(format!("{{{}}}{spaces}", tensor("a", 0, 2)), b"ab"))]);
    let (place, url) = (Place::new(), server.url("/m"));
    let refused = run(&place, &["check", &url, "--max-header", "100KB"], &[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("the limit is 100000; --max-header"), "{refused:?}");
    let before = server.requests().len();
    assert_eq!(run(&place, &["--max-header", "300000", "check", &url], &[]).code, Some(0));
    assert_eq!(server.requests().len() - before, 2);
}

/// The server claims a tensor that no memory could hold a list of the pieces of.
#[test]
fn a_claimed_size_takes_no_memory() {
    let len = 1_u64 << 58;
    for (dtype, elements) in [("F16", len / 2), ("F64", len / 8)] {
        let header =
            format!(r#"{{"a":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[0,{len}]}}}}"#);
        let model = File::new(&header, len);
        let server = Server::new(move |request, wire| match request.range() {
            Some((0, _)) => part(&model, request).send(wire),
            _ => Reply::new(&File::of("not found")).status(404).send(wire),
        });
        let (place, url) = (Place::new(), server.url("/m"));
        let sentence = format!("{url}: the server answers 404 Not Found\n");
        for args in [&["stats"][..], &["check", "--finite"], &["report", "-o", "page.html"]] {
            run(&place, &[args, &[&url]].concat(), &[]).is(2, "", &sentence);
        }
    }
}

/// More than a client keeps of what it has skipped, in tensors of dtypes that alternate, from a server that
/// sends a file only from its beginning.
#[test]
fn a_long_file_without_ranges_is_read_in_sequence() {
    let (mut rows, mut begin) = (Vec::new(), 0_u32);
    for (number, len) in [6_000_000, 4000, 6_000_000, 4000, 4_100_000].iter().enumerate() {
        let (dtype, width) = if number % 2 == 0 { ("F32", 4) } else { ("BF16", 2) };
        let data = (begin..begin + len).map(|at| (at * 31 % 61).to_le_bytes()[0]);
        rows.push((["a", "b", "c", "d", "e"][number], dtype, [u64::from(len / width)], data.collect()));
        begin += len;
    }
    let rows: Vec<Row<'_>> = rows
        .iter()
        .map(|(name, dtype, shape, data): &(_, _, _, Vec<u8>)| (*name, *dtype, &shape[..], data.clone()))
        .collect();
    let bytes = model(r#"{"format":"pt"}"#, &rows);
    let (served, place) = (File::of(bytes.clone()), Place::new());
    place.put("m", &bytes);
    let server = Server::new(move |_, wire| Reply::new(&served).set("ETag", "\"v1\"").send(wire));
    let url = server.url("/m");
    for args in [&["stats"][..], &["check", "--finite"], &["lint"], &["hash"], &["hash", "--json"]] {
        let before = server.requests().len();
        let [local, remote] = ["m", &url].map(|model| run(&place, &[args, &[model]].concat(), &[]));
        assert_eq!(local.out, remote.out.replace(&url, "m"), "{args:?}");
        assert_eq!((remote.code, remote.err.as_str()), (local.code, ""), "{args:?}");
        assert_eq!(server.requests().len(), before + 1, "{args:?}");
    }
    assert_eq!(run(&place, &["convert", &url, "out.safetensors"], &[]).code, Some(0));
}

/// Six tensors of elements of 4 bits, which are more together than 64 bits can count.
#[test]
fn sums_of_many_elements_are_exact() {
    let (elements, each) = (4_600_000_000_000_000_000_u64, 2_300_000_000_000_000_000_u64);
    let entry = |number: u64| {
        let (begin, end) = (number * each, (number + 1) * each);
        format!(r#""l.{number}":{{"dtype":"F4","shape":[{elements}],"data_offsets":[{begin},{end}]}}"#)
    };
    let header = format!("{{{}}}", (0..6).map(entry).collect::<Vec<_>>().join(","));
    let model = File::new(&format!("{header}{}", " ".repeat(100_000)), 6 * each);
    let server = Server::new(move |request, wire| part(&model, request).send(wire));
    let (place, url) = (Place::new(), server.url("/m"));
    for (args, sum) in [
        (&["inspect"][..], "parameters: 27,600,000,000,000,000,000: F4 27,600,000,000,000,000,000\n"),
        (&["inspect", "--dtypes"], "27,600,000,000,000,000,000 parameters of F4, 13.8 EB\n"),
        (&["inspect", "--tree"], "  27600000000000000000  13.8 EB\n"),
        (&["inspect", "--json"], "\"parameters\":27600000000000000000,"),
        (&["inspect", "--json", "--tree"], "\"parameters\":27600000000000000000,"),
    ] {
        let run = run(&place, &[args, &[&url]].concat(), &[]);
        assert!(run.code == Some(0) && run.out.contains(sum), "{args:?}: {run:?}");
    }
}
