//! Models of the Hub and its cache, models in several files, and secrets.

use super::{Place, file, run, serve, sound, tensor};
use crate::support::sum;

const MODEL: &str = "/o/n/resolve/main/model.safetensors";
const INDEX: &str = "/o/n/resolve/main/model.safetensors.index.json";

fn index() -> Vec<u8> {
    br#"{"metadata":{"total_size":5},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}}"#.to_vec()
}

fn shards() -> [Vec<u8>; 2] {
    [file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"), file(format!("{{{}}}", tensor("b", 0, 3)), b"cde")]
}

/// Puts the model into the cache of the Hub's Python package.
fn put_in_cache(place: &Place) -> String {
    let repository = "hf/hub/models--o--n";
    let model = format!("{repository}/snapshots/c0ffee/model.safetensors");
    place.put(format!("{repository}/refs/main"), b"c0ffee").put(&model, &sound());
    model
}

#[test]
fn a_model_of_the_hub_is_found_by_its_name() {
    let server = serve([(MODEL, sound()), ("/o/n/resolve/v1/x/y.safetensors", sound())]);
    let (place, endpoint) = (Place::new(), server.url(""));
    let hub = [("HF_ENDPOINT", endpoint.as_str())];
    for name in ["hf://o/n", "hf://o/n@v1/x/y.safetensors"] {
        let before = server.requests().len();
        run(&place, &["check", name], &hub).is(0, &format!("{name}: ok, 2 tensors, 118 bytes\n"), "");
        assert_eq!(server.requests().len() - before, 1);
        assert_eq!(run(&place, &["cat", name, "b"], &hub).out, "[99, 100, 101]\n");
    }
    let tried = "model.safetensors, model.safetensors.index.json, adapter_model.safetensors";
    let missing = run(&place, &["check", "hf://o/x"], &hub);
    missing.is(2, "", &format!("hf://o/x: no model here: tried {tried}\n"));
    let revision = run(&place, &["check", "hf://o/n@nope"], &hub);
    let sentence = format!("hf://o/n@nope: no model here: tried {tried}; is there a revision \"nope\"?\n");
    revision.is(2, "", &sentence);
    let without_owner = run(&place, &["check", "hf://o"], &hub);
    without_owner.is(2, "", &format!("hf://o: no model here: tried {tried}\n"));
    let wrong = run(&place, &["check", "hf://o/../x"], &hub);
    assert!(wrong.code == Some(2) && wrong.err.contains("write hf://owner/name"), "{wrong:?}");
}

#[test]
fn a_model_in_the_cache_needs_no_request() {
    let (server, place) = (serve([]), Place::new());
    let cached = put_in_cache(&place);
    let endpoint = server.url("");
    let hub = [("HF_ENDPOINT", endpoint.as_str())];
    run(&place, &["check", "hf://o/n"], &hub).is(0, "hf://o/n: ok, 2 tensors, 118 bytes\n", "");
    assert_eq!(run(&place, &["cat", "hf://o/n", "a"], &hub).out, "[97, 98]\n");
    assert_eq!(run(&place, &["hash", "hf://o/n"], &hub).code, Some(0));
    let own = run(&place, &["slice", "hf://o/n", "a=", "-o", &cached, "--force"], &hub);
    assert!(own.code == Some(2) && own.err.contains("is an input"), "{own:?}");
    let offline = run(&place, &["check", "hf://o/other"], &[hub[0], ("HF_HUB_OFFLINE", "1")]);
    assert!(offline.code == Some(2) && offline.err.contains("HF_HUB_OFFLINE"), "{offline:?}");
    assert_eq!(server.requests().len(), 0);
}

/// In the cache or not.
#[test]
fn a_file_of_the_hub_has_one_name() {
    let server = serve([(MODEL, sound())]);
    let (place, endpoint) = (Place::new(), server.url(""));
    let hub = [("HF_ENDPOINT", endpoint.as_str())];
    let made = |directory: &str| {
        let written = run(&place, &["checkpoint", directory, "hf://o/n"], &hub);
        assert!(written.code == Some(0) && place.path(directory).join("model.safetensors").is_file());
        let ok = format!("{directory}/model.safetensors: ok, 2 tensors, 118 bytes\n");
        place.run(["check", directory]).is(0, &ok, "");
        run(&place, &["emit", "hf://o/n"], &hub).out
    };
    let remote = made("c1");
    let requests = server.requests().len();
    put_in_cache(&place);
    assert_eq!(made("c2"), remote);
    let begin = "/* Written by safetensors-emit from model.safetensors. ";
    assert!(remote.starts_with(begin), "{remote}");
    assert_eq!(server.requests().len(), requests);
    let signed = run(&place, &["emit", &server.url(&format!("{MODEL}?key=secret"))], &[]);
    assert!(signed.out.starts_with(begin), "{signed:?}");
}

#[test]
fn urls_are_rejected_where_only_files_are_read() {
    let (place, server) = (Place::new(), serve([("/m", sound())]));
    let url = server.url("/m?key=secret");
    place.put("m", &sound());
    for args in [
        &["scan", &url][..],
        &["hash", "--verify", &url],
        &["pack", "m", "-o", "k", "--order", &url],
        &["checkpoint", "c", "m", "--also", &url],
        &["convert", &server.url("/pytorch_model.bin?key=secret"), "o.safetensors"],
    ] {
        let rejected = run(&place, args, &[]);
        let sentence = "?…: a URL is not supported here; download it\n";
        assert!(rejected.code == Some(2) && rejected.err.ends_with(sentence), "{args:?}: {rejected:?}");
        assert!(!rejected.err.contains("secret"), "{rejected:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_model_in_several_files_is_read_through_its_index() {
    let [one, other] = shards();
    let paths = ["/o/n/resolve/main/s1.safetensors", "/o/n/resolve/main/s2.safetensors"];
    let server = serve([(INDEX, index()), (paths[0], one), (paths[1], other)]);
    let (place, endpoint, url) = (Place::new(), server.url(""), server.url(INDEX));
    run(&place, &["check", &url], &[]).is(0, &format!("{url}: ok, 2 tensors in 2 shards, 127 bytes\n"), "");
    assert_eq!(server.requests().len(), 3);
    let hub = [("HF_ENDPOINT", endpoint.as_str())];
    let expected = [&index(), &shards()[0], &shards()[1]].map(|bytes| sum(bytes));
    for model in [url.as_str(), "hf://o/n"] {
        assert_eq!(run(&place, &["cat", model, "b"], &hub).out, "[99, 100, 101]\n");
        let joined = run(&place, &["join", model, "-o", "joined.safetensors", "--force"], &hub);
        assert_eq!(joined.out, "joined.safetensors: 2 tensors of 2 files, 125 bytes\n");
        assert_eq!(run(&place, &["inspect", model], &hub).code, Some(0));
        // The Hub has no model in one file. The index is read once.
        let before = server.requests().len();
        let sums = run(&place, &["hash", model], &hub).out;
        assert_eq!(sums.lines().map(|line| line[..64].to_owned()).collect::<Vec<_>>(), expected, "{sums}");
        assert_eq!(server.requests().len() - before, 3 + usize::from(model.starts_with("hf")), "{model}");
    }
    // One shard is not a model.
    let name = "model-00001-of-00002.safetensors";
    let server = serve([("/model-00001-of-00002.safetensors", shards()[0].clone())]);
    let part = run(&place, &["pack", &server.url(&format!("/{name}")), "-o", "out"], &[]);
    assert!(part.code == Some(2) && part.err.contains("is shard 1 of 2"), "{part:?}");
}

#[test]
fn invalid_shards_are_reported() {
    let place = Place::new();
    let [one, other] = shards();
    let missing = serve([("/m.safetensors.index.json", index()), ("/s1.safetensors", one.clone())]);
    let url = missing.url("/m.safetensors.index.json");
    let run_missing = run(&place, &["check", &url], &[]);
    let sentence = format!("{url}: shard \"s2.safetensors\", which has 1 of the tensors, is missing\n");
    run_missing.is(1, &sentence, "");
    let torn = serve([
        ("/m.safetensors.index.json", index()),
        ("/s1.safetensors", one),
        ("/s2.safetensors", other[..other.len() - 1].to_vec()),
    ]);
    for path in ["/m.safetensors.index.json", "/m.safetensors.index.json?signature=secret"] {
        let found = run(&place, &["check", &torn.url(path)], &[]);
        let begins = format!("{}: error[data.short]", torn.url("/s2.safetensors"));
        assert!(found.code == Some(1) && found.out.starts_with(&begins), "{found:?}");
    }
    let busy = super::Server::new(move |request, wire| match request.path.as_str() {
        "/m.safetensors.index.json" => super::part(&super::File::of(index()), request).send(wire),
        _ => super::Reply::new(&super::File::of("")).status(403).send(wire),
    });
    let url = busy.url("/m.safetensors.index.json");
    let found = run(&place, &["check", &url], &[]);
    let sentence = format!("{url}: {}: the server answers 403 Forbidden\n", busy.url("/s1.safetensors"));
    found.is(2, "", &sentence);
}

/// The same verdict on an index and its shards, in the same words.
#[test]
fn an_index_has_the_verdict_of_a_local_one() {
    let [one, other] = shards();
    let b_twice = file(format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 2, 5)), b"abcde");
    let a_b = r#""a":"s1.safetensors","b":"s2.safetensors""#;
    let gguf = b"GGUF and more, as llama.cpp reads it".to_vec();
    let map = |map: &str| format!(r#"{{"weight_map":{{{map}}}}}"#);
    for (index, shards) in [
        (format!(r#"{{"metadata":{{"total_size":6}},"weight_map":{{{a_b}}}}}"#), [&one, &other]),
        (map(r#""a":"s1.safetensors","c":"s2.safetensors""#), [&one, &other]),
        (map(r#""a":"s1.safetensors","b":"S2.safetensors""#), [&one, &other]),
        (map(r#""a":"s2.safetensors","b":"s1.safetensors""#), [&one, &other]),
        (map(&format!(r#"{a_b},"c":"s2.safetensors""#)), [&one, &other]),
        (map(a_b), [&b_twice, &other]),
        (map(a_b), [&one, &gguf]),
        ("{".to_owned(), [&one, &other]),
        (map(r#""a":"../s1.safetensors""#), [&one, &other]),
    ] {
        let names = ["m.safetensors.index.json", "s1.safetensors", "s2.safetensors"];
        let index = index.into_bytes();
        let files = names.into_iter().zip([&index, shards[0], shards[1]]);
        let (place, paths) = (Place::new(), names.map(|name| format!("/{name}")));
        for (name, bytes) in files.clone() {
            place.put(name, bytes);
        }
        let server = serve(paths.iter().map(String::as_str).zip(files.map(|(_, bytes)| bytes.clone())));
        for command in ["check", "inspect", "hash"] {
            let (local, remote) =
                (place.run([command, names[0]]), run(&place, &[command, &server.url(&paths[0])], &[]));
            // What `convert` reads only from a file.
            let named =
                |text: &str| text.replace(&server.url("/"), "").replace("save it as a file, and ", "");
            assert_eq!((local.code, &local.out), (remote.code, &named(&remote.out)), "{command} {local:?}");
            assert_eq!(local.err, named(&remote.err), "{command}");
        }
    }
}

#[test]
fn commands_for_one_file_and_for_several() {
    let [one, other] = shards();
    let index = br#"{"weight_map":{"a":"s 1.safetensors","b":"s2.safetensors"}}"#.to_vec();
    let files = [
        ("/m.safetensors.index.json", index),
        ("/s%201.safetensors", one),
        ("/s2.safetensors", other),
        ("/model-00001-of-00002.safetensors", sound()),
    ];
    let (server, place) = (serve(files), Place::new());
    let url = server.url("/m.safetensors.index.json?signature=x");
    let made = run(&place, &["checkpoint", "ck", &url], &[]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for name in ["m.safetensors.index.json", "s 1.safetensors", "s2.safetensors", "SHA256SUMS"] {
        assert!(place.path("ck").join(name).is_file(), "{name}");
    }
    let object = run(&place, &["inspect", "--json", &url], &[]).json();
    assert_eq!(object["shards"][0]["file"], "s 1.safetensors");
    let decoded = run(&place, &["decode", &url], &[]);
    let shown = server.url("/m.safetensors.index.json?…");
    decoded.is(2, "", &format!("{shown}: has several files; give one of them\n"));
    let part = server.url("/model-00001-of-00002.safetensors");
    let sentence = "is shard 1 of 2; give the index \"model.safetensors.index.json\", or join all shards";
    run(&place, &["convert", &part, "x.safetensors"], &[]).is(2, "", &format!("{part}: {sentence}\n"));
}

#[test]
fn what_is_no_location_is_said() {
    let place = Place::new();
    let sentence = "cannot be read: no such file or directory; for the model of the Hub, write hf://o/n";
    run(&place, &["inspect", "o/n"], &[]).is(2, "", &format!("o/n: {sentence}\n"));
    let form = "write hf://owner/name, hf://owner/name@revision or hf://owner/name/path";
    for (path, reason) in [
        ("s3://bucket/m.safetensors", "only http, https and hf are supported"),
        ("file:///m.safetensors", "only http, https and hf are supported"),
        ("hf:/o/n", form),
        ("https://huggingface.co/o/n", "it is a page of the Hub; write hf://owner/name"),
    ] {
        let sentence = format!("{path}: not a location of a model: {reason}\n");
        run(&place, &["check", path], &[]).is(2, "", &sentence);
    }
    let wrong = run(&place, &["check", "hf://o/n"], &[("HF_ENDPOINT", "hub")]);
    wrong.is(2, "", "hf://o/n: HF_ENDPOINT is not a URL of http or https\n");
}

#[test]
fn secrets_are_sent_only_to_the_hub_and_never_printed() {
    let server = serve([(MODEL, sound()), ("/m", sound())]);
    let (place, endpoint) = (Place::new(), server.url(""));
    let hub = [("HF_ENDPOINT", endpoint.as_str()), ("HF_TOKEN", "hf_secret")];
    let mut texts = Vec::new();
    texts.push(run(&place, &["check", "hf://o/n"], &hub));
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer hf_secret"));
    texts.push(run(&place, &["check", "hf://o/missing"], &hub));
    let signed = server.url("/m?signature=secret");
    for command in ["check", "inspect", "stats", "hash", "lint"] {
        texts.push(run(&place, &[command, &signed], &[("HF_TOKEN", "hf_secret")]));
        texts.push(run(&place, &[command, "--json", &signed], &[]));
    }
    let last = server.requests().pop().expect("a request");
    assert_eq!((last.path.as_str(), last.header("authorization")), ("/m?signature=secret", None));
    // Also where it is not a path, not alone, or a mistake.
    let (m, none) = (server.url("/m"), server.url("/none?signature=secret"));
    let output = format!("--output={signed}");
    for args in [
        &["check", "http://user:secret@localhost/m"][..],
        &["check", &none],
        &["slice", &m, "a=", &output],
        &["check", "--no-such-option", &signed],
        &["check", "--json", &output, &signed],
        &["check", &signed, "--max-header", &signed],
        &["check", "https://u:secret@secret@localhost/m"],
        &["check", "http:/localhost/m?secret", " http://localhost/m?secret"],
        &["pack", &m, "--order", &signed, "-o", "k"],
        &["man", &signed],
    ] {
        texts.push(run(&place, args, &[]));
    }
    for text in texts {
        assert!(!format!("{text:?}").contains("secret"), "{text:?}");
    }
    // What is not a path is what was written.
    let name = run(&place, &["cat", &server.url("/m"), "http://h/a?b"], &[]);
    assert!(name.err.contains("no tensor \"http://h/a?b\""), "{name:?}");
}
