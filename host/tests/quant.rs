//! `safetensors quant`: the new tensors, and what it cannot rewrite.
#![cfg(unix)]

use crate::support::Place;

const INPUTS: usize = 64;
const OUTPUTS: usize = 16;
const GROUPS: usize = 2;

/// A tensor: its name, dtype, shape and bytes.
type Tensor = (&'static str, &'static str, Vec<u64>, Vec<u8>);

fn number(number: usize) -> u32 {
    u32::try_from(number).expect("small")
}

fn weight(output: usize, input: usize) -> u32 {
    number((output * 7 + input * 3 + input / 5) % 16)
}

fn scale(output: usize, group: usize) -> u16 {
    u16::try_from(0x2000 + output * 16 + group).expect("small")
}

fn zero(output: usize, group: usize) -> u32 {
    number((output + 3 * group) % 15 + 1)
}

/// Eight values of 4 bits, the first in the lowest bits.
fn packed(values: impl Fn(usize) -> u32) -> [u8; 4] {
    (0..8).fold(0, |word, nibble| word | values(nibble) << (4 * nibble)).to_le_bytes()
}

const AWQ: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

/// A layer as GPTQ writes it, whose zero points are stored less `less`.
fn gptq(less: u32) -> Vec<Tensor> {
    let weights = (0..INPUTS / 8)
        .flat_map(|row| (0..OUTPUTS).flat_map(move |out| packed(|nibble| weight(out, 8 * row + nibble))));
    let zeros = (0..GROUPS).flat_map(|group| {
        (0..OUTPUTS / 8).flat_map(move |column| packed(|nibble| zero(8 * column + nibble, group) - less))
    });
    let order = (0..INPUTS).flat_map(|input| number(input / 32).to_le_bytes());
    vec![
        ("l.qweight", "I32", dims([INPUTS / 8, OUTPUTS]), weights.collect()),
        ("l.qzeros", "I32", dims([GROUPS, OUTPUTS / 8]), zeros.collect()),
        ("l.scales", "F16", dims([GROUPS, OUTPUTS]), scales()),
        ("l.g_idx", "I32", dims([INPUTS]), order.collect()),
        ("l.bias", "F16", dims([OUTPUTS]), vec![7; 2 * OUTPUTS]),
    ]
}

/// The same layer as AWQ writes it.
fn awq() -> Vec<Tensor> {
    let weights = (0..INPUTS).flat_map(|input| {
        (0..OUTPUTS / 8).flat_map(move |column| packed(|nibble| weight(8 * column + AWQ[nibble], input)))
    });
    let zeros = (0..GROUPS).flat_map(|group| {
        (0..OUTPUTS / 8).flat_map(move |column| packed(|nibble| zero(8 * column + AWQ[nibble], group)))
    });
    vec![
        ("l.qweight", "I32", dims([INPUTS, OUTPUTS / 8]), weights.collect()),
        ("l.qzeros", "I32", dims([GROUPS, OUTPUTS / 8]), zeros.collect()),
        ("l.scales", "F16", dims([GROUPS, OUTPUTS]), scales()),
        ("l.bias", "F16", dims([OUTPUTS]), vec![7; 2 * OUTPUTS]),
    ]
}

fn dims<const N: usize>(dims: [usize; N]) -> Vec<u64> {
    dims.map(|dim| number(dim).into()).to_vec()
}

fn scales() -> Vec<u8> {
    (0..GROUPS).flat_map(|group| (0..OUTPUTS).flat_map(move |out| scale(out, group).to_le_bytes())).collect()
}

/// A layer as GPTQ writes it, and another tensor of this length.
pub fn put_layer(place: &Place, name: &str, len: usize) {
    let other = ("other", "U8", dims([len]), vec![7; len]);
    place.put_model(name, &[gptq(1), vec![other]].concat());
}

/// The bytes of a tensor, by another command.
fn bytes(place: &Place, name: &str) -> Vec<u8> {
    place.done(["cat", "out", name, "--format", "raw", "-o", "raw", "--force"]);
    place.read("raw")
}

