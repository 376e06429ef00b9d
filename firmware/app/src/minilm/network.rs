//! The network: each weight is read once for all tokens of a text.
//!
//! All matrices in memory have a row for each token. The scratch has the queries, keys or values of
//! one head, or the outputs of a block of neurons. Fewer tokens leave space for more neurons, and the columns
//! of the second matrix of neurons are then read in longer pieces.

use super::tensors::{EMBEDDINGS, ENCODER, Expected, NOTHING, PARTS, Part};
use super::{Failure, MAX_TOKENS, Memory, NEURONS, SCRATCH, Tokens, WIDTH};
use crate::storage::{Counted, Reads};
use core::ops::Range;
use embedded_safetensors::{
    ErrorKind, Model, ReadAt, ReadError, integrity::Sha256, io::FileLen, query::Query, slice::AxisRange,
    validate::Summary, values::bytes_of_mut,
};

/// The number of values of a token in a head.
pub(super) const HEAD: usize = 32;

/// The square root of [`HEAD`], which divides scores.
const HEAD_ROOT: f32 = 4.0 * core::f32::consts::SQRT_2;

/// A small number that is added to a variance, so that it is not 0.
const EPSILON: f32 = 1e-12;

/// A sector of a card.
const WINDOW: usize = 512;

/// The numbers of a text. Their squares add up to 1.
pub type Embedding = [f32; WIDTH];

#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<[Part; PARTS]>() == 2_688);

/// The network in a storage.
///
/// *Memory*: 28 bytes and the storage on a 32-bit target. [`embed`](Self::embed) takes 2,688 bytes of stack
/// for the positions of a layer's tensors, and what reading takes.
pub struct Embedder<'r, S> {
    model: Model<Counted<'r, S>>,
    reads: &'r Reads,
}

impl<'r, S: ReadAt> Embedder<'r, S> {
    /// Validates the file, and checks that all tensors have the dtypes and shapes that the network needs:
    /// F32, or matrices of I8 with a scale for each row, as `safetensors convert --to I8 --scale per-row`
    /// writes them.
    ///
    /// # Errors
    /// Errors of the storage or the file; or the model is another network's.
    #[inline(never)] // its stack is free again when it returns
    pub fn open(mut storage: S, reads: &'r Reads) -> Result<Self, Failure<S::Error>> {
        let mut window = [0; WINDOW];
        // A storage without a known file length is raw memory, not a file.
        let raw = matches!(storage.file_len(), Ok(FileLen::AtMost(_)));
        let model = Model::open(Counted::new(storage, reads), &mut window).map_err(|error| match error {
            ReadError::Format(error) if raw => crate::Failure::of_memory(error),
            error => crate::Failure::of_read(error, reads.last_at()),
        })?;
        let mut network = Self { model, reads };
        let mut parts = NOTHING;
        network.find(&EMBEDDINGS, &mut parts, &mut window)?;
        for layer in &ENCODER {
            network.find(layer, &mut parts, &mut window)?;
        }
        Ok(network)
    }

    /// Returns the length of the file and the number of tensors.
    pub const fn summary(&self) -> Summary {
        self.model.summary()
    }

    /// Reads the whole file, and compares its SHA-256 with the sum in the file. Returns `false` if the file
    /// contains no sum.
    ///
    /// # Errors
    /// The sum is another one; errors of the storage.
    #[inline(never)] // its stack is free again when it returns
    pub fn verify(&mut self, memory: &mut Memory) -> Result<bool, Failure<S::Error>> {
        match self.model.verify_embedded(Sha256::new(), bytes_of_mut(&mut memory.scratch)) {
            Ok(()) => Ok(true),
            Err(ReadError::Format(error)) if matches!(error.kind, ErrorKind::SumMissing) => Ok(false),
            Err(error) => Err(self.failed(error).into()),
        }
    }

