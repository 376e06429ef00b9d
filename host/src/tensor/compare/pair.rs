//! Compares two tensors of one name.

use super::distance::Distance;
use super::models::{Form, Policy};
use crate::error::Error;
use crate::input::model::Tensor;
use crate::work::Work;
use embedded_safetensors::values::Element;
use embedded_safetensors::{Dtype, ReadError};
use safetensors_convert::numbers::Number;
use serde::Serialize;
use std::io;

/// Bytes compared at a time: complete elements of every dtype.
const CHUNK: usize = 3 << 16;
/// The number of values of each tensor in memory.
const VALUES: usize = 16 * 1024;

/// Tensors of the same name.
#[derive(Serialize)]
pub struct Pair<'m> {
    pub name: &'m str,
    pub result: Degree,
    pub a: Form<'m>,
    pub b: Form<'m>,
    /// The distance of the values, if they were compared.
    #[serde(flatten)]
    pub distance: Option<Box<Distance>>,
}

/// The result for a pair of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Degree {
    /// Bit for bit.
    Identical,
    /// Equal values, different bits.
    Equal,
    /// Within the tolerance.
    Within,
    Different,
    /// Different shapes.
    Shape,
    /// One is complex.
    Incomparable,
}

impl<'m> Pair<'m> {
    /// Compares the data of two tensors.
    pub fn of(a: &Tensor<'m>, b: &Tensor<'m>, policy: &Policy, work: &Work) -> Result<Self, Error> {
        let pair = |result, distance| Self { name: a.name(), result, a: a.into(), b: b.into(), distance };
        let dtypes = [a.dtype(), b.dtype()];
        let same = match () {
            () if a.dims() != b.dims() => return Ok(pair(Degree::Shape, None)),
            () if dtypes[0] == dtypes[1] => same_bytes(a, b, work)?,
            () if dtypes.contains(&Dtype::C64) => return Ok(pair(Degree::Incomparable, None)),
            () => 0,
        };
        if dtypes[0] == dtypes[1] && same == a.byte_len() {
            return Ok(pair(Degree::Identical, None));
        }
        let distance = match dtypes {
            [Dtype::I64, Dtype::I64] => distance::<i64, i64>,
            [Dtype::I64, Dtype::U64] => distance::<i64, u64>,
            [Dtype::U64, Dtype::I64] => distance::<u64, i64>,
            [Dtype::U64, Dtype::U64] => distance::<u64, u64>,
            [Dtype::I64, _] => distance::<i64, f64>,
            [Dtype::U64, _] => distance::<u64, f64>,
            [_, Dtype::I64] => distance::<f64, i64>,
            [_, Dtype::U64] => distance::<f64, u64>,
            _ => distance::<f64, f64>,
        };
        let distance = distance(a, b, same, policy, work)?.finish(a.dtype(), a.dims());
        let result = match () {
            () if distance.differing == 0 => Degree::Equal,
            () if distance.beyond == 0 => Degree::Within,
            () => Degree::Different,
        };
        Ok(pair(result, Some(Box::new(distance))))
    }

    pub fn is_other_dtype(&self) -> bool {
        self.a.dtype != self.b.dtype
    }

    /// Whether the pair counts as the same.
    pub fn is_same(&self, policy: &Policy) -> bool {
        matches!(self.result, Degree::Identical | Degree::Equal | Degree::Within)
            && !(policy.dtypes && self.is_other_dtype())
    }
}

/// The length of the identical beginning: everything, or complete chunks.
fn same_bytes(a: &Tensor<'_>, b: &Tensor<'_>, work: &Work) -> Result<u64, Error> {
    let (mut ours, mut theirs) = (a.reader(), b.reader());
    let mut buffers = [vec![0; CHUNK], vec![0; CHUNK]];
    let mut at = 0;
    while at < a.byte_len() {
        let [first, second] = &mut buffers;
        let first = ours.next_chunk(first).map_err(|error| not_read(a, error))?;
        if first != theirs.next_chunk(second).map_err(|error| not_read(b, error))? {
            break;
        }
        let len = first.map_or(0, <[u8]>::len) as u64;
        at += len;
        work.advance(2 * len)?;
    }
    Ok(at)
}

/// The distance of the values after this many identical bytes.
fn distance<A: Element + Into<Number>, B: Element + Into<Number>>(
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    same: u64,
    policy: &Policy,
    work: &Work,
) -> Result<Distance, Error> {
    let (mut ours, mut theirs) = (a.reader().values(), b.reader().values());
    let mut buffers = (vec![A::ZERO; VALUES], vec![B::ZERO; VALUES]);
    let bits = [a, b].map(|tensor| bits_of_value(tensor.dtype()));
    let mut distance = Distance { values: same * 8 / bits[0], ..Distance::default() };
    ours.seek(distance.values).map_err(|error| not_read(a, ReadError::Format(error)))?;
    theirs.seek(distance.values).map_err(|error| not_read(b, ReadError::Format(error)))?;
    while ours.remaining() > 0 {
        let first = ours.read(&mut buffers.0).map_err(|error| not_read(a, error))?;
        let second = theirs.read(&mut buffers.1).map_err(|error| not_read(b, error))?;
        distance.add(first, second, policy);
        work.advance(first.len() as u64 * (bits[0] + bits[1]) / 8)?;
    }
    Ok(distance)
}

fn not_read(tensor: &Tensor<'_>, error: ReadError<io::Error>) -> Error {
    Error::not_read(tensor.model().path(), error)
}

/// The bits of a value. A C64 is two.
pub fn bits_of_value(dtype: Dtype) -> u64 {
    if dtype == Dtype::C64 { 32 } else { dtype.bits().into() }
}
