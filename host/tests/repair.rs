//! `safetensors repair`: what it repairs, against a naive model, and what it does not.
#![cfg(unix)]

use crate::support::{Contents, Place, Random, file, random, sound, tensor};
use embedded_safetensors::FileModel;

/// A file with gaps, padding, bytes too many or too few. The naive model: the tensors whose bytes are all
/// there, the number of the others, and what is said of the file; nothing if it is valid.
fn damaged(random: &mut Random, by: &str) -> (Vec<u8>, Vec<Contents>, usize, String) {
    let (mut data, mut tensors) = (Vec::new(), Vec::new());
    let mut header = format!(r#"{{"__metadata__":{{"by":"{by}","_safestructures_schema_":"[]"}}"#);
    for at in 0..1 + random.below(5) {
        let (dtype, width) = random.pick(&[("U8", 1), ("F16", 2), ("F32", 4), ("F64", 8)]);
        let (len, gap) = (random.below(20), data.len());
        data.resize(gap + random.pick(&[0, 0, 0, 3, 8]), 0xAA);
        let (begin, bytes) = (data.len(), random.bytes(width * len));
        data.extend_from_slice(&bytes);
        let (shape, end) = (vec![len as u64], data.len());
        header +=
            &format!(r#","t{at}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#);
        tensors.push((gap, begin..end, (format!("t{at}"), dtype, shape, bytes)));
    }
    let (end, filler, padding) = (data.len(), random.pick(b"\0 \x1b"), random.below(4));
    data.resize(end + random.pick(&[0, 1, 30]), 0xBB);
    data.truncate(data.len().saturating_sub(if random.percent(50) { random.below(60) } else { 0 }));
    let bytes = file([(header + "}\n").as_bytes(), &vec![filler; padding]].concat(), &data);
    let (start, kept) = (bytes.len() - data.len(), data.len());
    let count = |bytes: usize| format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
    let left_out = |from: usize, to: usize, what: &str| match from < to {
        true => format!("  at byte {from}: left out {} {what}\n", count(to - from)),
        false => String::new(),
    };
    let padding = if filler == b' ' { 0 } else { padding };
    let mut said = left_out(start - padding, start, "of padding after the JSON");
    let (mut whole, mut lost) = (Vec::new(), Vec::new());
    for (gap, place, tensor) in tensors {
        said += &left_out(start + gap, start + place.start.min(kept), "between tensors");
        let (name, dtype, shape, bytes) = &tensor;
        let present = place.filter(|at| *at < kept).count();
        let of = count(bytes.len());
        let line = format!("  lost: \"{name}\", {dtype} {shape:?}: {present} of its {of} are in the file\n");
        match present == bytes.len() {
            true => whole.push(tensor),
            false => lost.push(line),
        }
    }
    said += &left_out(start + end, start + kept, "after the last tensor");
    if kept < end {
        said += &format!("  at byte {}: the file ends, and lacks {}\n", start + kept, count(end - kept));
    }
    if !lost.is_empty() {
        said += "  left out: the nested structure in the metadata, which needs all tensors\n";
    }
    (bytes, whole, lost.len(), said + &lost.concat())
}

#[test]
fn random_damage_loses_only_what_is_missing() {
    let (mut random, place) = (random(), Place::new());
    for case in 0..300 {
        // Longer than a buffer, with a character at its end.
        let by = if case == 0 { "\u{e9}".repeat(60_000) } else { "hand".to_owned() };
        let (bytes, whole, lost, said) = damaged(&mut random, &by);
        place.put("m", &bytes);
        let run = place.made(["repair", "m"]);
        let note = format!("case {case}: {run:?}");
        assert!(place.read("m") == bytes, "{note}");
        if said.is_empty() || whole.is_empty() {
            let is_valid = FileModel::open(place.path("m")).is_ok();
            assert_eq!((run.code, said.is_empty()), (Some(1), is_valid), "{note}");
            assert_eq!(run.err.contains("is valid"), is_valid, "{note}");
            continue;
        }
        assert_eq!((run.code, &run.err), (Some(i32::from(lost > 0)), &said), "{note}");
        let (found, metadata) = place.contents();
        let pairs = metadata.expect("metadata");
        assert!(found == whole && pairs["by"] == by && (pairs.len() == 2) == (lost == 0), "{note}");
    }
}

/// The error is that of `check`, and nothing is written.
#[test]
fn what_cannot_be_repaired_is_one_sentence() {
    let place = Place::new();
    let twice = format!("{{{},{}}}", tensor("a", 0, 2), tensor("a", 2, 4));
    let over = format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 1, 3));
    let one = format!("{{{}}}", tensor("a", 0, 2));
    let files: [(&str, Vec<u8>); 8] = [
        ("back", file(one.replace("[0,2]", "[2,0]"), b"ab")),
        ("size", file(one.replace("[0,2]", "[0,3]"), b"abcd")),
        ("twice", file(twice, b"abcd")),
        ("over", file(over, b"abc")),
        ("text", file(one.clone() + "\0x", b"ab")),
        ("lost", file(&one, b"a")),
        ("cut", sound()[..40].to_vec()),
        ("none", Vec::new()),
    ];
    for (name, bytes) in files {
        let verdict = place.put(name, &bytes).run(["check", name]);
        let run = place.run(["repair", name, "-o", "out"]);
        let first = verdict.out.lines().next().expect("an error");
        run.fails(1, &format!("{first}; this cannot be repaired\n"));
    }
    place.refuses("repair missing -o out", 2, "missing: cannot be read: no such file or directory");
    place.put("m.safetensors.index.json", b"{}");
    let sentence = "m.safetensors.index.json: is an index; give the path of the shard to repair";
    place.refuses("repair m.safetensors.index.json -o out", 2, sentence);
    let run = place.run_piped(["repair", "-", "-o", "out"], &[&sound()[..], b"x"].concat());
    run.fails(1, "; only files on this computer can be repaired: save it first\n");
    assert!(!place.path("out").exists());
}
