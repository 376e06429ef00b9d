//! The network of floats: four layers whose weights are read again for every image, because there is no
//! memory to keep them in.

use crate::digits::{Image, PIXELS};
use crate::failure::{Difference, Failure, Form};
use crate::storage::{Counted, Reads};
use embedded_safetensors::{
    Dtype, Model, ReadAt, ReadError, Shape, io::FileLen, query::Query, validate::Summary,
};

/// The number of digits.
pub const CLASSES: usize = 10;

/// The number of values before the first layer, and after each layer.
pub const WIDTHS: [usize; LAYERS + 1] = [PIXELS, WIDEST, WIDEST, WIDEST, CLASSES];

const LAYERS: usize = 4;
const WIDEST: usize = 400;

/// The number of a row's weights that are in memory at once. It divides all rows except those of the first
/// layer, which are shorter.
const PART: usize = 100;

/// A sector of a card.
const WINDOW: usize = 512;

/// The value of a fully black pixel.
const INK: f32 = 16.0;

/// The weight and the bias of each layer.
static TENSORS: [[(&str, Form); 2]; LAYERS] = [
    [("fc1.weight", matrix(1)), ("fc1.bias", vector(1))],
    [("fc2.weight", matrix(2)), ("fc2.bias", vector(2))],
    [("fc3.weight", matrix(3)), ("fc3.bias", vector(3))],
    [("fc4.weight", matrix(4)), ("fc4.bias", vector(4))],
];

const fn matrix(layer: usize) -> Form {
    form(&[WIDTHS[layer] as u64, WIDTHS[layer - 1] as u64])
}

const fn vector(layer: usize) -> Form {
    form(&[WIDTHS[layer] as u64])
}

const fn form(dims: &[u64]) -> Form {
    match Shape::new(dims) {
        Ok(shape) => Form::new(Dtype::F16, shape),
        Err(_) => panic!("a matrix has two dimensions"),
    }
}

/// The values between two layers, and a part of a row of weights.
///
/// *Memory*: 3,600 bytes.
pub struct Memory {
    inputs: [f32; WIDEST],
    outputs: [f32; WIDEST],
    weights: [f32; PART],
}

impl Memory {
    /// Creates memory filled with zeros.
    pub const fn new() -> Self {
        Self { inputs: [0.0; WIDEST], outputs: [0.0; WIDEST], weights: [0.0; PART] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// The tensors of a layer.
type Layer = [Query<'static>; 2];

/// The network in a storage.
///
/// *Memory*: 832 bytes for the positions of its 8 tensors on a 32-bit target, and what the model takes.
pub struct Network<'r, S> {
    model: Model<Counted<'r, S>>,
    reads: &'r Reads,
    layers: [Layer; LAYERS],
}

impl<'r, S: ReadAt> Network<'r, S> {
    /// Validates the file, and finds the network's tensors in it.
    ///
    /// # Errors
    /// Errors of the storage or the file; or the model is another network's.
    ///
    /// *Memory*: a window of 512 bytes on the stack during the call, besides what opening a model takes.
    #[inline(never)] // its stack is free again when it returns
    pub fn open(mut storage: S, reads: &'r Reads) -> Result<Self, Failure<S::Error>> {
        let mut window = [0; WINDOW];
        // A storage without a known file length is raw memory, not a file.
        let raw = matches!(storage.file_len(), Ok(FileLen::AtMost(_)));
        let failed = |error| match error {
            ReadError::Format(error) if raw => Failure::of_memory(error),
            error => Failure::of_read(error, reads.last_at()),
        };
        let model = Model::open(Counted::new(storage, reads), &mut window).map_err(failed)?;
        let layers = TENSORS.each_ref().map(|layer| layer.each_ref().map(|&(name, _)| Query::optional(name)));
        let mut network = Self { model, reads, layers };
        network.model.find_all(network.layers.as_flattened_mut(), &mut window).map_err(failed)?;
        network.check()?;
        debug!("the model is open: {}", network.summary());
        Ok(network)
    }

    /// Returns the length of the file and the number of tensors.
    pub const fn summary(&self) -> Summary {
        self.model.summary()
    }

    /// Checks that all tensors exist with the shapes that the layers need.
    fn check(&self) -> Result<(), Difference> {
        let mut tensors = TENSORS.as_flattened().iter().zip(self.layers.as_flattened());
        tensors.try_for_each(|((_, expected), tensor)| self.check_tensor(tensor, expected))
    }

    fn check_tensor(&self, tensor: &Query<'static>, expected: &'static Form) -> Result<(), Difference> {
        let missing =
            Difference { name: tensor.name(), at: self.summary().data_start, found: None, expected };
        let info = tensor.info().ok_or(missing)?;
        let found = Form::new(info.dtype(), *info.shape());
        if found == *expected {
            trace!("found \"{=str}\": {}", tensor.name(), info);
            return Ok(());
        }
        Err(Difference { at: missing.at + info.begin(), found: Some(found), ..missing })
    }

    /// Computes the scores of an image: the highest value is at the index of the most likely digit.
    /// `observe` is called with the outputs of each layer.
    ///
    /// All boards and desktops add the same numbers in the same order, so they get the same bits.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn logits(
        &mut self,
        image: &Image,
        memory: &mut Memory,
        observe: &mut dyn FnMut(&[f32]),
    ) -> Result<[f32; CLASSES], Failure<S::Error>> {
        let reads = self.reads;
        self.run(image, memory, observe).map_err(|error| Failure::of_read(error, reads.last_at()))
    }

    fn run(
        &mut self,
        image: &Image,
        Memory { inputs, outputs, weights }: &mut Memory,
        observe: &mut dyn FnMut(&[f32]),
    ) -> Result<[f32; CLASSES], ReadError<S::Error>> {
        let (mut inputs, mut outputs) = (inputs, outputs);
        inputs.iter_mut().zip(image).for_each(|(input, &pixel)| *input = f32::from(pixel) / INK);
        for (index, (layer, widths)) in self.layers.iter().zip(WIDTHS.windows(2)).enumerate() {
            let &[columns, rows] = widths else { continue };
            let from = inputs.get(..columns).unwrap_or_default();
            let to = outputs.get_mut(..rows).unwrap_or_default();
            multiply(&mut self.model, layer, from, to, weights)?;
            if index + 1 < LAYERS {
                rectify(to);
            }
            trace!("layer {=usize}: {=usize} values from {=usize}", index + 1, rows, columns);
            observe(to);
            core::mem::swap(&mut inputs, &mut outputs);
        }
        Ok(inputs.first_chunk().copied().unwrap_or_default())
    }
}

/// Computes a layer's matrix times the inputs plus the bias: row by row, each in parts.
fn multiply<S: ReadAt>(
    model: &mut Model<S>,
    [weight, bias]: &Layer,
    inputs: &[f32],
    outputs: &mut [f32],
    weights: &mut [f32; PART],
) -> Result<(), ReadError<S::Error>> {
    model.reader(bias)?.values().read_exact(outputs)?;
    let mut values = model.reader(weight)?.values();
    for output in outputs {
        for inputs in inputs.chunks(PART) {
            let weights = weights.get_mut(..inputs.len()).unwrap_or_default();
            values.read_exact(weights)?;
            *output = weights.iter().zip(inputs).fold(*output, |sum, (weight, input)| sum + weight * input);
        }
    }
    Ok(())
}

/// Replaces negative outputs by zero.
fn rectify(outputs: &mut [f32]) {
    for output in outputs.iter_mut().filter(|output| **output < 0.0) {
        *output = 0.0;
    }
}
