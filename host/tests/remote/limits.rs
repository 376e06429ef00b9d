//! Servers that are slow, hostile or old: without ranges, without a length, without an end.

use super::{Place, Server, file, large, part, run, serve, tensor};
use crate::remote::server::{File, Reply};
use crate::support::{self, sound};
use std::time::{Duration, Instant};

/// A server that sends only whole files, in chunks, and so without their length.
fn chunked(model: Vec<u8>) -> Server {
    let model = File::of(model);
    Server::new(move |_, wire| Reply::new(&model).chunked().send(wire))
}

#[test]
fn a_length_that_no_one_tells_is_counted() {
    let whole = file(format!("{{{}}}", tensor("a", 0, 900_000)), &vec![7; 900_000]);
    let (short, long) = (whole[..500_000].to_vec(), [&whole[..], b"x"].concat());
    for model in [&whole, &short, &long] {
        let (place, server) = (Place::new(), chunked(model.clone()));
        place.put("m", model);
        let url = server.url("/m");
        for command in ["check", "inspect"] {
            let (one, other) = (place.run([command, "m"]), run(&place, &[command, &url], &[]));
            let said = one.out.replace("continues for 1 byte", "continues");
            assert_eq!((one.code, said), (other.code, other.out.replace(&url, "m")), "{command}");
        }
        if *model == whole {
            assert_eq!(server.requests().len(), 2, "one for each command");
        }
    }
}

#[test]
fn data_that_ends_too_early_leaves_nothing() {
    let whole = file(format!("{{{}}}", tensor("a", 0, 900_000)), &vec![7; 900_000]);
    let (server, place) = (chunked(whole[..500_000].to_vec()), Place::new());
    let url = server.url("/m");
    for args in [
        &["convert", &url, "out.npz"][..],
        &["slice", &url, "a=", "-o", "out"],
        &["hash", &url],
        &["hash", "--tensors", &url],
    ] {
        let run = run(&place, args, &[]);
        let sentence = format!(
            "{url}: cannot be read: it ends at byte 500000, but has {} bytes by its header\n",
            whole.len()
        );
        run.is(2, "", &sentence);
    }
    assert!(place.names(".").is_empty());
}

#[test]
fn ctrl_c_ends_a_wait_for_a_server() {
    let model = File::of(large());
    let server = Server::new(move |request, wire| match request.range() {
        Some((0, _)) => part(&model, request).send(wire),
        _ => part(&model, request).cut(1000).send(wire).and_then(|()| wire.hang()),
    });
    let (place, url) = (Place::new(), server.url("/m.safetensors"));
    let cores = std::thread::available_parallelism().expect("a number").get();
    for args in [
        &["hash", &url][..],
        &["hash", "--tensors", &url],
        &["convert", &url, "out.safetensors"],
        &["slice", &url, "m=", "-o", "out"],
        &["split", &url, "-o", "out", "--max-size", "1MB"],
        &["pack", &url, "-o", "out"],
        &["checkpoint", "out", &url],
        &["cat", &url, "m", "-o", "out.npy"],
        &["emit", &url, "--prefix", "m"],
        &["stats", &url],
        &["diff", &url, &url],
    ] {
        let before = server.requests().len();
        let child = place.command(args).spawn().expect("it starts");
        support::until("it asks for data", || {
            let requests = server.requests();
            requests[before..].iter().any(|request| request.range().is_some_and(|(first, _)| first > 0))
        });
        std::thread::sleep(Duration::from_millis(100));
        let started = Instant::now();
        support::interrupted(child, "-INT").is(130, "", "safetensors: interrupted\n");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        // Nothing is repeated: one request for each thread, and for each header.
        assert!(server.requests().len() - before <= 2 + 2 * cores, "{args:?}");
    }
    assert!(place.names(".").is_empty());
}

#[test]
fn the_time_without_a_byte_has_a_limit() {
    let (server, place) = (serve([("/m", sound())]), Place::new());
    let url = server.url("/m");
    for (seconds, code) in [("0", 2), ("86401", 2), ("18446744073709551615", 2), ("1", 0), ("86400", 0)] {
        let run = run(&place, &["check", &url, "--server-timeout", seconds], &[]);
        assert_eq!(run.code, Some(code), "{seconds}: {run:?}");
    }
}
