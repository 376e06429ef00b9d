//! The networks compute what networks compute: compared with the plainest way to do so.

use app::{
    CLASSES, Event, Failure, Integer, Memory, Network, Place, Reads, Sink, WIDTHS, digits, read_digits,
    read_digits_in_integers,
};
use embedded_safetensors::{ReadAt, View, include_aligned, io::FileLen};
use std::cell::Cell;
use std::convert::Infallible;

const MODEL: &[u8] = include_bytes!("../models/digits-f16.safetensors");
static SMALL: &[u8] = include_aligned!("../models/digits-i8.safetensors", 16).bytes();

/// A tensor's values, exact.
fn values(name: &str) -> Vec<f64> {
    let view = View::parse(MODEL).expect("it is sound");
    let tensor = view.tensor(name).expect("it is there");
    let mut values = vec![0.0; tensor.bytes().len() / 2];
    tensor.reader().values().read_exact(&mut values).expect("they are read");
    values
}

/// All layers in one go, in doubles.
fn plainly(layers: &[(Vec<f64>, Vec<f64>)], image: &[u8]) -> Vec<f64> {
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
fn floats_are_those_of_doubles_but_for_rounding() {
    let layers: Vec<_> = (1..WIDTHS.len())
        .map(|n| (values(&format!("fc{n}.weight")), values(&format!("fc{n}.bias"))))
        .collect();
    let (reads, mut memory) = (Reads::new(), Memory::new());
    let mut network = Network::open(MODEL, &reads).expect("it opens");
    for digit in digits() {
        let logits = network.logits(digit.image, &mut memory, &mut |_| ()).expect("it runs");
        for (got, wanted) in logits.iter().zip(plainly(&layers, digit.image)) {
            assert!((f64::from(*got) - wanted).abs() < 1e-3, "{got} is not {wanted}");
        }
    }
}

#[test]
fn every_layer_is_shown() {
    let (reads, mut memory) = (Reads::new(), Memory::new());
    let mut network = Network::open(MODEL, &reads).expect("it opens");
    let digit = digits().next().expect("there is one");
    let mut seen = vec![];
    let logits =
        network.logits(digit.image, &mut memory, &mut |layer| seen.push(layer.to_vec())).expect("it runs");
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), WIDTHS[1..]);
    assert_eq!(seen.last().expect("the last"), &logits);
    assert!(seen[..seen.len() - 1].iter().flatten().all(|&value| value >= 0.0));
}

/// The integers of a tensor.
fn integers(view: &View<'_>, name: &str) -> Vec<i64> {
    let tensor = view.tensor(name).expect("it is there");
    let mut values = vec![0; usize::try_from(tensor.shape().elements().expect("few")).expect("few")];
    tensor.reader().values().read_exact(&mut values).expect("they are read");
    values
}

/// A layer in wide integers; shifted down and cut where there is a shift.
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

/// The model of integers where it can be read, to be edited.
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

    /// Puts an integer in place of this one of a tensor.
    fn put(&mut self, tensor: &str, index: usize, value: i32) {
        let view = View::parse(SMALL).expect("it is sound");
        let tensor = view.tensor(tensor).expect("it is there");
        let at = usize::try_from(tensor.at()).expect("it is small") + index * 4;
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

#[test]
fn integers_are_those_of_wide_integers() {
    computes_as_wide(SMALL);
}

/// Without an error, the numbers would be wrong.
#[test]
fn a_shift_that_cannot_be_is_another_model() {
    for bits in [-1, 31, 32, i32::MIN, i32::MAX] {
        let mut model = Edited::new();
        model.put("fc2.shift", 0, bits);
        let view = View::parse(model.file()).expect("it is sound");
        let failure = Integer::find::<std::io::Error>(&view).expect_err("it is another network's");
        let sentence = format!("the tensor \"fc2.shift\" is {bits} in the model, but 0 to 30 is expected");
        assert_eq!((failure.to_string(), failure.exit_code()), (format!("error: {sentence}"), 3));
    }
    for bits in [0, 30] {
        let mut model = Edited::new();
        model.put("fc1.shift", 0, bits);
        // A sum that is rounded up by such a shift.
        model.put("fc1.bias", 3, 1_500_000_000);
        computes_as_wide(model.file());
    }
}

fn computes_as_wide(model: &[u8]) {
    let view = View::parse(model).expect("it is sound");
    let network = Integer::find::<()>(&view).expect("it is the network's");
    for digit in digits() {
        let pixels: Vec<i64> = digit.image.iter().map(|&pixel| pixel.into()).collect();
        let due = (1..=3).fold(pixels, |inputs, layer| wide(&view, layer, &inputs));
        let got: [i64; CLASSES] = network.logits(digit.image).map(i64::from);
        assert_eq!(got[..], due);
    }
}

#[test]
fn a_model_at_an_odd_place_is_a_mistake() {
    let mut model = Edited::new();
    model.0.rotate_right(1);
    let view = View::parse(&model.0[1..]).expect("it is sound");
    let failure = Integer::find::<()>(&view).expect_err("its integers cannot be read there");
    assert!(matches!(failure, Failure::Mistake(_)), "{failure:?}");
    assert_eq!(failure.exit_code(), 5);
}

/// The lines that were said.
#[derive(Default)]
struct Said(Vec<String>);

impl Sink for Said {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.to_string());
    }
}

const PLACE: Place<'_> = Place { name: "MODEL.ST", ram: 65_536 };

/// A network that takes all images for the same digit is right as often as there is that digit.
#[test]
fn only_what_is_right_is_counted() {
    for digit in [0, 3, 9] {
        let mut model = Edited::new();
        model.put("fc3.bias", digit, 1 << 30);
        let view = View::parse(model.file()).expect("it is sound");
        let (network, mut said) = (Integer::find::<()>(&view).expect("it is the network's"), Said::default());
        read_digits_in_integers(&PLACE, view.summary(), &network, &mut said);
        let right = digits().filter(|image| usize::from(image.label) == digit).count();
        assert!((1..64).contains(&right));
        assert_eq!(
            said.0.last().expect("there are lines"),
            &format!("score: {right} of 64 digits read right")
        );
    }
}

/// The model, and how often it is read.
struct Watched<'c>(&'c Cell<u32>);

impl ReadAt for Watched<'_> {
    type Error = Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.0.set(self.0.get() + 1);
        let mut model = MODEL;
        model.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly(MODEL.len() as u64))
    }
}

#[test]
fn what_is_read_is_counted() {
    let mut said = Said::default();
    let calls = Cell::new(0);
    read_digits(&PLACE, Watched(&calls), &mut said, &mut ()).expect("it runs");
    let header = 8 + u64::from_le_bytes(*MODEL.first_chunk().expect("it has a length"));
    let data = MODEL.len() as u64 - header;
    // The header is read to be proven, and once more for all tensors.
    let bytes = 2 * header + 64 * data;
    let line = said.0.last().expect("there are lines");
    assert_eq!(line, &format!("storage: {bytes} bytes in {} reads", calls.get()));
    assert_eq!(said.0.len(), 1 + 64 + 2);
    assert!(
        said.0[0].ends_with(&format!("{} bytes, 8 tensors, 10.7 times the RAM", MODEL.len())),
        "{}",
        said.0[0]
    );
}
