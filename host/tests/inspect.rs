//! `safetensors inspect`: the table, exit codes, `--json`, the sizes of an index.

use crate::support::{self, Place, file, sound, tensor};
use embedded_safetensors::{
    Model,
    index::{IndexMemory, IndexRecord},
};
use serde_json::{Value, json};

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
  tensor         dtype  shape   begin  end  bytes  align
  \"weight\"       F32    [2, 3]      4   28     24      8
  \"é\\u{1b}[31m\"  I64    []         28   36      8    256
  \"b\"            F4     [2, 4]      0    4      4      4

  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▒███████▓▓
  ░ header  █ F32 9.09 %  ▓ I64 3.03 %  ▒ F4 1.52 %

  header: 220 bytes
  data: 36 bytes from byte 228, no gaps
  parameters: 15: F32 6, I64 1, F4 8
  metadata: \"\": \"\\n\"
  metadata: \"format\": \"pt\"
  index: IndexStorage<3, 4, 14>, 192 bytes
  longest name: 7 bytes
  note: tensors not in the order of their offsets: a device needs sort slots or an index to open it
";

#[test]
fn tensors_are_shown_in_header_order() {
    let place = Place::new();
    place.put("m", &three());
    place.run(["inspect", "m"]).is(0, TABLE, "");
    let piped = place.run_piped(["inspect", "-"], &three());
    piped.is(0, &TABLE.replacen('m', "-", 1), "");
}

#[test]
fn empty_models_have_no_table() {
    let place = Place::new();
    let table = format!(
        "m: ok, 0 tensors, 10 bytes\n  {}\n  ░ header\n\n  header: 2 bytes\n  data: 0 bytes from byte 10, \
         no gaps\n  parameters: 0\n  index: IndexStorage<0, 0, 0>, 0 bytes\n  longest name: 0 bytes\n",
        "░".repeat(76)
    );
    place.put("m", &file("{}", b""));
    place.run(["inspect", "m"]).is(0, &table, "");
}

#[test]
fn json_has_more_details() {
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
                    "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28], "alignment": 8},
                    "é\u{1b}[31m": {"dtype": "I64", "shape": [], "data_offsets": [28, 36], "alignment": 256},
                    "b": {"dtype": "F4", "shape": [2, 4], "data_offsets": [0, 4], "alignment": 4},
                },
                "metadata": {"format": "pt", "": "\n"},
                "header": {"bytes": 220, "room": 0}, "parameters": 15,
                "dtypes": {"F32": {"parameters": 6, "bytes": 24}, "I64": {"parameters": 1, "bytes": 8},
                    "F4": {"parameters": 8, "bytes": 4}},
                "misaligned": 0,
                "index": {"tensors": 3, "dims": 4, "name_bytes": 14, "bytes": 192},
                "longest_name": 7, "most_dims": 2, "in_order": false,
            }),
            json!({"file": "bad", "ok": false, "code": "container.short", "at": 3,
                "message": "the file is too short for the 8-byte length of its header"}),
            json!({"file": "gone", "ok": false, "error": "io", "message": "no such file or directory"}),
        ]
    );
}

