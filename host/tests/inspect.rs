//! `safetensors inspect`: the table, exit codes, `--json`, the sizes of an index.

use crate::support::{self, Place, file, many, model, sound};
use embedded_safetensors::{
    Model,
    index::{IndexMemory, IndexRecord},
};
use serde_json::json;

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
    for (locale, block) in [("C", "##"), ("POSIX", "##"), ("de_DE.utf8", "██"), ("en_US.UTF-8", "██")]
    {
        let run = support::finish(place.command(["inspect", "m"]).env("LC_ALL", locale));
        assert!(run.code == Some(0) && run.out.contains(block), "{locale}: {}", run.out);
    }
}

#[test]
fn json_has_more_details() {
    let place = Place::new();
    place.put("m", &three());
    let expected = json!({
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
    });
    assert_eq!(place.done(["inspect", "--json", "m"]).json(), expected);
    // Errors are those of `check`, also for several files.
    place.put("bad", b"abc");
    let bad =
        "bad: error[container.short] at byte 3: the file is too short for the 8-byte length of its header\n";
    let run = place.run(["inspect", "m", "gone", "bad"]);
    run.is(2, &format!("{TABLE}{bad}"), "gone: cannot be read: no such file or directory\n");
    let empty = place.put("empty", &file("{}", b"")).done(["inspect", "empty"]).out;
    assert!(empty.contains("  header: 2 bytes\n  data: 0 bytes from byte 10, no gaps\n"), "{empty}");
}

#[test]
fn index_sizes_are_exact() {
    let place = Place::new();
    place.put("m", &three());
    let line = place.done(["inspect", "--json", "m"]).json();
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
fn the_need_for_an_index_is_noted() {
    let place = Place::new();
    let header = r#"{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}"#;
    place.put("m", &file(header, b"x"));
    let run = place.run(["inspect", "m"]);
    let note = "  note: a tensor has 9 dimensions: more than 8 need an index\n";
    assert!(run.out.ends_with(note), "{}", run.out);
    place.put("m", &file(header.replacen("[1,", "[", 1), b"x"));
    assert!(!place.run(["inspect", "m"]).out.contains("note"));
}

#[test]
fn misaligned_tensors_are_named() {
    let place = Place::new();
    let rows = [
        ("byte", "U8", &[1][..], vec![0]),
        ("one", "F32", &[1], vec![0; 4]),
        ("two", "F32", &[1], vec![0; 4]),
    ];
    let text = model("", &rows);
    let header = text[8..text.len() - 9].to_vec();
    let room = 8 - header.len() % 8;
    place.put("m", &file([&header[..], &b" ".repeat(room)].concat(), &[0; 9]));
    let run = place.run(["inspect", "m"]);
    let note = "  note: 2 tensors do not begin at a multiple of their element width, and cannot be used in \
        place: \"one\", \"two\"\n";
    assert!(run.out.ends_with(note), "{}", run.out);
    let line = place.done(["inspect", "--json", "m"]).json();
    assert_eq!((&line["misaligned"], &line["header"]["room"]), (&json!(2), &json!(room)));
}

/// Escaped names, unusual shapes, and headers too long to be held have the same output.
#[test]
fn long_headers_have_the_same_output() {
    let place = Place::new();
    let short = many("é", 1000);
    let text = &short[8..short.len() - 1000];
    let long = [text, &b" ".repeat((16 << 20) + 8 - text.len())].concat();
    place.put("short", &short).put("long", &file(&long, &[0; 1000]));
    let rows = |name| {
        let out = place.run(["inspect", name]).out;
        let rows = out.lines().filter(|line| line.contains("U8     [1]"));
        rows.map(|row| row.rsplit_once(' ').expect("columns").0.trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((rows("short").len(), rows("short")), (1000, rows("long")));
    let tensors = |name| {
        let line = place.done(["inspect", "--json", name]).json();
        (line["tensors"]["é7"]["data_offsets"].clone(), line["dtypes"].clone(), line["index"].clone())
    };
    assert_eq!(tensors("short"), tensors("long"));
}

/// The data of a file is not read, by the counters of the system.
#[cfg(target_os = "linux")]
#[test]
fn only_the_header_is_read() {
    let place = Place::new();
    place.put_sparse("m", 90_000_000);
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
    let state = format!("/proc/{}/stat", child.id());
    support::until("its end", || std::fs::read_to_string(&state).expect("its state").contains(") Z "));
    let read = support::bytes_read(&child).expect("its counters");
    child.wait().expect("it has ended");
    read
}

/// Command lines and a part of what is said; then beginnings of command lines with guesses, and what the tip
/// about each of them names. `outputs` has the errors of other values.
#[test]
fn guesses_end_in_the_right_word() {
    let place = Place::new();
    place.put("m", &sound());
    for (line, sentence) in [
        ("pack m -o k --align 4K", "a whole number from 0 to 4294967295 needed, without a unit"),
        ("stats m a", "a: is a tensor, not a file; choose it with `--only`\n"),
        ("convert m --only a x.npy", "need --to; `pack` selects tensors, `cat MODEL TENSOR -o` writes one\n"),
        ("checkpoint m c", "m: is a file; give the directory, then the models\n"),
        ("inspect m --json --onyl a", "found; did you mean \\\"--only\\\"?\"}\n"),
        ("--json check m", "found; options follow the command\"}\n"),
    ] {
        let run = place.run(line.split(' '));
        assert!(run.code == Some(2) && (run.out.clone() + &run.err).contains(sentence), "{line}: {run:?}");
    }
    for (line, tips) in [
        ("", "compare=diff concat=pack cp=pack rename=pack get=cat extract=slice import=convert"),
        ("", "list=inspect keys=inspect view=cat metadata=--json tree=--tree m=check sum=hash"),
        ("", "cast=convert shard=split edit=--in-place drop=--except head=inspect upload=hf"),
        ("", "fetch=checkpoint version=--version quantize=quant validate=check chek=\"check\""),
        ("split m", "--size=--max-size --shards=--max-size"),
        ("diff m m", "--atol=--tolerance --rtol=--relative"),
        ("check m", "--recursive=directories -r=directories"),
        ("convert m", "--dequantize=--unscale"),
        ("pack m", "--metadata=--set --tensor=--only --remove=--except --sort=--order --strip-prefix=OLD="),
        ("pack m", "--overwrite=--force -f=--force --out=--output --dtype=convert --quiet=exit"),
        ("cat m a", "--tensor=TENSOR --head=--limit -n=--limit --to=convert"),
        ("slice m", "--tensor=TENSOR=SPEC"),
        ("stats m", "--exclude=--except --name=--only --head=--top -q=exit -f=without -o=> --format=--json"),
        ("emit m", "--format=--lang"),
    ] {
        for (guess, word) in tips.split(' ').filter_map(|pair| pair.split_once('=')) {
            let run = place.run(line.split_whitespace().chain([guess]));
            let tip = run.err.lines().find(|line| line.starts_with("  tip: ")).unwrap_or_default();
            assert!(run.code == Some(2) && tip.contains(word), "{line} {guess}: {run:?}");
        }
    }
}
