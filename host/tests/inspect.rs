//! The contract of `safetensors inspect`: the table, exit codes, `--json`, the numbers of an index.

mod support;
use embedded_safetensors::{IndexMemory, IndexRecord, Model};
use serde_json::{Value, json};
use support::{Place, file, sound, tensor};

/// Three tensors in no order, and metadata.
fn three() -> Vec<u8> {
    let header = concat!(
        r#"{"weight":{"data_offsets":[4,28],"shape":[2,3],"dtype":"F32"},"#,
        r#""__metadata__":{"format":"pt","":"\n"},"#,
        r#""é\u001b[31m":{"dtype":"I64","shape":[],"data_offsets":[28,36]},"#,
        r#""b":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}"#
    );
    file(header, &[0; 36])
}

const TABLE: &str = "\
m: ok, 3 tensors, 264 bytes
  tensor         dtype  shape   begin  end  bytes
  \"weight\"       F32    [2, 3]      4   28     24
  \"é\\u{1b}[31m\"  I64    []         28   36      8
  \"b\"            F4     [2, 4]      0    4      4

  header: 220 bytes
  data: 36 bytes from byte 228 on
  metadata: \"format\", \"\"
  index: IndexStorage<3, 4, 14>, 192 bytes
  longest name: 7 bytes
  note: the tensors are not in the order of their offsets: a device needs slots or an index to open it
";

#[test]
fn a_sound_file_is_shown_in_the_order_of_its_header() {
    let place = Place::new();
    place.put("m", &three());
    place.run(["inspect", "m"]).is(0, TABLE, "");
    let piped = place.run_piped(["inspect", "-"], &three());
    piped.is(0, &TABLE.replacen('m', "-", 1), "");
}

#[test]
fn without_tensors_there_is_no_table_and_without_metadata_no_line() {
    let place = Place::new();
    let table = "m: ok, 0 tensors, 10 bytes\n  header: 2 bytes\n  data: 0 bytes from byte 10 on\n  index: IndexStorage<0, 0, 0>, 0 bytes\n  longest name: 0 bytes\n";
    place.put("m", &file("{}", b""));
    place.run(["inspect", "m"]).is(0, table, "");
}

#[test]
fn json_says_more() {
    let place = Place::new();
    place.put("m", &three()).put("bad", b"abc");
    let run = place.run(["inspect", "--json", "m", "bad", "gone"]);
    assert_eq!((run.code, run.err.as_str()), (Some(2), ""));
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        lines,
        [
            json!({
                "file": "m", "ok": true, "bytes": 264, "data_start": 228,
                "tensors": {
                    "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
                    "é\u{1b}[31m": {"dtype": "I64", "shape": [], "data_offsets": [28, 36]},
                    "b": {"dtype": "F4", "shape": [2, 4], "data_offsets": [0, 4]},
                },
                "metadata": {"format": "pt", "": "\n"},
                "index": {"tensors": 3, "dims": 4, "name_bytes": 14, "bytes": 192},
                "longest_name": 7, "most_dims": 2, "in_order": false,
            }),
            json!({"file": "bad", "ok": false, "code": "container.short", "at": 3,
                "message": "the file is shorter than the 8 bytes of the header's length"}),
            json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"}),
        ]
    );
}

#[test]
fn what_is_wrong_is_said_as_check_says_it() {
    let place = Place::new();
    let twice = format!("{{{},{}}}", tensor("a", 0, 1), tensor("a", 1, 2));
    place.put("good", &sound()).put("short", b"abc").put("twice", &file(twice, b"xy"));
    place.put("old", &file(r#"{"a":{"dtype":"X"}}"#, b""));
    for bad in ["short", "twice", "old", "gone"] {
        for form in [&[][..], &["--json"]] {
            let said = |command| place.run([&[command], form, &[bad]].concat());
            assert_eq!(said("inspect"), said("check"), "{bad}");
            assert_ne!(said("inspect").code, Some(0), "{bad}");
        }
    }
    let codes = [vec!["good", "good"], vec!["twice", "good"], vec!["gone", "twice", "good"]]
        .map(|files| place.run([&["inspect"][..], &files].concat()).code);
    assert_eq!(codes, [Some(0), Some(1), Some(2)]);
}

#[test]
fn the_three_numbers_are_what_an_index_takes() {
    let place = Place::new();
    place.put("m", &three());
    let line: Value = serde_json::from_str(&place.run(["inspect", "--json", "m"]).out).expect("JSON");
    let number = |name: &str| usize::try_from(line["index"][name].as_u64().expect(name)).expect(name);
    let opens = |tensors, dims, name_bytes| {
        let mut records = vec![IndexRecord::EMPTY; tensors];
        let (mut dims, mut names) = (vec![0; dims], vec![0; name_bytes]);
        let memory = IndexMemory::new(&mut records, &mut dims, &mut names);
        Model::open_indexed(&three()[..], memory, &mut [0; 64]).is_ok()
    };
    let [tensors, dims, names] = ["tensors", "dims", "name_bytes"].map(number);
    assert!(opens(tensors, dims, names));
    assert!(!opens(tensors - 1, dims, names));
    assert!(!opens(tensors, dims - 1, names));
    assert!(!opens(tensors, dims, names - 1));
}

#[test]
fn what_is_absurdly_long_is_cut_short() {
    let place = Place::new();
    let (name, dims) = ("n".repeat(100_000), vec!["1"; 1000].join(","));
    let member = format!(r#""{name}":{{"dtype":"U8","shape":[{dims}],"data_offsets":[0,1]}}"#);
    let header = format!(r#"{{"__metadata__":{{"{name}":"{name}"}},{member}}}"#);
    place.put("m", &file(header, b"x"));
    let run = place.run(["inspect", "m"]);
    let (cut, ones) = (format!("\"{}…\"", "n".repeat(80)), vec!["1"; 16].join(", "));
    let shape = format!("[{ones}, … 1000 in all]");
    let row = format!("  {cut}  U8     {shape}      0    1      1");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!((run.code, lines[2]), (Some(0), row.as_str()));
    assert_eq!(lines[6], format!("  metadata: {cut}"));
    assert_eq!(lines[7], "  index: IndexStorage<1, 1000, 100000>, 108048 bytes");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let place = Place::new();
    for args in [&["inspect"][..], &["inspect", "--bogus", "m"]] {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.err.contains("Usage: safetensors inspect"), "{run:?}");
    }
    let twice = "safetensors: standard input can be read only once, but `-` is given twice\n";
    place.run(["inspect", "-", "-"]).is(2, "", twice);
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let place = Place::new();
    place.put("m", &three());
    for args in [&["inspect", "m", "m"][..], &["inspect", "--json", "m"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        support::finish(place.command(args).stdout(writer)).is(2, "", "");
    }
}

#[test]
fn what_a_device_cannot_do_without_an_index_is_noted() {
    let place = Place::new();
    let header = r#"{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}"#;
    place.put("m", &file(header, b"x"));
    let run = place.run(["inspect", "m"]);
    assert!(
        run.out.ends_with("  note: a tensor has 9 dimensions: only an index holds more than 8\n"),
        "{}",
        run.out
    );
    place.put("m", &file(header.replacen("[1,", "[", 1), b"x"));
    assert!(!place.run(["inspect", "m"]).out.contains("note"));
}
