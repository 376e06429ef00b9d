//! Models of the Hub and its cache, models in several files, and secrets.

use super::{Place, file, ranges, run, serve, sound, tensor};
use std::fs;

const MODEL: &str = "/o/n/resolve/main/model.safetensors";
const INDEX: &str = "/o/n/resolve/main/model.safetensors.index.json";

fn index() -> Vec<u8> {
    br#"{"metadata":{"total_size":5},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}}"#.to_vec()
}

fn shards() -> [Vec<u8>; 2] {
    [file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"), file(format!("{{{}}}", tensor("b", 0, 3)), b"cde")]
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
    let wrong = run(&place, &["check", "hf://o"], &[]);
    assert!(wrong.code == Some(2), "{wrong:?}");
}

#[test]
fn a_model_in_the_cache_needs_no_request() {
    let (server, place) = (serve([]), Place::new());
    let repository = place.path("hf/hub/models--o--n");
    fs::create_dir_all(repository.join("snapshots/c0ffee")).expect("directory");
    fs::create_dir_all(repository.join("refs")).expect("directory");
    fs::write(repository.join("refs/main"), "c0ffee").expect("a file");
    fs::write(repository.join("snapshots/c0ffee/model.safetensors"), sound()).expect("a file");
    let endpoint = server.url("");
    let hub = [("HF_ENDPOINT", endpoint.as_str())];
    run(&place, &["check", "hf://o/n"], &hub).is(0, "hf://o/n: ok, 2 tensors, 118 bytes\n", "");
    assert_eq!(run(&place, &["cat", "hf://o/n", "a"], &hub).out, "[97, 98]\n");
    assert_eq!(run(&place, &["hash", "hf://o/n"], &hub).code, Some(0));
    let output = repository.join("snapshots/c0ffee/model.safetensors");
    let output = output.to_string_lossy();
    let own = run(&place, &["slice", "hf://o/n", "a=", "-o", &output, "--force"], &hub);
    assert!(own.code == Some(2) && own.err.contains("is an input"), "{own:?}");
    let offline = run(&place, &["check", "hf://o/other"], &[hub[0], ("HF_HUB_OFFLINE", "1")]);
    assert!(offline.code == Some(2) && offline.err.contains("HF_HUB_OFFLINE"), "{offline:?}");
    assert_eq!(server.requests().len(), 0);
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
    for model in [url.as_str(), "hf://o/n"] {
        assert_eq!(run(&place, &["cat", model, "b"], &hub).out, "[99, 100, 101]\n");
        let joined = run(&place, &["join", model, "-o", "joined.safetensors", "--force"], &hub);
        assert_eq!(joined.out, "joined.safetensors: 2 tensors of 2 files, 125 bytes\n");
        assert_eq!(run(&place, &["inspect", model], &hub).code, Some(0));
        let sums = run(&place, &["hash", model], &hub).out;
        assert_eq!(sums.lines().count(), 3, "{sums}");
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
    let sentence = "error[shards]: the index names \"s2.safetensors\", which does not exist";
    assert_eq!(run_missing.code, Some(1), "{run_missing:?}");
    assert!(
        run_missing.out.contains(sentence) || run_missing.out.contains("does not exist"),
        "{run_missing:?}"
    );
    let torn = serve([
        ("/m.safetensors.index.json", index()),
        ("/s1.safetensors", one),
        ("/s2.safetensors", other[..other.len() - 1].to_vec()),
    ]);
    let found = run(&place, &["check", &torn.url("/m.safetensors.index.json")], &[]);
    assert!(found.code == Some(1) && found.out.contains("/s2.safetensors: error["), "{found:?}");
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
    texts.push(run(&place, &["check", "http://user:secret@localhost/m"], &[]));
    texts.push(run(&place, &["check", &server.url("/none?signature=secret")], &[]));
    for text in texts {
        assert!(!format!("{text:?}").contains("secret"), "{text:?}");
    }
    assert!(!ranges(&server).is_empty());
}

#[test]
fn packed_parameters_are_counted_as_the_configuration_says() {
    let header = concat!(
        r#"{"l.qweight":{"dtype":"I32","shape":[2,50],"data_offsets":[0,400]},"#,
        r#""l.scales":{"dtype":"F16","shape":[1,50],"data_offsets":[400,500]}}"#
    );
    let config = br#"{"quantization_config":{"quant_method":"gptq","bits":4}}"#.to_vec();
    let server = serve([("/m", file(header, &[0; 500])), ("/config.json", config)]);
    let (place, url) = (Place::new(), server.url("/m"));
    let text = run(&place, &["inspect", &url], &[]).out;
    assert!(text.contains("  parameters: 150: I32 100, F16 50\n"), "{text}");
    assert!(text.contains("  unpacked parameters: 800: I32 800\n"), "{text}");
    assert_eq!(server.requests().len(), 2);
    let json = run(&place, &["inspect", "--json", &url], &[]).out;
    let object: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(object["unpacked"], serde_json::json!({"parameters": 800, "dtypes": {"I32": 800}}));
    let view = run(&place, &["inspect", "--json", "--sort", "name", &url], &[]).out;
    assert!(view.contains(r#""unpacked":{"parameters":800"#), "{view}");
}
