//! Servers that are slow, hostile or old: without ranges, without a length, without an end.

use super::{Place, Server, file, large, part, run, serve, tensor};
use crate::remote::server::{File, Reply};
use crate::support::{self, sound};
use std::fs;
use std::process::Stdio;
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
            assert_eq!((one.code, one.out), (other.code, other.out.replace(&url, "m")), "{command}");
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
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 0);
}

/// A file that is too long to be kept, from a server that sends it only from its beginning.
#[test]
fn a_long_file_without_ranges_is_read_in_sequence() {
    let tensors: Vec<String> =
        (0..9).map(|i| tensor(&format!("t{i}"), i * 2_000_000, (i + 1) * 2_000_000)).collect();
    let header = format!("{{{}}}", tensors.join(",")).replace("U8", "F8_E4M3");
    let data: Vec<u8> = (0..18_000_000_u32).map(|at| (at % 251).to_le_bytes()[0] & 0x3F).collect();
    let model = file(header, &data);
    let (served, place) = (File::of(model.clone()), Place::new());
    let server = Server::new(move |_, wire| Reply::new(&served).set("ETag", "\"v1\"").send(wire));
    place.put("m", &model);
    let url = server.url("/m");
    let commands = [&["hash"][..], &["hash", "--json"], &["check", "--finite"], &["lint"]];
    for (number, args) in commands.into_iter().enumerate() {
        let [local, remote] = ["m", &url].map(|model| run(&place, &[args, &[model]].concat(), &[]));
        assert_eq!((local.code, local.out), (remote.code, remote.out.replace(&url, "m")), "{args:?}");
        assert_eq!(server.requests().len(), number + 1, "{args:?}");
    }
    assert_eq!(run(&place, &["convert", &url, "out.safetensors"], &[]).code, Some(0));
}

/// The sums of tensors in any order of the header, also of empty ones, with one request for the data.
#[test]
fn sums_of_tensors_are_those_of_a_local_file() {
    let header = format!(
        r#"{{{},{},"none":{{"dtype":"U8","shape":[0],"data_offsets":[70000,70000]}},{},{}}}"#,
        tensor("d", 200_000, 200_001),
        tensor("b", 70_000, 200_000),
        tensor("c", 200_001, 450_000),
        tensor("a", 0, 70_000),
    );
    let model = file(header, &(0..450_000_u32).map(|at| (at % 249).to_le_bytes()[0]).collect::<Vec<_>>());
    let (server, place) = (serve([("/m", model.clone())]), Place::new());
    place.put("m", &model);
    let url = server.url("/m");
    for option in ["--tensors", "--json"] {
        let before = server.requests().len();
        let [local, remote] = ["m", &url].map(|model| run(&place, &["hash", option, model], &[]));
        assert_eq!((local.code, &local.out), (Some(0), &remote.out.replace(&url, "m")));
        assert_eq!(server.requests().len() - before, 2, "the header and the data");
    }
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
        let mut command = place.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        support::until("it asks for data", || {
            let requests = server.requests();
            requests[before..].iter().any(|request| request.range().is_some_and(|(first, _)| first > 0))
        });
        std::thread::sleep(Duration::from_millis(100));
        let started = Instant::now();
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{args:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "safetensors: interrupted\n");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        // Nothing is repeated: one request for each thread, and for each header.
        assert!(server.requests().len() - before <= 2 + 2 * cores, "{args:?}");
    }
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 0);
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
