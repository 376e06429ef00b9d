//! A linear regression that the Rust crate aprender has trained and saved.

use crate::failure::{Difference, Failure, Form};
use crate::report::{Event, Sink};
use embedded_safetensors::{Dtype, Model, ReadAt, ReadError, Shape, query::Query};

/// The number of coefficients.
pub const FEATURES: usize = 8;

/// The number of samples that are predicted.
pub const SAMPLES: u32 = 64;

static TENSORS: [(&str, Form); 2] = [("coefficients", vector(FEATURES as u64)), ("intercept", vector(1))];

const fn vector(len: u64) -> Form {
    match Shape::new(&[len]) {
        Ok(shape) => Form::new(Dtype::F32, shape),
        Err(_) => panic!("a vector has one dimension"),
    }
}

/// A linear regression: `coefficients · features + intercept`.
///
/// *Memory*: 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regression {
    /// A factor for each feature.
    pub coefficients: [f32; FEATURES],
    /// What is predicted if all features are 0.
    pub intercept: f32,
}

impl Regression {
    /// Loads a file that `save_safetensors` has written.
    ///
    /// # Errors
    /// Errors of the storage or the file; or the tensors are not those of a regression with as many features.
    ///
    /// *Memory*: a window of 64 bytes on the stack during the call, besides what opening a model takes.
    #[inline(never)] // its stack is free again when it returns
    pub fn load<S: ReadAt>(storage: S) -> Result<Self, Failure<S::Error>> {
        let failed = |error| Failure::of_read(error, 0);
        let mut window = [0; 64];
        let mut tensors = TENSORS.each_ref().map(|&(name, _)| Query::optional(name));
        let mut model = Model::open_with(storage, &mut tensors, &mut window).map_err(failed)?;
        let at = model.summary().data_start;
        for (tensor, &(name, ref expected)) in tensors.iter().zip(&TENSORS) {
            let missing = Difference { name, at, found: None, expected };
            let info = tensor.info().ok_or(missing)?;
            let found = Form::new(info.dtype(), *info.shape());
            if found != *expected {
                return Err(Difference { at: at + info.begin(), found: Some(found), ..missing }.into());
            }
        }
        Self::read(&mut model, &tensors).map_err(failed)
    }

    fn read<S: ReadAt>(model: &mut Model<S>, tensors: &[Query<'_>; 2]) -> Result<Self, ReadError<S::Error>> {
        let (mut coefficients, mut intercept) = ([0.0; FEATURES], [0.0]);
        let [of_features, constant] = tensors;
        model.reader(of_features)?.values().read_exact(&mut coefficients)?;
        model.reader(constant)?.values().read_exact(&mut intercept)?;
        let [intercept] = intercept;
        Ok(Self { coefficients, intercept })
    }

    /// Predicts the target of a sample. The products are added in aprender's order, so that the result has
    /// the same bits.
    #[inline(never)] // so that its instructions can be counted
    pub fn predict(&self, features: &[f32; FEATURES]) -> f32 {
        let products = features.iter().zip(&self.coefficients).map(|(feature, factor)| feature * factor);
        products.sum::<f32>() + self.intercept
    }
}

/// Returns the features of a sample: 256 steps from -2 to 2, which are the same on every target.
pub fn features(sample: u32) -> [f32; FEATURES] {
    let mut state = sample.wrapping_mul(2_654_435_761).wrapping_add(1);
    [(); FEATURES].map(|()| {
        // The constants of Numerical Recipes; the upper bits are the most random ones.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 24) as u8) / 64.0 - 2.0
    })
}

/// Counts the instructions of a call, if it can.
pub trait Counter {
    /// Begins to count.
    fn start(&mut self);
    /// Returns how many instructions have been executed since.
    fn stop(&mut self) -> Option<u32>;
}

impl Counter for () {
    fn start(&mut self) {}

    fn stop(&mut self) -> Option<u32> {
        None
    }
}

/// Loads the regression in this storage, and reports its predictions of all samples as bits, and the most
/// instructions that one takes.
///
/// # Errors
/// As [`Regression::load`].
pub fn predict<S: ReadAt>(
    storage: S,
    sink: &mut impl Sink,
    counter: &mut impl Counter,
) -> Result<(), Failure<S::Error>> {
    let regression = Regression::load(storage)?;
    let mut most = None;
    for sample in 0..SAMPLES {
        let features = features(sample);
        counter.start();
        let bits = regression.predict(&features).to_bits();
        most = most.max(counter.stop());
        sink.event(&Event::Prediction { sample, bits });
    }
    if let Some(instructions) = most {
        sink.event(&Event::Instructions { instructions });
    }
    Ok(())
}
