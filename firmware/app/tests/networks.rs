//! Compares the networks' results with a straightforward computation.

use app::{CLASSES, Failure, Integer, Memory, Network, Reads, Text, WIDTHS, digits, read_digits_with_forest};
use embedded_safetensors::{View, include_aligned};

const MODEL: &[u8] = include_bytes!("../models/digits-f16.safetensors");
static FOREST: &[u8] = include_aligned!("../models/digits-forest.safetensors", 16).bytes();
static SMALL: &[u8] = include_aligned!("../models/digits-i8.safetensors", 16).bytes();

/// Returns a tensor's exact values.
fn values(name: &str) -> Vec<f64> {
    let view = View::parse(MODEL).expect("valid file");
    let tensor = view.tensor(name).expect("found");
    let mut values = vec![0.0; tensor.bytes().len() / 2];
    tensor.reader().values().read_exact(&mut values).expect("readable");
    values
}

/// Computes all layers in doubles.
fn compute_in_doubles(layers: &[(Vec<f64>, Vec<f64>)], image: &[u8]) -> Vec<f64> {
    let mut inputs: Vec<f64> = image.iter().map(|&pixel| f64::from(pixel) / 16.0).collect();
    for (index, (weights, biases)) in layers.iter().enumerate() {
        let rows = weights.chunks(inputs.len()).zip(biases);
        let sums = rows.map(|(row, bias)| bias + row.iter().zip(&inputs).map(|(w, x)| w * x).sum::<f64>());
        let last = index + 1 == layers.len();
        inputs = sums.map(|sum| if last { sum } else { sum.max(0.0) }).collect();
    }
    inputs
}

#[test]
fn floats_match_doubles_up_to_rounding() {
    let layers: Vec<_> = (1..WIDTHS.len())
        .map(|n| (values(&format!("fc{n}.weight")), values(&format!("fc{n}.bias"))))
        .collect();
    let (reads, mut memory) = (Reads::new(), Memory::new());
    let mut network = Network::open(MODEL, &reads).expect("opened");
    for digit in digits() {
        let logits = network.logits(digit.image, &mut memory, &mut |_| ()).expect("computed");
        for (got, expected) in logits.iter().zip(compute_in_doubles(&layers, digit.image)) {
            assert!((f64::from(*got) - expected).abs() < 1e-3, "{got} is not {expected}");
        }
    }
}

/// Returns the integers of a tensor.
fn integers(view: &View<'_>, name: &str) -> Vec<i64> {
    let tensor = view.tensor(name).expect("found");
    let mut values = vec![0; usize::try_from(tensor.shape().elements().expect("few")).expect("few")];
    tensor.reader().values().read_exact(&mut values).expect("readable");
    values
}

/// Computes a layer in wide integers, and applies the shift if there is one.
fn wide(view: &View<'_>, layer: usize, inputs: &[i64]) -> Vec<i64> {
    let (weights, biases) =
        (integers(view, &format!("fc{layer}.weight")), integers(view, &format!("fc{layer}.bias")));
    let rows = weights.chunks(inputs.len()).zip(biases);
    let sums = rows.map(|(row, bias)| bias + row.iter().zip(inputs).map(|(w, x)| w * x).sum::<i64>());
    if layer == 3 {
        return sums.collect();
    }
    let scale = 1_i64 << integers(view, &format!("fc{layer}.shift"))[0];
    sums.map(|sum| (sum + scale / 2).div_euclid(scale).clamp(0, 127)).collect()
}

/// An aligned copy of the model of integers, for editing.
#[repr(align(16))]
struct Edited([u8; SMALL.len() + 1]);

impl Edited {
    fn new() -> Self {
        let mut model = Self([0; SMALL.len() + 1]);
        model.0[..SMALL.len()].copy_from_slice(SMALL);
        model
    }

    fn file(&self) -> &[u8] {
        &self.0[..SMALL.len()]
    }

    /// Replaces an integer of a tensor.
    fn put(&mut self, tensor: &str, index: usize, value: i32) {
        let view = View::parse(SMALL).expect("valid file");
        let tensor = view.tensor(tensor).expect("found");
        let at = usize::try_from(tensor.at()).expect("small") + index * 4;
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

#[test]
fn integers_match_wide_integers() {
    check_against_wide(SMALL);
}

/// Without an error, the results would be wrong.
#[test]
fn invalid_shift_is_another_model() {
    for bits in [-1, 31, 32, i32::MIN, i32::MAX] {
        let mut model = Edited::new();
        model.put("fc2.shift", 0, bits);
        let view = View::parse(model.file()).expect("valid file");
        let failure = Integer::find::<std::io::Error>(&view).expect_err("another network's model");
        let sentence = format!("the tensor \"fc2.shift\" has {bits} here, but 0 to 30 is expected");
        let sentence = format!("error at byte {}: {sentence}", view.tensor("fc2.shift").expect("found").at());
        assert_eq!((failure.to_string(), failure.exit_code()), (sentence, 3));
    }
    for bits in [0, 30] {
        let mut model = Edited::new();
        model.put("fc1.shift", 0, bits);
        // A sum that such a shift rounds up.
        model.put("fc1.bias", 3, 1_500_000_000);
        check_against_wide(model.file());
    }
}

fn check_against_wide(model: &[u8]) {
    let view = View::parse(model).expect("valid file");
    let network = Integer::find::<()>(&view).expect("the network's model");
    for digit in digits() {
        let pixels: Vec<i64> = digit.image.iter().map(|&pixel| pixel.into()).collect();
        let expected = (1..=3).fold(pixels, |inputs, layer| wide(&view, layer, &inputs));
        let got: [i64; CLASSES] = network.logits(digit.image).map(i64::from);
        assert_eq!(got[..], expected);
    }
}

#[test]
fn misaligned_model_is_a_mistake() {
    let mut model = Edited::new();
    model.0.rotate_right(1);
    let view = View::parse(&model.0[1..]).expect("valid file");
    let failure = Integer::find::<()>(&view).expect_err("misaligned integers");
    assert!(matches!(failure, Failure::Mistake(_)), "{failure:?}");
    assert_eq!(failure.exit_code(), 5);
}

#[test]
fn forest_predicts_as_scikit_learn_or_is_another_model() {
    let view = View::parse(FOREST).expect("valid file");
    assert_eq!(read_digits_with_forest(&view, &mut Text(String::new())), Ok(()));
    for (tensor, offset, bytes, found) in [
        ("children", 4, &[1, 0][..], "1 here, but 2 to 299"), // a cycle
        ("children", 0, &[44, 1], "300 here, but 1 to 299"),
        ("pixel", 9, &[64], "64 here, but 0 to 63"),
        ("digit", 5, &[10], "10 here, but 0 to 9"),
        ("predictions", 2, &[4], "4 here, but 3 to 3"),
    ] {
        let at = view.tensor(tensor).expect("found").at() as usize + offset;
        let mut model = FOREST.to_vec();
        model[at..at + bytes.len()].copy_from_slice(bytes);
        let edited = View::parse(&model).expect("valid file");
        let outcome = read_digits_with_forest(&edited, &mut Text(String::new()));
        let sentence = format!("error at byte {at}: the tensor \"{tensor}\" has {found} is expected");
        assert_eq!(outcome.map_err(|failure| (failure.to_string(), failure.exit_code())), Err((sentence, 3)));
    }
}
