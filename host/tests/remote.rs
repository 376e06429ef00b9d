//! Models on servers: every command reads them as files, with few requests, and every error of a server is
//! one sentence.
#![cfg(unix)]

#[allow(dead_code, unused_imports, reason = "the tests of the library use the rest")]
#[path = "../../crates/safetensors-remote/tests/remote/server/mod.rs"]
mod server;

mod behaviours;
mod config;
mod hub;
mod limits;

use crate::every_command::{Case, cases};
use crate::support::{Place, Run, file, finish, sound, tensor};
pub use server::Server;
use server::{File, Reply, part};
use std::collections::HashMap;
use std::fs;

/// Runs a command without the tokens, caches and proxies of this computer.
fn run(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = place.command(args);
    let unset = ["HF_TOKEN", "HF_ENDPOINT", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN_PATH"];
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    for name in unset.iter().chain(&proxies) {
        command.env_remove(name);
    }
    command.env("HF_HOME", place.path("hf")).envs(variables.iter().copied());
    finish(&mut command)
}

/// A server with these files; all others are missing.
pub fn serve<'n>(files: impl IntoIterator<Item = (&'n str, Vec<u8>)>) -> Server {
    let files: HashMap<String, File> =
        files.into_iter().map(|(name, bytes)| (name.to_owned(), File::of(bytes))).collect();
    Server::new(move |request, wire| match files.get(request.path.split('?').next().unwrap_or("")) {
        Some(file) => part(file, request).send(wire),
        None => Reply::new(&File::of("not found")).status(404).send(wire),
    })
}

/// The ranges that were requested.
fn ranges(server: &Server) -> Vec<(u64, u64)> {
    server.requests().iter().filter_map(server::Request::range).collect()
}

/// A model of a matrix with 1000 rows of 1000 bytes, after a vector of 200,000 bytes.
fn large() -> Vec<u8> {
    let matrix = r#""m":{"dtype":"U8","shape":[1000,1000],"data_offsets":[200000,1200000]}"#;
    let data: Vec<u8> = (0..1_200_000_u32).map(|at| (at * 7 % 251).to_le_bytes()[0]).collect();
    file(format!("{{{},{matrix}}}", tensor("a", 0, 200_000)), &data)
}

/// The commands that read any model; those for chips read it as `emit` does.
pub fn commands() -> impl Iterator<Item = Case> {
    cases().into_iter().filter(|case| !matches!(case.name, "fit" | "flash"))
}

#[test]
fn every_command_reads_a_url_as_a_file() {
    let server = serve([("/sound", sound())]);
    let url = server.url("/sound");
    for (case, json) in commands().flat_map(|case| [(case, false), (case, true)]) {
        let [local, remote] = ["sound", &url].map(|model| {
            let place = Place::new();
            place.put("sound", &sound());
            let mut args = case.args(model);
            args.extend(json.then(|| "--json".to_owned()));
            let run = run(&place, &args.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
            (run, case.makes.map(|name| fs::read(place.path(name)).ok()))
        });
        // What has the name of the model in it, or nothing of it.
        let named = |text: &str| text.replace(&url, "sound").replace("safetensors-emit from m", "");
        let (name, is_named) = (case.name, ["emit", "report"].contains(&case.name));
        assert!(is_named || local.1 == remote.1, "{name}: {remote:?}");
        assert_eq!(local.0.code, remote.0.code, "{name}: {remote:?}");
        assert_eq!(local.0.out, named(&remote.0.out), "{name}");
        assert_eq!(local.0.err, named(&remote.0.err), "{name}");
    }
}

#[test]
fn invalid_files_are_reported_as_local_ones() {
    let short = sound()[..sound().len() - 1].to_vec();
    let torn = file(format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 3, 5)), b"abcde");
    let too_long = [&100_000_001_u64.to_le_bytes()[..], b"{}"].concat();
    let cut = sound()[..20].to_vec();
    let tiny = b"abc".to_vec();
    let files = [("/short", short), ("/torn", torn), ("/too-long", too_long), ("/cut", cut), ("/tiny", tiny)];
    let server = serve(files.clone());
    let place = Place::new();
    for (name, bytes) in files {
        let local = name.trim_start_matches('/');
        place.put(local, &bytes);
        let url = server.url(name);
        for command in ["check", "inspect", "stats", "lint"] {
            let (one, other) = (place.run([command, local]), run(&place, &[command, &url], &[]));
            assert_eq!((one.code, one.out), (other.code, other.out.replace(&url, local)), "{command} {name}");
        }
    }
}

