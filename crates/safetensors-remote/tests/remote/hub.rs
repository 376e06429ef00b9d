//! Models of the Hub: names that are tried, revisions, the cache, the configuration.

use crate::act::look;
use crate::cases::options;
use crate::server::{File, Reply, Server, part};
use safetensors_remote::{Hub, HubFile, Location, Options, RemoteErrorKind, Token};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// A server with these files; all others are missing.
pub fn serve(files: Vec<(&str, File)>) -> Server {
    let files: HashMap<String, File> = files.into_iter().map(|(name, file)| (name.into(), file)).collect();
    Server::new(move |request, wire| match files.get(&request.path) {
        Some(file) => part(file, request).send(wire),
        None => Reply::new(&File::of("not found")).status(404).send(wire),
    })
}

pub fn at(server: &Server) -> Options {
    Options { hub: Hub { endpoint: server.url(""), ..Hub::default() }, ..options() }
}

const WHOLE: &str = "/o/n/resolve/main/model.safetensors";
const INDEX: &str = "/o/n/resolve/main/model.safetensors.index.json";
const ADAPTER: &str = "/o/n/resolve/main/adapter_model.safetensors";
const CONFIG: &str = "/o/n/resolve/main/config.json";

fn small() -> File {
    File::with_header(200, 1000)
}

#[test]
fn names_are_tried_in_order() {
    for (files, name, tried) in [
        (vec![(WHOLE, small()), (ADAPTER, small())], "model.safetensors", 1),
        (vec![(ADAPTER, small())], "adapter_model.safetensors", 3),
    ] {
        let server = serve(files);
        let seen = look(at(&server), "hf://o/n").unwrap();
        assert_eq!((seen.files, seen.has_config), (vec![name.to_owned()], false));
        let paths: Vec<_> = server.requests().iter().map(|request| request.path.clone()).collect();
        let expected = [WHOLE, INDEX, ADAPTER];
        assert_eq!(paths[..tried], expected[..tried]);
        assert_eq!(paths[tried], CONFIG);
    }
}

/// Only a missing file leads to the next name.
#[test]
fn other_errors_end_the_search() {
    let server = Server::new(|_, wire| Reply::new(&File::of("")).status(401).send(wire));
    let error = look(at(&server), "hf://o/n").unwrap_err();
    assert!(matches!(
        error.kind(),
        RemoteErrorKind::Status { status: 401, with_token: false, is_on_hub: true }
    ));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn revisions_and_paths_are_in_the_url() {
    let server = serve(vec![("/o/n/resolve/refs%2Fpr%2F7/a/b%20c.safetensors", small())]);
    let seen = look(at(&server), "hf://o/n@refs/pr/7/a/b c.safetensors").unwrap();
    assert_eq!(seen.tensors, 2);
}

fn hub_file(text: &str) -> HubFile {
    match Location::parse(text).unwrap() {
        Location::Hub(file) => file,
        Location::Url(url) => panic!("{url}"),
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_cache_is_that_of_the_python_package() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("hub");
    let model = cache.join("models--o--n");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    write(&model.join("refs/main"), commit);
    write(&model.join("refs/refs/pr/1"), commit);
    let snapshot = model.join("snapshots").join(commit);
    let index = r#"{"metadata":{},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}}"#;
    write(&snapshot.join("model.safetensors.index.json"), index);
    write(&snapshot.join("s1.safetensors"), "");
    write(&snapshot.join("sub/x.safetensors"), "");
    let hub = Hub { cache: Some(cache), ..Hub::default() };
    let found =
        |text: &str| hub.cached(&hub_file(text)).map(|path| path.strip_prefix(&snapshot).unwrap().to_owned());
    assert_eq!(found("hf://o/n"), None, "a shard is missing");
    write(&snapshot.join("s2.safetensors"), "");
    for (text, path) in [
        ("hf://o/n", Some("model.safetensors.index.json")),
        ("hf://o/n@refs/pr/1", Some("model.safetensors.index.json")),
        (&format!("hf://o/n@{commit}"), Some("model.safetensors.index.json")),
        ("hf://o/n/sub/x.safetensors", Some("sub/x.safetensors")),
        ("hf://o/n/missing.safetensors", None),
        ("hf://o/n@other", None),
        ("hf://o/m", None),
    ] {
        assert_eq!(found(text).as_deref(), path.map(Path::new), "{text}");
    }
    write(&model.join("refs/evil"), "../../other");
    assert_eq!(found("hf://o/n@evil"), None);
}

#[test]
fn variables_are_those_of_the_python_package() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().to_str().unwrap().to_owned();
    write(&directory.path().join("token"), " hf_of_file\n");
    let hub = |variables: &[(&str, &str)]| {
        Hub::from_variables(&|name| {
            let value = variables.iter().find(|(known, _)| *known == name)?.1;
            Some(value.replace("HOME", &home))
        })
    };
    for (variables, cache) in [
        (&[("HOME", "HOME")][..], "HOME/.cache/huggingface/hub"),
        (&[("HOME", "HOME"), ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
        (&[("HOME", "HOME"), ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/h")], "/h/hub"),
        (&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c")], "/c"),
        (&[("HF_HOME", "/h"), ("HUGGINGFACE_HUB_CACHE", "/c")], "/c"),
        (&[("HOME", "HOME"), ("HF_HOME", "~/h")], "HOME/h/hub"),
    ] {
        assert_eq!(hub(variables).cache.unwrap(), Path::new(&cache.replace("HOME", &home)), "{variables:?}");
    }
    let token = |text| Token::new(text);
    assert_eq!(hub(&[("HF_HOME", "HOME")]).token, token("hf_of_file"));
    assert_eq!(hub(&[("HF_TOKEN_PATH", "HOME/token"), ("HF_HOME", "/h")]).token, token("hf_of_file"));
    assert_eq!(hub(&[("HF_HOME", "HOME"), ("HF_TOKEN", "hf_x")]).token, token("hf_x"));
    assert_eq!(hub(&[("HF_TOKEN", "with\nnewline x")]).token, None);
    let implicit = |value| hub(&[("HF_TOKEN", "hf_x"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", value)]).token;
    assert_eq!((implicit("1"), implicit("0")), (None, token("hf_x")));
    assert!(!format!("{:?}", hub(&[("HF_TOKEN", "hf_secret")])).contains("secret"));
    for (value, expected) in [("1", true), ("true", true), ("ON", true), ("0", false), ("no", false)] {
        assert_eq!(hub(&[("HF_HUB_OFFLINE", value)]).offline, expected);
    }
    assert_eq!(hub(&[("HF_ENDPOINT", "http://mirror/")]).endpoint, "http://mirror");
    assert_eq!(hub(&[]), Hub::default());
}
