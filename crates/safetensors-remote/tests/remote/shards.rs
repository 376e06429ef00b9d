//! Models in several files.

use crate::act::look;
use crate::cases::options;
use crate::hub::{at, serve};
use crate::server::{File, Reply, Server, part};
use safetensors_remote::{Options, RemoteErrorKind};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

/// A shard with so many tensors, whose names begin with this text.
fn shard(prefix: &str, tensors: usize) -> File {
    let mut header = String::from("{");
    for number in 0..tensors {
        let comma = if number == 0 { "" } else { "," };
        let (begin, end) = (number, number + 1);
        write!(
            header,
            r#"{comma}"{prefix}{number}":{{"dtype":"U8","shape":[1],"data_offsets":[{begin},{end}]}}"#
        )
        .unwrap();
    }
    File::new(&(header + "}"), tensors as u64)
}

/// An index of shards and the beginnings of their tensors' names.
fn index(shards: &[(&str, &str)], tensors: usize) -> File {
    let mut text = String::from(r#"{"metadata":{},"weight_map":{"#);
    for (number, (name, prefix)) in shards.iter().enumerate() {
        for tensor in 0..tensors {
            let comma = if number + tensor == 0 { "" } else { "," };
            write!(text, r#"{comma}"{prefix}{tensor}":"{name}""#).unwrap();
        }
    }
    File::of(text + "}}")
}

const INDEX: &str = "/o/n/resolve/main/model.safetensors.index.json";

fn url(name: &str) -> String {
    format!("/o/n/resolve/main/{name}")
}

#[test]
fn a_model_in_two_files() {
    let list = [("s1.safetensors", "a"), ("s2.safetensors", "b")];
    let files = vec![(INDEX, index(&list, 3))];
    let paths = list.map(|(name, _)| url(name));
    let shards = paths.iter().zip(list).map(|(path, (_, prefix))| (path.as_str(), shard(prefix, 3)));
    let server = serve(files.into_iter().chain(shards).collect());
    let seen = look(at(&server), "hf://o/n").unwrap();
    assert_eq!(seen.files, ["s1.safetensors", "s2.safetensors"]);
    assert_eq!((seen.tensors, seen.parameters), (6, 6));
    // The file, the index, two shards, the configuration.
    assert_eq!(server.requests().len(), 5);
    assert_eq!(look(options(), &server.url(INDEX)).unwrap().tensors, 6);
}

#[test]
fn an_index_has_a_limit() {
    let list = index(&[("s1.safetensors", "a")], 20);
    for length_is_known in [true, false] {
        let file = list.clone();
        let server = Server::new(move |request, wire| match length_is_known {
            true => part(&file, request).send(wire),
            false => Reply::new(&file).chunked().send(wire),
        });
        let limited = Options { max_index: list.len - 1, ..options() };
        let error = look(limited, &server.url("/m.safetensors.index.json")).unwrap_err();
        assert!(matches!(error.kind(), RemoteErrorKind::TooLarge { .. }), "{error}");
    }
}

/// A byte now and then is no silence, but there is a limit for all of a text.
#[test]
fn a_text_that_drips_has_a_limit() {
    let brief = |options| Options { header_timeout: Duration::from_millis(700), ..options };
    let list = index(&[("s1.safetensors", "a")], 20);
    let server = Server::new(move |request, wire| part(&list, request).pace(1, 10).send(wire));
    let error = look(brief(options()), &server.url("/m.safetensors.index.json")).unwrap_err().to_string();
    assert!(error.contains("waited 0.7 s for the index"), "{error}");
    let (model, config) = (shard("a", 1), File::of(" ".repeat(1000)));
    let server = Server::new(move |request, wire| match request.path.as_str() {
        "/m" => part(&model, request).send(wire),
        _ => part(&config, request).pace(1, 10).send(wire),
    });
    let error = look(brief(options()), &server.url("/m")).unwrap_err().to_string();
    assert!(error.contains("waited 0.7 s for config.json"), "{error}");
}

#[test]
fn headers_are_read_in_parallel_with_a_limit() {
    let names: Vec<String> = (0..24).map(|number| format!("s{number}.safetensors")).collect();
    let prefixes: Vec<String> = (0..24).map(|number| format!("t{number}.")).collect();
    let list: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(prefixes.iter().map(String::as_str)).collect();
    let mut files: HashMap<String, File> =
        list.iter().map(|(name, prefix)| (url(name), shard(prefix, 2))).collect();
    files.insert(INDEX.into(), index(&list, 2));
    files.insert(url("config.json"), File::of("{}"));
    // Six requests wait for each other, so fewer at a time would wait for ever, but for the timeout.
    let together = std::sync::Barrier::new(6);
    let server = Server::new(move |request, wire| {
        if request.path.contains("/s") {
            together.wait();
        }
        part(&files[&request.path], request).send(wire)
    });
    let options = Options { parallel: 6, ..options() };
    let seen = look(options, &server.url(INDEX)).unwrap();
    assert_eq!((seen.files.len(), seen.tensors, server.peak()), (24, 48, 6));
    let shards = server.requests().iter().filter(|request| request.path.contains("/s")).count();
    assert_eq!(shards, 24);
}
