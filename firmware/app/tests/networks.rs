//! The networks compute what networks compute: compared with the plainest way to do so.

use app::{
    CLASSES, Event, Integer, Memory, Network, Place, Reads, Sentence, Sink, WIDTHS, digits, read_digits,
};
use embedded_safetensors::{View, include_aligned};

const MODEL: &[u8] = include_bytes!("../models/digits-f16.safetensors");
static SMALL: &[u8] = include_aligned!("../models/digits-i8.safetensors", 16).bytes();

/// A tensor's values, exact.
fn values(name: &str) -> Vec<f64> {
    let view = View::parse(MODEL).expect("it is sound");
    let tensor = view.tensor(name).expect("it is there");
    let mut values = vec![0.0; tensor.bytes().len() / 2];
    tensor.reader().elements().read_lossless(&mut values).expect("they are read");
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
    tensor.reader().elements().read_lossless(&mut values).expect("they are read");
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

#[test]
fn integers_are_those_of_wide_integers() {
    let view = View::parse(SMALL).expect("it is sound");
    let network = Integer::find::<()>(&view).expect("it is the network's");
    for digit in digits() {
        let pixels: Vec<i64> = digit.image.iter().map(|&pixel| pixel.into()).collect();
        let due = (1..=3).fold(pixels, |inputs, layer| wide(&view, layer, &inputs));
        let got: [i64; CLASSES] = network.logits(digit.image).map(i64::from);
        assert_eq!(got[..], due);
    }
}

/// The last line that was said.
#[derive(Default)]
struct Last(Vec<String>);

impl Sink for Last {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.to_string());
    }

    fn failure(&mut self, _: &impl Sentence) {}
}

#[test]
fn what_is_read_is_counted() {
    let mut said = Last::default();
    let place = Place { name: "MODEL.ST", ram: 65_536 };
    read_digits(&place, MODEL, &mut said, &mut ()).expect("it runs");
    let header = 8 + u64::from_le_bytes(*MODEL.first_chunk().expect("it has a length"));
    let data = MODEL.len() as u64 - header;
    // The header is read to be proven, and once more for all tensors.
    let bytes = 2 * header + 64 * data;
    let line = said.0.last().expect("there are lines");
    assert!(line.starts_with(&format!("storage: {bytes} bytes in ")), "{line}, not {bytes}");
    assert_eq!(said.0.len(), 1 + 64 + 2);
    assert!(
        said.0[0].ends_with(&format!("{} bytes, 8 tensors, 10.7 times the RAM", MODEL.len())),
        "{}",
        said.0[0]
    );
}