    /// Computes the embedding of a text. `progress` is called with the number of each layer that has been
    /// computed: 0 for the embeddings of the tokens, then 1 to [`LAYERS`](super::LAYERS).
    ///
    /// # Errors
    /// Errors of the storage; weights that are not finite.
    #[inline(never)] // its stack is free again when it returns
    pub fn embed<'m>(
        &mut self,
        tokens: &Tokens,
        memory: &'m mut Memory,
        progress: &mut dyn FnMut(usize),
    ) -> Result<&'m Embedding, Failure<S::Error>> {
        let ids = tokens.ids();
        let Memory { tokens, sums, scratch, row } = memory;
        let tokens = tokens.get_mut(..ids.len()).unwrap_or_default();
        let sums = sums.get_mut(..ids.len()).unwrap_or_default();
        // One place for the tensors of all layers: they take more stack than all the rest.
        let mut parts = NOTHING;
        self.find(&EMBEDDINGS, &mut parts, bytes_of_mut(row))?;
        let mut weights = Weights { model: &mut self.model, row };
        weights.look_up(&parts, ids, tokens).map_err(|error| self.failed(error))?;
        progress(0);
        for (number, layer) in (1..).zip(&ENCODER) {
            self.find(layer, &mut parts, bytes_of_mut(row))?;
            let weights = Weights { model: &mut self.model, row };
            let mut layer = Layer { weights, tokens: &mut *tokens, sums: &mut *sums, scratch };
            layer.run(&parts).map_err(|error| self.failed(error))?;
            progress(number);
        }
        average(tokens, row);
        if row.iter().all(|value| value.is_finite()) { Ok(row) } else { Err(Failure::NotFinite) }
    }

    /// Finds the tensors of the first parts, in one pass over the header, and checks them.
    fn find(
        &mut self,
        expected: &'static [Expected],
        parts: &mut [Part; PARTS],
        window: &mut [u8],
    ) -> Result<(), crate::Failure<S::Error>> {
        let parts = parts.get_mut(..expected.len()).unwrap_or_default();
        for (part, expected) in parts.iter_mut().zip(expected) {
            *part = expected.queries();
        }
        self.model.find_all(parts.as_flattened_mut(), window).map_err(|error| self.failed(error))?;
        let data_start = self.summary().data_start;
        for (expected, part) in expected.iter().zip(parts) {
            expected.check(part, data_start)?;
        }
        Ok(())
    }

    fn failed(&self, error: ReadError<S::Error>) -> crate::Failure<S::Error> {
        crate::Failure::of_read(error, self.reads.last_at())
    }
}

/// Whether the storage could be read.
type Outcome<S> = Result<(), ReadError<<S as ReadAt>::Error>>;

/// The model, and memory for a row of it.
struct Weights<'a, S> {
    model: &'a mut Model<S>,
    row: &'a mut [f32; WIDTH],
}

