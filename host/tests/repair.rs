//! `safetensors repair`: what it repairs, against a naive model, and what it does not.
#![cfg(unix)]

use crate::support::{Place, Random, file, random, sound, tensor};
use embedded_safetensors::FileModel;

/// A tensor of the naive model: its name, dtype, bytes of an element, and bytes.
type Tensor = (String, &'static str, usize, Vec<u8>);

/// A header of these tensors with gaps, and the data with bytes at its end.
fn damaged(tensors: &[Tensor], gaps: &[usize], padding: &[u8], trailing: usize) -> Vec<u8> {
    let (mut members, mut data) = (vec![r#""__metadata__":{"by":"hand"}"#.to_owned()], Vec::new());
    for ((name, dtype, width, bytes), gap) in tensors.iter().zip(gaps) {
        data.resize(data.len() + gap, 0xAA);
        let (shape, begin) = (bytes.len() / width, data.len());
        data.extend_from_slice(bytes);
        let offsets = format!("[{begin},{}]", data.len());
        members.push(format!(r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":{offsets}}}"#));
    }
    data.resize(data.len() + trailing, 0xBB);
    file([format!("{{{}}}", members.join(",")).as_bytes(), padding].concat(), &data)
}

fn tensors(random: &mut Random) -> Vec<Tensor> {
    let count = 1 + random.below(5);
    let one = |at| {
        let (dtype, width) = random.pick(&[("U8", 1), ("F16", 2), ("F32", 4), ("F64", 8)]);
        let len = width * random.below(20);
        (format!("t{at}"), dtype, width, random.bytes(len))
    };
    (0..count).map(one).collect()
}

#[test]
fn random_damage_loses_only_what_is_missing() {
    let (mut random, place) = (random(), Place::new());
    for case in 0..300 {
        let tensors = tensors(&mut random);
        let gaps: Vec<_> = tensors.iter().map(|_| random.pick(&[0, 0, 0, 3, 8])).collect();
        let padding = [&[b'\n'][..], &vec![random.pick(b"\0 \x1b"); random.below(4)]].concat();
        let trailing = random.pick(&[0, 1, 30]);
        let bytes = damaged(&tensors, &gaps, &padding, trailing);
        let cut = if random.percent(50) { random.below(60) } else { 0 };
        let data: usize = tensors.iter().map(|(.., bytes)| bytes.len()).sum::<usize>() + trailing;
        let data = data + gaps.iter().sum::<usize>();
        let kept = data - cut.min(data);
        let bytes = &bytes[..bytes.len() - (data - kept)];
        place.put("m", bytes);
        let run = place.made(["repair", "m"]);
        let note = format!("case {case}: {run:?}");
        assert!(place.read("m") == bytes, "{note}");
        // The naive model: a tensor is whole if the file has all of its bytes.
        let (mut end, mut whole) = (0, Vec::new());
        for ((name, dtype, width, bytes), gap) in tensors.iter().zip(&gaps) {
            end += gap + bytes.len();
            if end <= kept || bytes.is_empty() {
                whole.push((name.clone(), *dtype, vec![(bytes.len() / width) as u64], bytes.clone()));
            }
        }
        let is_valid = FileModel::open(place.path("m")).is_ok();
        if is_valid || whole.is_empty() {
            assert_eq!((run.code, run.err.contains("is valid")), (Some(1), is_valid), "{note}");
            continue;
        }
        let lost = tensors.len() - whole.len();
        assert_eq!(run.code, Some(i32::from(lost > 0)), "{note}");
        assert_eq!(run.err.matches("  lost: ").count(), lost, "{note}");
        let (found, metadata) = place.contents();
        assert!(found == whole && metadata.is_some_and(|pairs| pairs["by"] == "hand"), "{note}");
    }
}

/// The error is that of `check`, and nothing is written.
#[test]
fn what_cannot_be_repaired_is_one_sentence() {
    let place = Place::new();
    let twice = format!("{{{},{}}}", tensor("a", 0, 2), tensor("a", 2, 4));
    let over = format!("{{{},{}}}", tensor("a", 0, 2), tensor("b", 1, 3));
    let one = format!("{{{}}}", tensor("a", 0, 2));
    let files: [(&str, Vec<u8>); 6] = [
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
    place.put("sound", &sound());
    place.refuses("repair sound -o out", 1, "sound: is valid: nothing to repair");
    place.refuses("repair missing -o out", 2, "missing: cannot be read: no such file or directory");
    place.put("m.safetensors.index.json", b"{}");
    let sentence = "m.safetensors.index.json: is an index; give the path of the shard to repair";
    place.refuses("repair m.safetensors.index.json -o out", 2, sentence);
    let run = place.run_piped(["repair", "-", "-o", "out"], &[&sound()[..], b"x"].concat());
    run.fails(1, "; only files on this computer can be repaired: save it first\n");
    assert!(!place.path("out").exists());
}
