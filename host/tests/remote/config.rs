//! Parameters of packed weights, as the `config.json` of a model says, on servers and beside local files.

use super::{File, Place, Reply, Server, file, part, run, serve};

const CONFIG: &[u8] = br#"{"quantization_config":{"quant_method":"gptq","bits":4}}"#;
const PLAIN: &str = "parameters: 150: I32 100, F16 50\n";
const UNPACKED: &str = "  unpacked parameters: 800: I32 800\n";

fn packed() -> Vec<u8> {
    let header = concat!(
        r#"{"l.qweight":{"dtype":"I32","shape":[2,50],"data_offsets":[0,400]},"#,
        r#""l.scales":{"dtype":"F16","shape":[1,50],"data_offsets":[400,500]}}"#
    );
    file(header, &[0; 500])
}

#[test]
fn packed_parameters_are_counted_as_the_configuration_says() {
    let server = serve([("/d/m", packed()), ("/d/config.json", CONFIG.to_vec())]);
    let place = Place::new();
    place.put("d/m", &packed()).put("d/config.json", CONFIG);
    for model in ["d/m", &server.url("/d/m")] {
        let text = run(&place, &["inspect", model], &[]).out;
        assert!(text.contains(PLAIN) && text.contains(UNPACKED), "{text}");
        for args in [&["inspect", "--json", model][..], &["inspect", "--json", "--sort", "name", model]] {
            let object = run(&place, args, &[]).json();
            let expected = serde_json::json!({"parameters": 800, "dtypes": {"I32": 800}});
            assert_eq!(object["unpacked"], expected, "{args:?}");
        }
        // Both counts are those of the tensors that are shown.
        let text = run(&place, &["inspect", "--filter", "*.scales", model], &[]).out;
        assert!(text.contains("50 parameters of F16") && !text.contains("unpacked"), "{text}");
    }
    assert_eq!(server.requests().len(), 7, "config.json is not read for floats");
}

#[test]
fn a_directory_of_shards_has_its_configuration() {
    let place = Place::new();
    let index = br#"{"metadata":{"total_size":500},"weight_map":{"l.qweight":"s","l.scales":"s"}}"#;
    place.put("m.safetensors.index.json", index).put("s", &packed()).put("config.json", CONFIG);
    for model in [".", "m.safetensors.index.json"] {
        let text = place.run(["inspect", model]).out;
        assert!(text.contains(UNPACKED), "{text}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_a_note() {
    let page = b"<!DOCTYPE html>".to_vec();
    for (status, text, words) in [
        (404, Vec::new(), None),
        (410, Vec::new(), None),
        (401, Vec::new(), Some("401 Unauthorized")),
        (501, Vec::new(), Some("501 Not Implemented")),
        (200, page, Some("config.json is invalid: expected value")),
        (200, b"{".to_vec(), Some("config.json is invalid: EOF")),
    ] {
        let (model, config) = (File::of(packed()), File::of(text));
        let server = Server::new(move |request, wire| match request.path.as_str() {
            "/m" => part(&model, request).send(wire),
            _ if status == 200 => part(&config, request).send(wire),
            _ => Reply::new(&config).status(status).send(wire),
        });
        let (place, url) = (Place::new(), server.url("/m"));
        let text = run(&place, &["inspect", &url], &[]);
        let object = run(&place, &["inspect", "--json", &url], &[]).json();
        assert!(text.code == Some(0) && text.out.contains(PLAIN), "{text:?}");
        match words {
            None => assert!(text.err.is_empty() && object.get("unpacked").is_none(), "{text:?}"),
            Some(words) => {
                let begins = format!("{url}: parameters may be packed, but {}: ", server.url("/config.json"));
                assert!(text.err.starts_with(&begins) && text.err.contains(words), "{text:?}");
                assert!(object["unpacked"].is_null(), "{object}");
                assert!(object["unpacked_error"].as_str().expect("a text").contains(words), "{object}");
            }
        }
    }
    let place = Place::new();
    place.put("m", &packed()).put("config.json", b"{");
    let text = place.run(["inspect", "m"]);
    assert!(text.err.starts_with("m: parameters may be packed, but config.json: EOF"), "{text:?}");
}