impl<S: ReadAt> Weights<'_, S> {
    /// Adds the rows of the three tables for each token.
    fn look_up(&mut self, parts: &[Part; PARTS], ids: &[u16], tokens: &mut [[f32; WIDTH]]) -> Outcome<S> {
        let [words, positions, kinds, norm, ..] = parts;
        for ((position, &id), token) in (0..).zip(ids).zip(tokens.iter_mut()) {
            token.fill(0.0);
            for ([weight, scale, _], index) in [(words, id.into()), (kinds, 0), (positions, position)] {
                self.model.reader(weight)?.row(index)?.read_exact(self.row)?;
                let mut factor = [1.0];
                if scale.info().is_some() {
                    self.model.reader(scale)?.row(index)?.read_exact(&mut factor)?;
                }
                add_products(token, factor[0], self.row);
            }
        }
        self.normalise(norm, tokens)
    }

    /// Computes the outputs of these rows of a matrix for all tokens.
    fn multiply(
        &mut self,
        [weight, scale, bias]: &Part,
        rows: Range<usize>,
        inputs: &[[f32; WIDTH]],
        outputs: &mut [f32],
    ) -> Outcome<S> {
        let mut values = self.model.reader(weight)?.rows(rows.start as u64..rows.end as u64)?;
        for output in 0..rows.len() {
            values.read_exact(self.row)?;
            let outputs = outputs.iter_mut().skip(output).step_by(rows.len());
            outputs.zip(inputs).for_each(|(output, inputs)| *output = dot(self.row, inputs));
        }
        self.scale_and_add([scale, bias], rows, outputs)
    }

    /// Gives the values of each token the mean 0 and the variance 1, then scales and adds.
    fn normalise(&mut self, [weight, _, bias]: &Part, tokens: &mut [[f32; WIDTH]]) -> Outcome<S> {
        for values in tokens.iter_mut() {
            let mean = values.iter().fold(0.0, |sum, value| sum + value) / WIDTH as f32;
            values.iter_mut().for_each(|value| *value -= mean);
            let deviation = libm::sqrtf(dot(values, values) / WIDTH as f32 + EPSILON);
            values.iter_mut().for_each(|value| *value /= deviation);
        }
        self.scale_and_add([weight, bias], 0..WIDTH, tokens.as_flattened_mut())
    }

    /// Multiplies the values of each token by these elements of `scale`, if it exists, and adds those of
    /// `bias`.
    fn scale_and_add(
        &mut self,
        tensors: [&Query<'_>; 2],
        of: Range<usize>,
        values: &mut [f32],
    ) -> Outcome<S> {
        let [scale, bias] = tensors;
        let row = self.row.get_mut(..of.len()).unwrap_or_default();
        let elements = of.start as u64..of.end as u64;
        if scale.info().is_some() {
            self.model.reader(scale)?.rows(elements.clone())?.read_exact(row)?;
            for values in values.chunks_exact_mut(of.len()) {
                values.iter_mut().zip(row.iter()).for_each(|(value, factor)| *value *= factor);
            }
        }
        self.model.reader(bias)?.rows(elements)?.read_exact(row)?;
        values.chunks_exact_mut(of.len()).for_each(|values| add_products(values, 1.0, row));
        Ok(())
    }
}

/// A layer, and the memory that it works in.
struct Layer<'a, S> {
    weights: Weights<'a, S>,
    tokens: &'a mut [[f32; WIDTH]],
    sums: &'a mut [[f32; WIDTH]],
    scratch: &'a mut [f32; SCRATCH],
}

