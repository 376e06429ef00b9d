//! `safetensors slice`: its output and its errors.
#![cfg(unix)]

use crate::support::{Place, file, model, one, sound, tensor};
use serde_json::json;

/// A table of 3 by 4 numbers, a scalar, and metadata.
fn place() -> Place {
    let place = Place::new();
    let rows = [("t", "U8", &[3, 4][..], (0..12).collect()), ("s=1", "U16", &[], vec![12, 13])];
    place.put("m", &model(r#"{"by":"hand"}"#, &rows));
    place
}

/// The data after the header.
fn data(place: &Place, name: &str) -> Vec<u8> {
    let file = place.read(name);
    let (length, rest) = file.split_first_chunk().expect("a length");
    rest[usize::try_from(u64::from_le_bytes(*length)).expect("short")..].to_vec()
}

#[test]
fn slices_are_those_of_numpy() {
    for (spec, shape, expected) in [
        ("", "[3, 4]", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11][..]),
        ("1", "[4]", &[4, 5, 6, 7]),
        ("-1, ::2", "[2]", &[8, 10]),
        (":2, 1:3", "[2, 2]", &[1, 2, 5, 6]),
        ("..., -1", "[3]", &[3, 7, 11]),
        ("1:100, 0", "[2]", &[4, 8]),
        ("2, 3", "[]", &[11]),
        ("3:", "[0, 4]", &[]),
    ] {
        let place = place();
        let run = place.done(["slice", "m", &format!("t={spec}"), "-o", "part"]);
        let row = format!("  \"t\"     U8     {shape}\n");
        assert!(run.out.starts_with("part: 1 tensor, ") && run.out.ends_with(&row), "{run:?}");
        assert_eq!(data(&place, "part"), expected, "{spec}");
        assert_eq!(place.decoded("part")["metadata"], json!({"by": "hand"}));
    }
}

#[test]
fn several_slices_at_once() {
    let place = place();
    let object = place.done(["slice", "m", "t=0,:2", "s=1=", "-o", "part", "--json"]).json();
    assert_eq!([&object["tensors"][0]["shape"], &object["tensors"][1]["shape"]], [&json!([2]), &json!([])]);
    assert_eq!(data(&place, "part"), [12, 13, 0, 1]);
}

#[test]
fn a_glob_takes_every_match() {
    let place = Place::new();
    let named = |name: &str, at: u64| tensor(name, at, at + 3);
    let header = [named("a.w", 0), named("a.b", 3), named("c.w", 6), named("x[1]", 9)].join(",");
    place.put("m", &file(format!("{{{header}}}"), &(0..12).collect::<Vec<u8>>()));
    let run = place.done(["slice", "m", "*.w=:2", "a.b=-1", "-o", "part"]);
    assert!(run.out.starts_with("part: 3 tensors, "), "{run:?}");
    assert_eq!(data(&place, "part"), [5, 0, 1, 6, 7]);
    // A name that looks like a glob.
    place.done(["slice", "m", "x[1]=0", "-o", "part", "--force"]);
    assert_eq!(data(&place, "part"), [9]);
    for (slices, error) in [
        ("a.?= *.w=", "safetensors: tensor \"a.w\" is given twice"),
        ("d.*= a.w=", "m: no tensor matches \"d.*\""),
        ("a*=:2 c.w=5", "m: tensor \"c.w\": index 5 is out of range for axis 0 of size 3"),
    ] {
        place.refuses(&format!("slice m -o other {slices}"), 2, error);
    }
    assert!(!place.path("other").exists());
}

#[test]
fn missing_metadata_stays_missing() {
    let place = Place::new();
    place.put("m", &sound());
    let said = "part: 1 tensor, 66 bytes\n  tensor  dtype  shape\n  \"b\"     U8     [2]\n";
    place.run(["slice", "m", "b=1:", "-o", "part"]).is(0, said, "");
    assert_eq!(place.decoded("part")["metadata"], json!(null));
    assert_eq!(place.run_piped(["slice", "-", "a=1", "-o", "part", "--force"], &sound()).code, Some(0));
    assert_eq!(data(&place, "part"), [b'b']);
}

#[test]
fn bad_requests_are_one_sentence() {
    let place = place();
    for (slices, error) in [
        (
            "t[0:1]",
            "safetensors: \"t[0:1]\" has no `=`; write \"t=0:1\" for a slice, or TENSOR= for a whole tensor",
        ),
        ("t= t=0", "safetensors: tensor \"t\" is given twice"),
        ("T=", "m: no tensor \"T\"; did you mean \"t\"?"),
        ("s=", "m: no tensor \"s\"; did you mean \"s=1\"?"),
        ("t=3", "m: tensor \"t\": index 3 is out of range for axis 0 of size 3"),
        ("t=0,0,0", "m: tensor \"t\": the slice has 3 dimensions, but the tensor has only 2"),
        ("t=::0", "m: tensor \"t\": the slice \"::0\" has a step of 0"),
        ("t=x", "m: tensor \"t\": the slice \"x\" has \"x\", which is not a number"),
        ("t= -o /dev/null --force", "/dev/null: not a regular file; refusing to overwrite it"),
    ] {
        let output = if slices.contains("-o") { "" } else { " -o part" };
        place.refuses(&format!("slice m {slices}{output}"), 2, error);
    }
    assert_eq!(place.run(["slice", "m", "-o", "part"]).code, Some(2));
    assert_eq!(place.run(["slice", "m", "t="]).code, Some(2));
    assert_eq!(place.names("."), ["m"]);
}

#[test]
fn slices_inside_bytes_are_errors() {
    let place = Place::new();
    place.put("m", &one("F4", &[2, 4], &[0x10, 0x32, 0x54, 0x76]));
    place.done(["slice", "m", "a=:,2:", "-o", "part"]);
    assert_eq!(data(&place, "part"), [0x32, 0x76]);
    place.run(["slice", "m", "a=:,1:3", "-o", "other"]).fails(2, "m: tensor \"a\": ");
    assert!(!place.path("other").exists());
}
