//! A naive model of slices: it lists every index of every axis, and looks up each element alone.

use crate::random::Random;
use embedded_safetensors::{Dtype, slice::AxisRange};

/// The range of one axis, so that the model need not look into an [`AxisRange`].
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// The entire axis.
    All,
    /// One index, which removes the axis.
    Index(u64),
    /// `start..end` with a step.
    Half(u64, u64, u64),
    /// `start..=end` with a step.
    Inclusive(u64, u64, u64),
    /// `start..` with a step.
    From(u64, u64),
    /// `..end` with a step.
    To(u64, u64),
    /// `..=end` with a step.
    ToInclusive(u64, u64),
}

impl Asked {
    /// Returns the range in the library's form.
    #[must_use]
    pub fn range(self) -> AxisRange {
        match self {
            Self::All => (..).into(),
            Self::Index(index) => AxisRange::index(index),
            Self::Half(start, end, step) => AxisRange::from(start..end).step_by(step),
            Self::Inclusive(start, last, step) => AxisRange::from(start..=last).step_by(step),
            Self::From(start, step) => AxisRange::from(start..).step_by(step),
            Self::To(end, step) => AxisRange::from(..end).step_by(step),
            Self::ToInclusive(last, step) => AxisRange::from(..=last).step_by(step),
        }
    }

    /// Returns the selected indices of an axis of this size, in order.
    fn indices(self, size: u64) -> Vec<u64> {
        let (start, end, step) = match self {
            Self::All => (0, size, 1),
            Self::Index(index) => (index, index + 1, 1),
            Self::Half(start, end, step) => (start, end, step),
            Self::Inclusive(start, last, step) => (start, last + 1, step),
            Self::From(start, step) => (start, size, step),
            Self::To(end, step) => (0, end, step),
            Self::ToInclusive(last, step) => (0, last + 1, step),
        };
        (start..end).filter(|index| (index - start).is_multiple_of(step)).collect()
    }

    /// Returns a random range of an axis of this size.
    pub fn random(random: &mut Random, size: u64) -> Self {
        let below = |random: &mut Random, bound: u64| random.number() % bound;
        let step = if random.percent(60) { 1 } else { 1 + below(random, size + 2) };
        let (a, b) = (below(random, size + 1), below(random, size + 1));
        let (start, end) = if random.percent(90) { (a.min(b), a.max(b)) } else { (a, b) };
        match random.below(9) {
            0 | 1 => Self::All,
            2 if size > 0 => Self::Index(below(random, size)),
            3 if end > 0 => Self::Inclusive(start, end - 1, step),
            4 => Self::From(start, step),
            5 => Self::To(end, step),
            6 if end > 0 => Self::ToInclusive(end - 1, step),
            7 => Self::Half(start, start, step),
            _ => Self::Half(start, end, step),
        }
    }
}

/// A tensor, and a slice of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The dtype of the tensor.
    pub dtype: Dtype,
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// The ranges of the first axes.
    pub asked: Vec<Asked>,
}

impl Case {
    /// Returns a small random case.
    pub fn random(random: &mut Random) -> Self {
        let dtype = random.pick(Dtype::ALL);
        let rank = random.below(9);
        let mut dims = Vec::new();
        for _ in 0..rank {
            let largest = if random.percent(20) { 12 } else { 4 };
            dims.push(if random.percent(3) { 0 } else { 1 + random.number() % largest });
        }
        // Not too large, and whole bytes.
        while dims.iter().product::<u64>() > 3000 {
            let axis = random.below(rank);
            dims[axis] = 1;
        }
        if !(dims.iter().product::<u64>() * u64::from(dtype.bits())).is_multiple_of(8) {
            match rank {
                0 => dims.push(4),
                _ => dims[random.below(rank)] *= 4,
            }
        }
        let axes = if random.percent(20) { random.below(dims.len() + 1) } else { dims.len() };
        let asked = dims[..axes].iter().map(|&size| Asked::random(random, size)).collect();
        Self { dtype, dims, asked }
    }

    /// Returns the ranges in the library's form.
    pub fn ranges(&self) -> Vec<AxisRange> {
        self.asked.iter().map(|asked| asked.range()).collect()
    }

    /// Returns the number of elements of the tensor.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Returns the number of bytes of the tensor.
    pub fn byte_len(&self) -> u64 {
        self.elements() * u64::from(self.dtype.bits()) / 8
    }

    /// Returns the shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        let axes = self.dims.iter().enumerate();
        let kept = axes.filter(|(axis, _)| !matches!(self.asked.get(*axis), Some(Asked::Index(_))));
        kept.map(|(axis, &size)| self.of_axis(axis).indices(size).len() as u64).collect()
    }

    /// Returns the indices of the result's elements in the tensor, in order.
    pub fn listed(&self) -> Vec<u64> {
        let mut listed = vec![0];
        for (axis, &size) in self.dims.iter().enumerate() {
            let indices = self.of_axis(axis).indices(size);
            let one_deeper =
                |&outer: &u64| indices.iter().map(move |index| outer * size + index).collect::<Vec<_>>();
            listed = listed.iter().flat_map(one_deeper).collect();
        }
        listed
    }

    fn of_axis(&self, axis: usize) -> Asked {
        self.asked.get(axis).copied().unwrap_or(Asked::All)
    }

    /// Returns first element and number of elements of the runs: all have the length of the first one, up to
    /// the first gap.
    ///
    /// # Panics
    /// If they do not.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let listed = self.listed();
        let Some(&first) = listed.first() else { return vec![] };
        let len = listed.iter().zip(first..).take_while(|(listed, next)| *listed == next).count();
        let runs: Vec<_> = listed.chunks(len).map(|run| (run[0], run.len() as u64)).collect();
        assert!(runs.iter().all(|(_, elements)| *elements == len as u64), "{runs:?}");
        runs
    }

    /// Returns the first byte of the tensor that a run covers only in part.
    pub fn broken_byte(&self) -> Option<u64> {
        let bits = u64::from(self.dtype.bits());
        let borders = self.runs().into_iter().flat_map(|(first, count)| [first, first + count]);
        borders.map(|element| element * bits).find(|bit| bit % 8 != 0).map(|bit| bit / 8)
    }

    /// Returns the bits of the result, in order, of a tensor with these bytes; each as a byte.
    pub fn bits(&self, tensor: &[u8]) -> Vec<u8> {
        let width = u64::from(self.dtype.bits());
        let bit = |at: u64| tensor[usize::try_from(at / 8).unwrap()] >> (at % 8) & 1;
        self.listed().iter().flat_map(|element| (element * width..(element + 1) * width).map(bit)).collect()
    }

    /// Returns the bytes of the result; the last one is filled up with zeros.
    pub fn bytes(&self, tensor: &[u8]) -> Vec<u8> {
        let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
        self.bits(tensor).chunks(8).map(byte).collect()
    }
}