impl<S: ReadAt> Layer<'_, S> {
    fn run(&mut self, parts: &[Part; PARTS]) -> Outcome<S> {
        let [query, key, value, mix, mixed, up, down, norm] = parts;
        for first in (0..WIDTH).step_by(HEAD) {
            self.attend([query, key, value], first..first + HEAD)?;
        }
        self.mix(mix)?;
        self.weights.normalise(mixed, self.tokens)?;
        self.neurons(up, down)?;
        self.weights.normalise(norm, self.tokens)
    }

    /// Computes a head: `sums` gets the values of all tokens, weighted by how well their keys match each
    /// token's query.
    fn attend(&mut self, parts: [&Part; 3], head: Range<usize>) -> Outcome<S> {
        let len = self.tokens.len() * HEAD;
        for (part, outputs) in parts.into_iter().zip(self.scratch.chunks_exact_mut(len)) {
            self.weights.multiply(part, head.clone(), self.tokens, outputs)?;
        }
        let (queries, rest) = self.scratch.split_at(len);
        let (keys, values) = rest.split_at(len);
        for (query, sums) in queries.chunks_exact(HEAD).zip(self.sums.iter_mut()) {
            let mut scores = [0.0; MAX_TOKENS];
            let scores = scores.get_mut(..self.tokens.len()).unwrap_or_default();
            scores.iter_mut().zip(keys.chunks_exact(HEAD)).for_each(|(score, key)| *score = dot(query, key));
            weigh(scores);
            let sums = sums.get_mut(head.clone()).unwrap_or_default();
            sums.fill(0.0);
            scores
                .iter()
                .zip(values.chunks_exact(HEAD))
                .for_each(|(score, value)| add_products(sums, *score, value));
        }
        Ok(())
    }

    /// Adds to each token the product of a matrix and its `sums`.
    fn mix(&mut self, part: &Part) -> Outcome<S> {
        for block in blocks(WIDTH, self.tokens.len()) {
            let outputs = self.scratch.get_mut(..block.len() * self.tokens.len()).unwrap_or_default();
            self.weights.multiply(part, block.clone(), self.sums, outputs)?;
            for (token, outputs) in self.tokens.iter_mut().zip(outputs.chunks_exact(block.len())) {
                add_products(token.get_mut(block.clone()).unwrap_or_default(), 1.0, outputs);
            }
        }
        Ok(())
    }

    /// Adds to each token the results of the neurons. A block of neurons takes the same columns of all rows
    /// of the second matrix.
    fn neurons(&mut self, up: &Part, [weight, scale, bias]: &Part) -> Outcome<S> {
        self.sums.as_flattened_mut().fill(0.0);
        for block in blocks(NEURONS, self.tokens.len()) {
            let outputs = self.scratch.get_mut(..block.len() * self.tokens.len()).unwrap_or_default();
            self.weights.multiply(up, block.clone(), self.tokens, outputs)?;
            outputs.iter_mut().for_each(|output| *output = activate(*output));
            let Weights { model, row } = &mut self.weights;
            let row = row.get_mut(..block.len()).unwrap_or_default();
            let columns = AxisRange::new(block.start as u64, block.end as u64);
            let mut values = model.reader(weight)?.slice(&[AxisRange::ALL, columns])?.values();
            for column in 0..WIDTH {
                values.read_exact(row)?;
                let sums = self.sums.as_flattened_mut().iter_mut().skip(column).step_by(WIDTH);
                sums.zip(outputs.chunks_exact(block.len()))
                    .for_each(|(sum, outputs)| *sum += dot(row, outputs));
            }
        }
        self.weights.scale_and_add([scale, bias], 0..WIDTH, self.sums.as_flattened_mut())?;
        add_products(self.tokens.as_flattened_mut(), 1.0, self.sums.as_flattened());
        Ok(())
    }
}

/// Divides outputs into blocks that fit into the scratch and, as columns of a matrix, into the row.
fn blocks(outputs: usize, tokens: usize) -> impl Iterator<Item = Range<usize>> {
    let len = outputs.div_ceil(outputs.div_ceil((SCRATCH / tokens).min(WIDTH)));
    (0..outputs).step_by(len).map(move |first| first..(first + len).min(outputs))
}

/// Turns scores into weights that add up to 1.
fn weigh(scores: &mut [f32]) {
    let most = scores.iter().fold(f32::NEG_INFINITY, |most, score| most.max(*score));
    scores.iter_mut().for_each(|score| *score = libm::expf((*score - most) / HEAD_ROOT));
    let sum = scores.iter().fold(0.0, |sum, score| sum + score);
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// Returns the output of a neuron: GELU.
fn activate(value: f32) -> f32 {
    0.5 * value * (1.0 + libm::erff(value * core::f32::consts::FRAC_1_SQRT_2))
}

/// Adds up the tokens, and scales the result to the length 1, so that their number does not matter.
fn average(tokens: &[[f32; WIDTH]], row: &mut Embedding) {
    row.fill(0.0);
    tokens.iter().for_each(|token| add_products(row, 1.0, token));
    let length = libm::sqrtf(dot(row, row));
    row.iter_mut().for_each(|value| *value /= length);
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).fold(0.0, |sum, (left, right)| sum + left * right)
}

fn add_products(sums: &mut [f32], factor: f32, values: &[f32]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
}