#[test]
fn a_header_is_one_request_and_a_slice_reads_only_its_rows() {
    let (server, place) = (serve([("/m.safetensors", large())]), Place::new());
    let (url, start) = (server.url("/m.safetensors"), large().len() as u64 - 1_000_000);
    let floats = file(r#"{"f":{"dtype":"F16","shape":[100,500],"data_offsets":[0,100000]}}"#, &[0; 100_000]);
    let of_floats = serve([("/m.safetensors", floats)]);
    for command in ["check", "inspect", "lint"] {
        let (before, url) = (of_floats.requests().len(), of_floats.url("/m.safetensors"));
        let run = run(&place, &[command, &url], &[]);
        assert_eq!(run.code, Some(i32::from(command == "lint")), "{run:?}");
        assert!(run.out.starts_with(&format!("{url}: ")), "{run:?}");
        assert_eq!(of_floats.requests().len() - before, 1, "{command}");
    }
    let (requests, sent) = (server.requests().len(), server.sent());
    assert_eq!(run(&place, &["slice", &url, "m=300:310", "-o", "out"], &[]).code, Some(0));
    assert!(fs::read(place.path("out")).expect("an output").ends_with(&data(&large(), start, 300..310)));
    assert_eq!(ranges(&server)[requests..], [(0, 99_999), (start + 300_000, start + 309_999)]);
    assert!(server.sent() - sent < 111_000, "{}", server.sent() - sent);
    // Rows that are far from each other are requested one by one.
    let requests = server.requests().len();
    assert_eq!(run(&place, &["slice", &url, "m=100::400,5:7", "-o", "out", "--force"], &[]).code, Some(0));
    let rows = [100, 500, 900].map(|row| (start + row * 1000 + 5, start + row * 1000 + 6));
    assert_eq!(ranges(&server)[requests + 1..], rows);
    // Columns are read with what is between them.
    let requests = server.requests().len();
    let cat = ["cat", &url, "m", "--slice", ":,7", "--format", "raw", "-o", "column"];
    assert_eq!(run(&place, &cat, &[]).code, Some(0));
    assert_eq!(ranges(&server)[requests + 1..], [(start + 7, start + 999_007)]);
    let whole = data(&large(), start, 0..1000);
    let expected: Vec<u8> = whole.chunks(1000).map(|row| row[7]).collect();
    assert!(fs::read(place.path("column")).expect("an output") == expected);
}

/// Rows of 1000 bytes.
fn data(model: &[u8], start: u64, rows: std::ops::Range<usize>) -> Vec<u8> {
    let start = usize::try_from(start).expect("a short file");
    model[start + rows.start * 1000..start + rows.end * 1000].to_vec()
}

#[test]
fn a_tensor_is_one_request() {
    let (server, place) = (serve([("/m.safetensors", large())]), Place::new());
    let (url, start) = (server.url("/m.safetensors"), large().len() as u64 - 1_000_000);
    for args in [
        &["convert", &url, "out.safetensors", "--force"][..],
        &["pack", &url, "-o", "out.safetensors", "--force"],
        &["cat", &url, "m", "--format", "raw", "-o", "out.raw", "--force"],
    ] {
        let before = server.requests().len();
        assert_eq!(run(&place, args, &[]).code, Some(0), "{args:?}");
        let mut asked = ranges(&server)[before..].to_vec();
        assert_eq!(asked.pop(), Some((start, start + 999_999)), "{args:?}");
        assert!(asked.len() <= 2, "{args:?}: {asked:?}");
    }
    // The beginning of a tensor does not cost the rest.
    let sent = server.sent();
    run(&place, &["cat", &url, "m", "--limit", "3"], &[]);
    assert!(server.sent() - sent < 170_000, "{}", server.sent() - sent);
}

/// The header has more than 100,000 bytes, and so two requests.
#[test]
fn many_small_tensors_are_one_request() {
    let of =
        |number: u64| tensor(&format!("model.layers.{number:05}.weight"), number * 400, (number + 1) * 400);
    let header = format!("{{{}}}", (0..1500).map(of).collect::<Vec<_>>().join(",")).replace("U8", "F32");
    let header = header.replace("[400]", "[100]");
    let data: Vec<u8> = (0..150_000_u32).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let other: Vec<u8> = (0..150_000_u32).flat_map(|at| (at as f32 + 1.0).to_le_bytes()).collect();
    let model = file(&header, &data);
    let (server, place) = (serve([("/m.safetensors", model.clone())]), Place::new());
    place.put("m.safetensors", &model).put("other.safetensors", &file(&header, &other));
    let url = server.url("/m.safetensors");
    for args in [
        &["convert", &url, "half.safetensors", "--to", "F16", "--saturate"][..],
        &["pack", &url, "-o", "out.safetensors"],
        &["diff", &url, "m.safetensors"],
        &["diff", &url, "other.safetensors"],
        &["stats", &url],
        &["check", "--finite", &url],
    ] {
        let (requests, sent) = (server.requests().len(), server.sent());
        let run = run(&place, args, &[]);
        assert!(run.code < Some(2), "{args:?}: {run:?}");
        let (requests, sent) = (server.requests().len() - requests, server.sent() - sent);
        assert!(
            requests <= 3 && sent <= model.len() as u64 + 2000,
            "{args:?}: {requests} requests, {sent} bytes"
        );
    }
    assert!(fs::read(place.path("out.safetensors")).expect("an output").ends_with(&data));
}

#[test]
fn threads_share_a_file() {
    let mut tensors: Vec<String> =
        (0..40).rev().map(|i| tensor(&format!("t{i}"), i * 50_000, (i + 1) * 50_000)).collect();
    tensors.insert(7, tensor("none", 50_000, 50_000));
    let data: Vec<u8> = (0..2_000_000_u32).map(|at| (at % 1009 * 31 % 253).to_le_bytes()[0]).collect();
    let model = file(format!("{{{}}}", tensors.join(",")), &data);
    let (server, place) = (serve([("/m.safetensors", model.clone())]), Place::new());
    place.put("m.safetensors", &model);
    let url = server.url("/m.safetensors");
    for command in ["stats", "hash --tensors", "hash --json", "lint", "decode"] {
        let before = server.requests().len();
        let [local, remote] = ["m.safetensors", &url]
            .map(|model| run(&place, &format!("{command} {model}").split(' ').collect::<Vec<_>>(), &[]));
        assert_eq!(local.out, remote.out.replace(&url, "m.safetensors"), "{command}");
        assert!(!command.starts_with("hash") || server.requests().len() - before == 2, "{command}");
    }
}

#[test]
fn a_url_is_no_output() {
    let (server, place) = (serve([("/sound", sound())]), Place::new());
    place.put("sound", &sound());
    let (url, other) = (server.url("/sound"), server.url("/out.safetensors"));
    for args in [
        &["slice", "sound", "a=", "-o", &other][..],
        &["convert", "sound", &other],
        &["pack", "sound", "-o", &other],
        &["pack", "--in-place", &url, "--set", "a=b"],
        &["split", "sound", "-o", &other, "--max-size", "3"],
        &["checkpoint", &other, "sound"],
        &["report", "sound", "-o", &other],
        &["emit", "sound", "-o", &other],
        &["hash", "--embed", &url],
        &["set", &url, "a", "sound"],
    ] {
        let run = run(&place, args, &[]);
        let url = args.iter().find(|arg| arg.starts_with("http")).expect("a URL");
        run.is(2, "", &format!("{url}: a URL cannot be written to; give a file\n"));
    }
}