#[test]
fn layers_become_rows_of_outputs() {
    let cases = [("gptq", gptq(1), 2), ("gptq-v2", gptq(0), 2), ("awq", awq(), 2), ("gptq", gptq(1), 4)];
    for (from, mut tensors, width) in cases {
        if width == 4 {
            let (halves, _) = tensors[2].3.as_chunks::<2>();
            let wide = halves.iter().flat_map(|half| [0, 0, half[0], half[1]]).collect();
            (tensors[2].1, tensors[2].3) = ("F32", wide);
        }
        let place = Place::new();
        place.put_model("m", &tensors);
        let run = place.run(["quant", "m", "--from", from, "-o", "out"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        let row = "  \"l.weight\"    16       64     32  stored\n";
        assert!(run.out.starts_with("out: 4 tensors, ") && run.out.ends_with(row), "{run:?}");
        let weights = bytes(&place, "l.weight");
        let scales = bytes(&place, "l.weight.scale");
        let zeros = bytes(&place, "l.weight.zero_point");
        assert_eq!(weights.len(), OUTPUTS * INPUTS / 2);
        for output in 0..OUTPUTS {
            for input in 0..INPUTS {
                let byte = weights[(output * INPUTS + input) / 2];
                assert_eq!(u32::from(byte >> (4 * (input % 2)) & 15), weight(output, input), "{from}");
            }
            for group in 0..GROUPS {
                let at = output * GROUPS + group;
                let end = width * (at + 1);
                assert_eq!(scales[end - 2..end], scale(output, group).to_le_bytes(), "{from}");
                assert_eq!(u32::from(zeros[at]), zero(output, group), "{from}");
            }
        }
        assert_eq!(bytes(&place, "l.bias"), [7; 2 * OUTPUTS]);
        let decoded = place.run(["decode", "out"]).out;
        assert!(decoded.contains(r#""metadata":{"by":"hand"}"#) && !decoded.contains("g_idx"), "{decoded}");
    }
}

#[test]
fn usual_zero_points_are_left_out() {
    let place = Place::new();
    let mut tensors = gptq(1);
    tensors[1].3 = vec![0x77; tensors[1].3.len()];
    place.put_model("m", &tensors);
    let run = place.run(["quant", "m", "--from", "gptq", "-o", "out", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    let rewritten =
        r#""rewritten":[{"name":"l.weight","rows":16,"columns":64,"group":32,"zero_points":false}]"#;
    assert!(run.out.contains(rewritten) && run.out.contains(r#""tensors":3,"#), "{run:?}");
    assert!(!place.run(["decode", "out"]).out.contains("zero_point"));
}

/// A layer of this name whose stored zero points are all this byte, two of them.
fn with_zeros(names: [&'static str; 3], zeros: u8) -> Vec<Tensor> {
    let mut tensors = gptq(1);
    tensors.truncate(3);
    for (tensor, name) in tensors.iter_mut().zip(names) {
        tensor.0 = name;
    }
    tensors[1].3 = vec![zeros; tensors[1].3.len()];
    tensors
}

#[test]
fn the_other_format_of_gptq_is_suggested() {
    let [first, second] = [["a.qweight", "a.qzeros", "a.scales"], ["b.qweight", "b.qzeros", "b.scales"]];
    let warning = |stored: u8, other: &str| {
        format!(
            "m: warning: tensor \"a.qzeros\" and all like it store only the zero point {stored}, as a \
             symmetric model of --from {other} does: use that, or every weight is shifted by one step\n"
        )
    };
    for (from, zeros, expected) in [
        ("gptq-v2", [0x77, 0x77], warning(7, "gptq")),
        ("gptq", [0x88, 0x88], warning(8, "gptq-v2")),
        ("gptq", [0x77, 0x77], String::new()),
        ("gptq-v2", [0x88, 0x88], String::new()),
        // One layer alone may have such zero points.
        ("gptq-v2", [0x77, 0x78], String::new()),
        ("gptq", [0x88, 0x77], String::new()),
        ("gptq", [0x98, 0x88], String::new()),
    ] {
        let place = Place::new();
        place.put_model("m", &[with_zeros(first, zeros[0]), with_zeros(second, zeros[1])].concat());
        let run = place.run(["quant", "m", "--from", from, "-o", "out"]);
        assert_eq!((run.code, run.err), (Some(0), expected), "{from} {zeros:?}");
    }
    let place = Place::new();
    let mut outputs = awq();
    outputs[1].3.fill(0x77);
    place.put_model("m", &outputs);
    assert_eq!(place.run(["quant", "m", "--from", "awq", "-o", "out"]).err, "");
}

#[test]
fn large_layers_are_rewritten_in_bands() {
    // More than 4 MiB of integers.
    let (inputs, outputs) = (1024, 9216);
    let word = |row: usize, output: usize| number(row * outputs + output).wrapping_mul(0x9E37_79B1);
    let weights: Vec<u8> = (0..inputs / 8)
        .flat_map(|row| (0..outputs).flat_map(move |output| word(row, output).to_le_bytes()))
        .collect();
    let tensors = [
        ("l.qweight", "I32", dims([inputs / 8, outputs]), weights),
        ("l.qzeros", "I32", dims([8, outputs / 8]), vec![0x77; outputs * 4]),
        ("l.scales", "F16", dims([8, outputs]), vec![1; outputs * 16]),
    ];
    let place = Place::new();
    place.put_model("m", &tensors);
    assert_eq!(place.run(["quant", "m", "--from", "gptq", "-o", "out"]).code, Some(0));
    let weights = bytes(&place, "l.weight");
    let (rows, rest) = weights.as_chunks::<4>();
    assert_eq!((rows.len(), rest.len()), (inputs / 8 * outputs, 0));
    let expected = (0..outputs).flat_map(|output| (0..inputs / 8).map(move |row| word(row, output)));
    assert!(rows.iter().map(|bytes| u32::from_le_bytes(*bytes)).eq(expected));
}

#[test]
fn what_cannot_be_rewritten_is_one_sentence() {
    let with = |change: fn(&mut Vec<Tensor>)| {
        let mut tensors = gptq(1);
        change(&mut tensors);
        tensors
    };
    let groups = vec![
        ("l.qweight", "I32", vec![8, 8], vec![0; 256]),
        ("l.scales", "F16", vec![4, 8], vec![0; 64]),
        ("l.qzeros", "I32", vec![4, 1], vec![0; 16]),
    ];
    let outputs = vec![
        ("l.qweight", "I32", vec![8, 12], vec![0; 384]),
        ("l.scales", "F16", vec![2, 12], vec![0; 48]),
        ("l.qzeros", "I32", vec![2, 1], vec![0; 8]),
    ];
    let bits = "4-bit weights of this shape";
    let shape = "is --from right, and does the model have 4 bits?";
    for (tensors, sentence) in [
        (with(|layer| drop(layer.remove(2))), "no tensor \"l.scales\""),
        (with(|layer| layer[4].0 = "l.weight"), "has a tensor \"l.weight\" beside \"l.qweight\""),
        (
            with(|layer| layer[0].1 = "F32"),
            "tensor \"l.qweight\": is F32 [8, 16], but needs I32 and two axes",
        ),
        (
            with(|layer| layer[3].3[4 * 5] = 1),
            "tensor \"l.g_idx\": input 5 is in group 1, not 0: weights in the order of activations (desc_act) \
             cannot be rewritten in groups of neighbours",
        ),
        (
            with(|layer| (layer[3].2, layer[3].3) = (vec![32], vec![0; 128])),
            &format!("tensor \"l.g_idx\": is I32 [32], but {bits} have I32 [64]: only 4 bits are supported"),
        ),
        // 8 bits: twice as many integers.
        (
            with(|layer| (layer[1].2, layer[1].3) = (vec![2, 4], vec![0x77; 32])),
            &format!("tensor \"l.qzeros\": has the shape [2, 4], but {bits} need [2, 2]: {shape}"),
        ),
        (
            with(|layer| layer[1].3 = vec![0xF7; 16]),
            "tensor \"l.qzeros\": has the zero point 15, which readers of GPTQ's first format take for 0 or for \
             16: if the checkpoint format is gptq_v2, use --from gptq-v2",
        ),
        (groups, "tensor \"l.scales\": 64 inputs in 4 groups, but a group must have 32, 64 or 128 inputs"),
        (outputs, &format!("tensor \"l.qweight\": has the shape [8, 12], but {bits} need [8, 8]: {shape}")),
    ] {
        let place = Place::new();
        place.put_model("m", &tensors);
        place.refuses("quant m --from gptq -o out", 2, &format!("m: {sentence}"));
        assert!(!place.path("out").exists());
    }
    let place = Place::new();
    place.put_model("m", &gptq(1));
    let sentence = format!("tensor \"l.scales\": has the shape [2, 16], but {bits} need [2, 128]: {shape}");
    place.refuses("quant m --from awq -o out", 2, &format!("m: {sentence}"));
}
