//! Files as their tensors and metadata: valid ones, and ones with an error in their numbers.

use crate::random::Random;
use embedded_safetensors::Dtype;

/// A file before it is spelled.
#[derive(Clone, Debug)]
pub struct Model {
    /// In the order of the header.
    pub members: Vec<Member>,
    /// Bytes of data.
    pub data_len: u64,
}

/// One member of the header's object.
#[derive(Clone, Debug)]
pub enum Member {
    /// A tensor's entry.
    Tensor(Tensor),
    /// `__metadata__`: its pairs, or null.
    Metadata(Option<Vec<(String, String)>>),
}

/// One tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its dtype.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Begin and end.
    pub offsets: [u64; 2],
}

/// Numbers at the limits of machine words and of doubles.
pub const BORDERS: [u64; 16] = [
    0,
    1,
    2,
    3,
    8,
    255,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    1 << 59,
    1 << 61,
    (1 << 61) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

const WORDS: [&str; 16] = [
    "",
    " ",
    "a",
    "b",
    "weight",
    "layer.0.bias",
    "é",
    "e\u{301}",
    "😀",
    "\u{0}",
    "\u{7f}\u{80}",
    "\n\"\\/",
    "dtype",
    "__metadata__ ",
    "\u{2028}\u{ffff}",
    "a name that is longer than any word that the parser itself has to understand: data_offsets",
];

/// Returns a valid file.
pub fn valid(random: &mut Random) -> Model {
    let count = random.pick(&[0, 1, 1, 2, 2, 3, 4, 6, 12]);
    let mut data_len = 0;
    let mut members: Vec<Member> =
        (0..count).map(|i| Member::Tensor(tensor(random, i, &mut data_len))).collect();
    if random.percent(35) {
        random.shuffle(&mut members);
    }
    if random.percent(35) {
        let place = random.below(members.len() + 1);
        members.insert(place, Member::Metadata(metadata(random)));
    }
    Model { members, data_len }
}

fn tensor(random: &mut Random, index: usize, data_len: &mut u64) -> Tensor {
    let dtype = random.pick(Dtype::ALL);
    let shape = shape(random, dtype);
    let bits = shape.iter().try_fold(u64::from(dtype.bits()), |product, dim| product.checked_mul(*dim));
    // A shape that would overflow has a zero before: see `shape`.
    let begin = *data_len;
    *data_len += bits.unwrap_or(0) / 8;
    Tensor { name: name(random, index), dtype, shape, offsets: [begin, *data_len] }
}

/// Returns a name that no other index has.
fn name(random: &mut Random, index: usize) -> String {
    let word = random.pick(&WORDS);
    if index == 0 { word.to_owned() } else { format!("{word}{index}") }
}

/// Returns a shape whose elements fill whole bytes.
fn shape(random: &mut Random, dtype: Dtype) -> Vec<u64> {
    if random.percent(3) {
        return vec![0, random.pick(&BORDERS), random.pick(&BORDERS)];
    }
    let rank = random.pick(&[0, 1, 1, 2, 2, 3, 4, 8, 9, 20]);
    let mut shape: Vec<u64> = (0..rank).map(|_| random.pick(&[1, 1, 1, 1, 1, 2, 2, 3])).collect();
    if rank > 0 && random.percent(10) {
        shape[random.below(rank)] = 0;
    }
    if !dtype.bits().is_multiple_of(8) {
        shape.push(4);
    }
    shape
}

fn metadata(random: &mut Random) -> Option<Vec<(String, String)>> {
    if random.percent(10) {
        return None;
    }
    let count = random.below(4);
    Some((0..count).map(|i| (name(random, i), random.pick(&WORDS).to_owned())).collect())
}

/// Gives the file an error, or almost one, in its numbers or names.
pub fn slip(random: &mut Random, model: &mut Model) {
    match random.below(8) {
        0 => model.data_len = nudged(random, model.data_len).min(model.data_len + 9),
        1 => repeat_member(random, model),
        2 => repeat_key(random, model),
        _ => slip_in_tensor(random, model),
    }
}

fn nudged(random: &mut Random, number: u64) -> u64 {
    match random.below(5) {
        0 => number.wrapping_sub(1),
        1 => random.pick(&BORDERS),
        2 => number.wrapping_add(8),
        _ => number.wrapping_add(1),
    }
}

fn repeat_member(random: &mut Random, model: &mut Model) {
    if let Some(place) = model.members.len().checked_sub(1) {
        let copy = model.members[random.below(place + 1)].clone();
        model.members.insert(random.below(place + 1), copy);
    }
}

fn repeat_key(random: &mut Random, model: &mut Model) {
    let pairs = model.members.iter_mut().find_map(|member| match member {
        Member::Metadata(Some(pairs)) if !pairs.is_empty() => Some(pairs),
        _ => None,
    });
    if let Some(pairs) = pairs {
        pairs.push((pairs[0].0.clone(), random.pick(&WORDS).to_owned()));
    }
}

fn slip_in_tensor(random: &mut Random, model: &mut Model) {
    let other = tensors(model).map(|tensor| tensor.clone()).last();
    let count = tensors(model).count();
    if count == 0 {
        return;
    }
    let chosen = random.below(count);
    let Some(tensor) = tensors(model).nth(chosen) else { return };
    match random.below(10) {
        0 => tensor.offsets[0] = nudged(random, tensor.offsets[0]),
        1 => tensor.offsets[1] = nudged(random, tensor.offsets[1]),
        2 => tensor.offsets.swap(0, 1),
        3 => tensor.offsets = tensor.offsets.map(|offset| offset.wrapping_add(1)),
        4 => tensor.dtype = random.pick(Dtype::ALL),
        5 => tensor.shape.push(random.pick(&BORDERS)),
        6 => tensor.shape.insert(0, random.pick(&BORDERS)),
        7 if !tensor.shape.is_empty() => {
            let place = random.below(tensor.shape.len());
            tensor.shape[place] = nudged(random, tensor.shape[place]);
        }
        8 => *tensor = Tensor { name: tensor.name.clone(), ..other.unwrap_or_else(|| tensor.clone()) },
        _ => tensor.name = other.map_or_else(String::new, |other| other.name),
    }
}

fn tensors(model: &mut Model) -> impl Iterator<Item = &mut Tensor> {
    model.members.iter_mut().filter_map(|member| match member {
        Member::Tensor(tensor) => Some(tensor),
        Member::Metadata(_) => None,
    })
}
