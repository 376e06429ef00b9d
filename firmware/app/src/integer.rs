//! The network of integers: three layers, small enough to be read in place, without any floats.

use crate::digits::{Image, PIXELS};
use crate::failure::{Difference, Failure, Form};
use crate::network::CLASSES;
use embedded_safetensors::View;
use embedded_safetensors::values::{Array, Native};

const WIDTH: usize = 200;

/// The largest value between two layers.
const LARGEST: i32 = 127;

/// A layer, in place in the model.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'m, const COLUMNS: usize, const ROWS: usize> {
    weights: &'m [[i8; COLUMNS]; ROWS],
    biases: &'m [i32; ROWS],
}

/// The network, in place in the model.
///
/// *Memory*: 32 bytes on a 32-bit target, and while it runs, 464 of stack for the pixels and the outputs of
/// two layers, besides what its functions take.
#[derive(Clone, Copy, Debug)]
pub struct Integer<'m> {
    fc1: Dense<'m, PIXELS, WIDTH>,
    fc1_shift: u32,
    fc2: Dense<'m, WIDTH, WIDTH>,
    fc2_shift: u32,
    fc3: Dense<'m, WIDTH, CLASSES>,
}

impl<'m> Integer<'m> {
    /// Finds the network in a model.
    ///
    /// # Errors
    /// The model is another network's, or its alignment does not allow reading integers in place.
    pub fn find<E>(model: &View<'m>) -> Result<Self, Failure<E>> {
        Ok(Self {
            fc1: Dense::find(model, "fc1.weight", "fc1.bias")?,
            fc1_shift: shift(model, "fc1.shift")?,
            fc2: Dense::find(model, "fc2.weight", "fc2.bias")?,
            fc2_shift: shift(model, "fc2.shift")?,
            fc3: Dense::find(model, "fc3.weight", "fc3.bias")?,
        })
    }

    /// Computes the scores of an image: the highest number is at the index of the most likely digit.
    pub fn logits(&self, image: &Image) -> [i32; CLASSES] {
        let pixels = image.map(|pixel| i8::try_from(pixel).unwrap_or(i8::MAX));
        let hidden = self.fc1.hidden(self.fc1_shift, &pixels);
        let hidden = self.fc2.hidden(self.fc2_shift, &hidden);
        let mut logits = [0; CLASSES];
        logits.iter_mut().zip(self.fc3.sums(&hidden)).for_each(|(logit, sum)| *logit = sum);
        logits
    }
}

impl<'m, const COLUMNS: usize, const ROWS: usize> Dense<'m, COLUMNS, ROWS> {
    fn find<E>(model: &View<'m>, weights: &'static str, biases: &'static str) -> Result<Self, Failure<E>>
    where
        [[i8; COLUMNS]; ROWS]: Array,
        [i32; ROWS]: Array,
    {
        Ok(Self { weights: find(model, weights)?, biases: find(model, biases)? })
    }

    /// Computes the sums of a layer. Another model may make them overflow; then they wrap.
    fn sums(&self, inputs: &[i8; COLUMNS]) -> impl Iterator<Item = i32> {
        self.weights.iter().zip(self.biases).map(move |(row, &bias)| {
            let products =
                row.iter().zip(inputs).map(|(&weight, &input)| i32::from(weight) * i32::from(input));
            products.fold(bias, i32::wrapping_add)
        })
    }

    /// Computes the outputs, rounded to the range between two layers.
    fn hidden(&self, shift: u32, inputs: &[i8; COLUMNS]) -> [i8; ROWS] {
        let half = 1i32.wrapping_shl(shift) / 2;
        let mut outputs = [0; ROWS];
        for (output, sum) in outputs.iter_mut().zip(self.sums(inputs)) {
            let rounded = sum.wrapping_add(half).wrapping_shr(shift).clamp(0, LARGEST);
            *output = i8::try_from(rounded).unwrap_or(i8::MAX);
        }
        outputs
    }
}

/// Finds the number of bits by which the sums of a layer are shifted right: at most 30, so that half of the
/// divisor, which rounds, is an `i32` too.
fn shift<E>(model: &View<'_>, name: &'static str) -> Result<u32, Failure<E>> {
    let &[bits] = find::<[i32; 1], E>(model, name)?;
    check(model, name, 0, bits, [0, 30])?;
    Ok(bits.cast_unsigned())
}

/// Finds a tensor in place.
pub fn find<'m, T: Array, E>(model: &View<'m>, name: &'static str) -> Result<&'m T, Failure<E>> {
    let expected = const { &Form::new(T::DTYPE, T::SHAPE) };
    let missing = Difference { name, at: model.summary().data_start, found: None, expected };
    let tensor = model.find(name)?.ok_or(missing)?;
    let found = Form::new(tensor.dtype(), *tensor.shape());
    if found != *expected {
        return Err(Difference { at: tensor.at(), found: Some(found), ..missing }.into());
    }
    Ok(tensor.as_array()?)
}

/// Checks that a value of a tensor is in this range.
pub fn check<E>(
    model: &View<'_>,
    name: &'static str,
    index: usize,
    value: impl Native + Into<i32>,
    range: [usize; 2],
) -> Result<(), Failure<E>> {
    let (width, value, [low, high]) = (size_of_val(&value), value.into(), range);
    if usize::try_from(value).is_ok_and(|value| (low..=high).contains(&value)) {
        return Ok(());
    }
    Err(Failure::OtherValue { name, at: model.tensor(name)?.at() + (index * width) as u64, value, range })
}
