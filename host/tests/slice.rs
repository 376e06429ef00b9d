//! `safetensors slice`: its output and its errors.
#![cfg(unix)]

use crate::support::{Place, file, sound, tensor};
use std::fs;

/// A table of 3 by 4 numbers, a scalar, and metadata.
fn place() -> Place {
    let place = Place::new();
    let table = r#""t":{"dtype":"U8","shape":[3,4],"data_offsets":[0,12]}"#;
    let scalar = r#""s=1":{"dtype":"U16","shape":[],"data_offsets":[12,14]}"#;
    let header = format!("{{\"__metadata__\":{{\"by\":\"hand\"}},{table},{scalar}}}");
    place.put("m", &file(header, &(0..14).collect::<Vec<u8>>()));
    place
}

fn written(place: &Place, name: &str) -> String {
    let run = place.run(["decode", name]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    run.out
}

/// The data after the header.
fn data(place: &Place, name: &str) -> Vec<u8> {
    let file = fs::read(place.path(name)).expect("a file");
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
        let bytes = 8 + 152 + expected.len();
        let run = place.run(["slice", "m", &format!("t={spec}"), "-o", "part"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        assert!(run.out.starts_with("part: 1 tensor, "), "{run:?}");
        assert!(run.out.ends_with(&format!("  \"t\"     U8     {shape}\n")), "{bytes} {run:?}");
        assert_eq!(data(&place, "part"), expected, "{spec}");
        assert!(written(&place, "part").contains(r#""metadata":{"by":"hand"}"#));
    }
}

#[test]
fn several_slices_at_once() {
    let place = place();
    let run = place.run(["slice", "m", "t=0,:2", "s=1=", "-o", "part", "--json"]);
    let tensors = r#"[{"name":"t","dtype":"U8","shape":[2]},{"name":"s=1","dtype":"U16","shape":[]}]"#;
    let bytes = fs::metadata(place.path("part")).expect("a file").len();
    let line = format!(
        "{{\"file\":\"m\",\"ok\":true,\"output\":\"part\",\"bytes\":{bytes},\"tensors\":{tensors}}}\n"
    );
    run.is(0, &line, "");
    assert_eq!(data(&place, "part"), [12, 13, 0, 1]);
}

#[test]
fn a_glob_takes_every_match() {
    let place = Place::new();
    let named = |name: &str, at: u8| tensor(name, u64::from(at), u64::from(at) + 3);
    let header = [named("a.w", 0), named("a.b", 3), named("c.w", 6), named("x[1]", 9)].join(",");
    place.put("m", &file(format!("{{{header}}}"), &(0..12).collect::<Vec<u8>>()));
    let run = place.run(["slice", "m", "*.w=:2", "a.b=-1", "-o", "part"]);
    assert!(run.code == Some(0) && run.out.starts_with("part: 3 tensors, "), "{run:?}");
    assert_eq!(data(&place, "part"), [5, 0, 1, 6, 7]);
    // A name that looks like a glob.
    assert_eq!(place.run(["slice", "m", "x[1]=0", "-o", "part", "--force"]).code, Some(0));
    assert_eq!(data(&place, "part"), [9]);
    for (slices, error) in [
        (["a.?=", "*.w="], "safetensors: tensor \"a.w\" is given twice\n"),
        (["d.*=", "a.w="], "m: no tensor matches \"d.*\"\n"),
        (["a*=:2", "c.w=5"], "m: tensor \"c.w\": index 5 is out of range for axis 0 of size 3\n"),
    ] {
        place.run([&["slice", "m", "-o", "other"], &slices[..]].concat()).is(2, "", error);
    }
    assert!(!place.path("other").exists());
}

#[test]
fn missing_metadata_stays_missing() {
    let place = Place::new();
    place.put("m", &sound());
    place.run(["slice", "m", "b=1:", "-o", "part"]).is(
        0,
        "part: 1 tensor, 66 bytes\n  tensor  dtype  shape\n  \"b\"     U8     [2]\n",
        "",
    );
    assert!(written(&place, "part").contains(r#""metadata":null"#), "{}", written(&place, "part"));
}

#[test]
fn bad_requests_are_one_sentence() {
    let place = place();
    for (slices, error) in [
        (&["t"][..], "safetensors: \"t\" has no `=`; use TENSOR= for a whole tensor\n"),
        (&["t=", "t=0"], "safetensors: tensor \"t\" is given twice\n"),
        (&["T="], "m: no tensor \"T\"\n"),
        (&["s="], "m: no tensor \"s\"; did you mean \"s=1\"?\n"),
        (&["t=3"], "m: tensor \"t\": index 3 is out of range for axis 0 of size 3\n"),
        (&["t=0,0,0"], "m: tensor \"t\": the slice has 3 dimensions, but the tensor has only 2\n"),
        (&["t=::0"], "m: tensor \"t\": the slice \"::0\" has a step of 0\n"),
        (&["t=x"], "m: tensor \"t\": the slice \"x\" has \"x\", which is not a number\n"),
    ] {
        place.run([&["slice", "m", "-o", "part"], slices].concat()).is(2, "", error);
    }
    assert_eq!(place.run(["slice", "m", "-o", "part"]).code, Some(2));
    assert_eq!(place.run(["slice", "m", "t="]).code, Some(2));
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 1, "files are left");
}

#[test]
fn slices_inside_bytes_are_errors() {
    let place = Place::new();
    let header = r#"{"f":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}"#;
    place.put("m", &file(header, &[0x10, 0x32, 0x54, 0x76]));
    assert_eq!(place.run(["slice", "m", "f=:,2:", "-o", "part"]).code, Some(0));
    assert_eq!(data(&place, "part"), [0x32, 0x76]);
    let run = place.run(["slice", "m", "f=:,1:3", "-o", "other"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.starts_with("m: tensor \"f\": "), "{run:?}");
    assert!(!place.path("other").exists());
}

#[test]
fn existing_files_are_not_overwritten() {
    let place = place();
    place.put("part", b"old");
    place.run(["slice", "m", "t=", "-o", "part"]).is(
        2,
        "",
        "part: already exists; use --force to overwrite it\n",
    );
    place.run(["slice", "m", "t=", "-o", "part", "--json"]).is(
        2,
        "{\"file\":\"part\",\"ok\":false,\"error\":\"usage\",\"message\":\"already exists; use --force to \
         overwrite it\"}\n",
        "",
    );
    assert_eq!(fs::read(place.path("part")).expect("a file"), b"old");
    assert_eq!(place.run(["slice", "m", "t=", "-o", "part", "--force"]).code, Some(0));
    place.run(["slice", "m", "t=", "-o", "./m", "--force"]).is(
        2,
        "",
        "./m: is an input; choose another output file\n",
    );
    let run = place.run(["slice", "m", "t=", "-o", "no/where"]);
    assert_eq!((run.code, run.err.starts_with("no/where: ")), (Some(2), true), "{run:?}");
    place.run(["slice", "m", "t=", "-o", "/dev/null", "--force"]).is(
        2,
        "",
        "/dev/null: not a regular file; refusing to overwrite it\n",
    );
    assert_eq!(fs::read_dir(place.path(".")).expect("directory").count(), 2, "files are left");
}

#[test]
fn invalid_models_are_rejected() {
    let place = Place::new();
    let whole = sound();
    place.put("torn", &whole[..whole.len() - 1]).put("empty", b"");
    for name in ["torn", "empty"] {
        let run = place.run(["slice", name, "a=", "-o", "part"]);
        assert_eq!(
            (run.code, run.out.as_str(), run.err.starts_with(&format!("{name}: error["))),
            (Some(1), "", true),
            "{run:?}"
        );
    }
    place.run(["slice", "missing", "a=", "-o", "part"]).is(
        2,
        "",
        "missing: cannot be read: no such file or directory\n",
    );
    assert!(!place.path("part").exists());
    assert_eq!(place.run_piped(["slice", "-", "a=1", "-o", "part"], &whole).code, Some(0));
    assert_eq!(data(&place, "part"), [b'b']);
}
