//! `safetensors set`: what is written, what is rejected, and that an error changes nothing.
#![cfg(unix)]

use crate::made::npy;
use crate::support::{Place, Run, floats, model, sound};

const SIGNED: &str = r#"{"c2pa:manifest":"AAAA"}"#;

/// A model `m` of a matrix, a vector and bytes, and values for them.
fn place() -> Place {
    let place = Place::new();
    let matrix = floats(&[0., 1., 2., 3., 4., 5.]);
    place.put("m", &model(SIGNED, &[("w", "F32", &[2, 3], matrix), ("h", "BF16", &[2], vec![1, 2, 3, 4])]));
    place.put(
        "other",
        &model("", &[("w", "F32", &[2, 3], floats(&[9.; 6])), ("v", "F32", &[2], floats(&[7., 8.]))]),
    );
    place.put(
        "w.npy",
        &npy("'>f4'", "True", "(2, 3)", &[6., 9., 7., 10., 8., 11.].map(f32::to_be_bytes).concat()),
    );
    place.put("row.npy", &npy("'<f4'", "False", "(3,)", &floats(&[20., 21., 22.])));
    place.put("h.npy", &npy("'|V2'", "False", "(2,)", b"abcd"));
    place.put("sound", &sound()).put("short.npy", &npy("'<f4'", "False", "(3,)", b"abcd"));
    place
}

#[test]
fn values_replace_a_tensor_or_a_slice() {
    for (words, said, w) in [
        ("set m w w.npy", "\"w\": F32 [2, 3]", [6., 7., 8., 9., 10., 11.]),
        ("set m w row.npy --slice 1", "\"w\": F32 [3]", [0., 1., 2., 20., 21., 22.]),
        ("set m w other", "\"w\": F32 [2, 3]", [9.; 6]),
        ("set m w other --from v --slice :,-1", "\"w\": F32 [2]", [0., 1., 7., 3., 4., 8.]),
        ("set m h h.npy", "\"h\": BF16 [2]", [0., 1., 2., 3., 4., 5.]),
    ] {
        let place = place();
        let said = format!("m: wrote tensor {said}\n  the C2PA manifest is invalid now; sign again\n");
        place.run(words.split(' ')).is(0, &said, "");
        let h = if words.contains("h.npy") { b"abcd".to_vec() } else { vec![1, 2, 3, 4] };
        assert_eq!(
            place.read("m"),
            model(SIGNED, &[("w", "F32", &[2, 3], floats(&w)), ("h", "BF16", &[2], h)]),
            "{words}"
        );
        assert_eq!(place.names("."), self::place().names("."));
    }
}

#[test]
fn an_embedded_sum_is_verified_and_computed_again() {
    let place = place();
    place.done(["hash", "--embed", "other"]);
    place.done("set other w row.npy --slice 0".split(' '));
    place.done(["hash", "--check-embedded", "other"]);
    let mut changed = place.read("other");
    *changed.last_mut().expect("data") ^= 1;
    let run = place.put("other", &changed).run("set other w row.npy --slice 0".split(' '));
    run.fails(1, "other: error[integrity.sum] at byte 47: the sum begins with ");
    assert_eq!(place.read("other"), changed);
}

#[test]
fn errors_are_one_sentence_and_change_nothing() {
    let place = place();
    let old = place.read("m");
    for (words, code, sentence) in [
        ("set m x w.npy", 2, "m: no tensor \"x\""),
        ("set m w row.npy --from w", 2, "safetensors: --from works with a model; a .npy has one array"),
        ("set m w m", 2, "m: is an input; choose another output file"),
        ("set - w w.npy", 2, "safetensors: set cannot change standard input; give a file"),
        ("set m w gone", 2, "gone: cannot be read: no such file or directory"),
        ("set gone w w.npy", 2, "gone: cannot be read: no such file or directory"),
        ("set m w short.npy", 1, "short.npy: numpy: the array has 4 bytes after its header, 12 needed"),
    ] {
        place.refuses(words, code, sentence);
    }
    let invalid = place.run(["check", "w.npy"]);
    assert_eq!(
        place.run(["set", "w.npy", "w", "m"]),
        Run { err: invalid.out, out: String::new(), ..invalid }
    );
    let big = model("", &[("a", "U8", &[1 << 20], vec![7; 1 << 20])]);
    place.put("big", &big).put("a", &big);
    place.on_a_full_disk(128, "set big a a").fails(2, "big: cannot save the old bytes of it: file too large");
    assert!(place.read("big") == big && place.read("m") == old);
    assert!(place.names(".").iter().all(|name| !name.starts_with('.')), "{:?}", place.names("."));
    let sentence = "m: cannot be changed in place: its name is too long, its header has no space for the \
                    changes, or another file has the name of its undo file";
    place.put(".m.undo", b"another").refuses("set m w w.npy", 2, sentence);
}