#[test]
fn errors_are_those_of_check() {
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
fn index_sizes_are_exact() {
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
fn long_names_are_whole_and_long_shapes_and_values_are_cut() {
    let place = Place::new();
    let (name, dims) = ("n".repeat(100_000), vec!["1"; 1000].join(","));
    let member = format!(r#""{name}":{{"dtype":"U8","shape":[{dims}],"data_offsets":[0,1]}}"#);
    let header = format!(r#"{{"__metadata__":{{"{name}":"{name}"}},{member}}}"#);
    place.put("m", &file(header, b"x"));
    let run = place.run(["inspect", "m"]);
    let (cut, ones) = (format!("\"{}…\"", "n".repeat(80)), vec!["1"; 16].join(", "));
    let shape = format!("[{ones}, … 1000 in all]");
    let row = format!("  \"{name}\"  U8     {shape}      0    1      1      1");
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(run.code == Some(0) && lines[2] == row, "{}", &lines[2][lines[2].len() - 200..]);
    assert_eq!(lines[10], format!("  metadata: {cut}: {cut}"));
    assert_eq!(lines[11], "  index: IndexStorage<1, 1000, 100000>, 108,048 bytes");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let place = Place::new();
    for args in [&["inspect"][..], &["inspect", "--bogus", "m"]] {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.err.contains("Usage: safetensors inspect"), "{run:?}");
    }
    let twice = "safetensors: standard input can be read only once; `-` is given twice\n";
    place.run(["inspect", "-", "-"]).is(2, "", twice);
}

#[test]
fn closed_output_ends_the_run_quietly() {
    let place = Place::new();
    place.put("m", &three());
    for args in [&["inspect", "m", "m"][..], &["inspect", "--json", "m"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        support::finish(place.command(args).stdout(writer)).is(2, "", "");
    }
}

#[test]
fn the_need_for_an_index_is_noted() {
    let place = Place::new();
    let header = r#"{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}"#;
    place.put("m", &file(header, b"x"));
    let run = place.run(["inspect", "m"]);
    assert!(
        run.out.ends_with("  note: a tensor has 9 dimensions: more than 8 need an index\n"),
        "{}",
        run.out
    );
    place.put("m", &file(header.replacen("[1,", "[", 1), b"x"));
    assert!(!place.run(["inspect", "m"]).out.contains("note"));
}

#[test]
fn ascii_locales_get_ascii_characters() {
    let place = Place::new();
    place.put("m", &three());
    for (locale, block) in [("C", "##"), ("POSIX", "##"), ("de_DE.utf8", "██"), ("en_US.UTF-8", "██")]
    {
        let run = support::finish(place.command(["inspect", "m"]).env("LC_ALL", locale));
        assert_eq!((run.code, run.out.contains(block)), (Some(0), true), "{locale}: {}", run.out);
    }
}

#[test]
fn misaligned_tensors_are_named() {
    let place = Place::new();
    let member = |name: &str, begin: u64| {
        format!(r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":[{begin},{}]}}"#, begin + 4)
    };
    let header = format!("{{{},{},{}}}", tensor("byte", 0, 1), member("one", 1), member("two", 5));
    place.put("m", &file(format!("{header}{}", " ".repeat(8 - header.len() % 8)), &[0; 9]));
    let run = place.run(["inspect", "m"]);
    let note = "  note: 2 tensors do not begin at a multiple of their element width, and cannot be used in \
        place: \"one\", \"two\"\n";
    assert!(run.out.ends_with(note), "{}", run.out);
    let line: Value = serde_json::from_str(&place.run(["inspect", "--json", "m"]).out).expect("JSON");
    assert_eq!((&line["misaligned"], &line["header"]["room"]), (&json!(2), &json!(8 - header.len() % 8)));
}

/// Escaped names, unusual shapes, and headers too long to be held have the same output.
#[test]
fn long_headers_have_the_same_output() {
    let place = Place::new();
    let members = (0..1000).map(|index| tensor(&format!("t{index}é"), index, index + 1));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let long = format!("{text}{}", " ".repeat((16 << 20) + 8 - text.len()));
    place.put("short", &file(&text, &[0; 1000])).put("long", &file(&long, &[0; 1000]));
    let rows = |name| {
        let out = place.run(["inspect", name]).out;
        let rows: Vec<String> =
            out.lines().filter(|line| line.contains("U8     [1]")).map(str::to_owned).collect();
        rows.iter()
            .map(|row| row.rsplit_once(' ').expect("columns").0.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((rows("short").len(), rows("short")), (1000, rows("long")));
    let tensors = |name| {
        let line: Value = serde_json::from_str(&place.run(["inspect", "--json", name]).out).expect("JSON");
        (line["tensors"]["t7é"]["data_offsets"].clone(), line["dtypes"].clone(), line["index"].clone())
    };
    assert_eq!(tensors("short"), tensors("long"));
}

/// The data of a file is not read, by the counters of the system.
#[cfg(target_os = "linux")]
#[test]
fn only_the_header_is_read() {
    let place = Place::new();
    let header = format!("{{{}}}", tensor("zeros", 0, 90_000_000));
    place.put("m", &file(&header, b""));
    let whole = std::fs::OpenOptions::new().write(true).open(place.path("m")).expect("the file");
    whole.set_len(8 + header.len() as u64 + 90_000_000).expect("a hole");
    for args in [&["inspect", "m"][..], &["inspect", "--json", "m"], &["check", "m"]] {
        let read = bytes_read(&place, args) - bytes_read(&place, &["--version"]);
        assert!(read < 6000, "{args:?} reads {read} bytes");
    }
}

/// The bytes read by a run, including its libraries.
#[cfg(target_os = "linux")]
fn bytes_read(place: &Place, args: &[&str]) -> i64 {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = place.command(args).stdout(writer).spawn().expect("the binary runs");
    // A process that has exited keeps its counters until it is waited for.
    std::io::read_to_string(reader).expect("it prints");
    let path = format!("/proc/{}/io", child.id());
    let ended = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its state");
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    };
    while !ended(child.id()) {
        std::thread::yield_now();
    }
    let counters = std::fs::read_to_string(path).expect("its counters");
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("rchar");
    child.wait().expect("it has ended");
    read.parse().expect("a number")
}

#[test]
fn options_say_what_they_take() {
    let place = Place::new();
    place.put("m", &sound());
    for (args, sentence) in [
        (&["inspect", "m", "--top", "0"][..], "'--top <N>': a number above 0 needed"),
        (&["stats", "m", "--top", "-1"], "'--top <N>': a number above 0 needed"),
        (&["check", "m", "--jobs", "x"], "a number above 0 needed"),
        (&["diff", "m", "m", "--tolerance", "-1"], "a number of 0 or more needed"),
        (&["cat", "m", "a", "--limit", "-1"], "a whole number needed"),
        (&["pack", "m", "-o", "k", "--align", "x"], "a whole number needed"),
        (&["check", "m", "--server-timeout", "5s"], "a number of seconds from 1 to 86400 needed"),
        (&["inspect", "m", "--except", "*"], "m: --only and --except leave no tensor\n"),
        (&["stats", "m", "--only", "a", "--except", "?"], "m: --only and --except leave no tensor\n"),
    ] {
        let run = place.run(args);
        assert!(run.code == Some(2) && run.err.contains(sentence), "{args:?}: {run:?}");
    }
    let json = place.run(["inspect", "m", "--json", "--onyl", "a"]).out;
    assert!(json.contains("found; a similar argument exists: '--only'\"}"), "{json}");
}
