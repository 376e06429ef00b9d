//! Sharded models, opened by their index or directory.
#![cfg(unix)]

use crate::support::{Place, file, many, tensor};

/// A directory `m` with `a` in one shard and `b` in another, and this index.
fn place(map: &str, total_size: &str) -> Place {
    let place = Place::new();
    place.put("m/1.safetensors", &file(format!("{{{}}}", tensor("a", 0, 2)), b"ab"));
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 0, 3)), b"cde"));
    let index = format!("{{\"metadata\":{{\"total_size\":{total_size}}},\"weight_map\":{{{map}}}}}");
    place.put("m/model.safetensors.index.json", index.as_bytes());
    place
}

const MAP: &str = r#""a":"1.safetensors","b":"2.safetensors""#;
const INDEX: &str = "m/model.safetensors.index.json";

/// The verdict names the shard, as for one that is invalid.
#[test]
fn as_published_is_about_each_shard() {
    let place = place(MAP, "5");
    let text = format!("{{{}}}\n", tensor("b", 0, 3));
    place.put("m/2.safetensors", &file(&text, b"cde"));
    let at = 8 + text.len() - 1;
    let good = format!("{INDEX}: ok, 2 tensors in 2 shards, 128 bytes\n");
    place.run(["check", INDEX]).is(0, &good, "");
    let line = format!(
        "m/2.safetensors: error[published.padding] at byte {at}: the header is padded with other characters \
         than spaces\n"
    );
    place.run(["check", "--as-published", INDEX]).is(1, &line, "");
    let run = place.run(["check", "--as-published", "--json", INDEX]);
    assert!(run.code == Some(1) && run.out.contains("m/2.safetensors"), "{run:?}");
    place.put("m/2.safetensors", &file(text.trim_end(), b"cde"));
    assert_eq!(place.run(["check", "--as-published", INDEX]).code, Some(0));
}

/// All shards are open at once.
#[test]
fn too_many_shards_report_the_limit() {
    let place = Place::new();
    place.put("whole", &many("t", 40));
    place.done(["split", "whole", "-o", "m", "--max-size", "1"]);
    let run = place.shell("ulimit -n 24; exec \"$0\" inspect m");
    let open = run.err.strip_prefix(&format!("{INDEX}: only ")).and_then(|rest| rest.split(' ').next());
    let open: u32 = open.and_then(|open| open.parse().ok()).expect("a number");
    let reason = " of its 40 shards can be open at once, because of the limit on open files: ";
    assert!((10..24).contains(&open), "{run:?}");
    run.fails(2, reason);
}

#[test]
fn a_wrong_index_is_invalid() {
    for (map, total_size, sentence) in [
        (
            r#""a":"1.safetensors","b":"1.safetensors""#,
            "5",
            r#"tensor "b" is not in "1.safetensors", nor in another shard"#,
        ),
        (
            r#""a":"1.safetensors","b":"3.safetensors""#,
            "5",
            r#"shard "3.safetensors", which has 1 of the tensors, is missing"#,
        ),
        (
            r#""a":"2.safetensors","b":"1.safetensors""#,
            "5",
            r#"tensor "b" is in "2.safetensors", not in "1.safetensors" (2 such tensors)"#,
        ),
        (r#""a":"../m/1.safetensors","b":"2.safetensors""#, "5", r#"unsafe shard name "../m/1.safetensors""#),
        (MAP, "6", "total_size is 6, but the tensors have 5 bytes"),
        (MAP, "-1", "total_size is -1, which is not a number of bytes"),
        (r#""a":"1.safetensors","a":"2.safetensors""#, "5", r#"duplicate "a""#),
        (r#""a":1"#, "5", "not an index, at line 1"),
    ] {
        let place = place(map, total_size);
        let run = place.run(["cat", "--format", "raw", "m", "b"]);
        run.fails(1, &format!("{INDEX}: {sentence}"));
        place.run(["check", INDEX]).is(1, &run.err, "");
        let json = place.run(["cat", "--json", "m", "b"]).json();
        assert_eq!([&json["error"], &json["file"]], ["shards", INDEX]);
    }
    let place = place(MAP, "5");
    place.run(["cat", INDEX, "ab"]).fails(2, "no tensor \"ab\"");
    // An invalid shard has the verdict of `check`.
    place.put("m/2.safetensors", &file(format!("{{{}}}", tensor("b", 1, 3)), b"cd"));
    place.run(["cat", "m", "b"]).is(1, "", &place.run(["check", "m/2.safetensors"]).out);
}
