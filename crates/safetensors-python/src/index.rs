//! What Python's `[…]` selects, with the meaning that it has in numpy.

use crate::dtype;
use crate::error::Failure;
use embedded_safetensors::slice::AxisRange;
use embedded_safetensors::{Dtype, ErrorKind};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

/// A part of a tensor.
#[derive(Default)]
pub struct Selection {
    /// A range with a positive step, or an index, for each axis.
    axes: Vec<Axis>,
    /// The number of new axes (`None`) before each kept axis; the last entry is for those after it.
    new_before: Vec<usize>,
    /// The axes of the result to be reversed, for negative steps.
    pub flips: Vec<usize>,
    /// Whether there is an ellipsis. Then numpy returns an array even if no axis is left.
    has_ellipsis: bool,
}

/// What is selected on one axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Index(u64),
    /// `count` indices from `first` on.
    Range {
        first: u64,
        count: u64,
        step: u64,
    },
}

impl Axis {
    const fn range(self) -> AxisRange {
        match self {
            Self::Index(index) => AxisRange::index(index),
            Self::Range { count: 0, .. } => AxisRange::new(0, 0),
            Self::Range { first, count, step } => {
                AxisRange::new(first, first + (count - 1) * step + 1).step_by(step)
            }
        }
    }
}

impl Selection {
    /// Parses an index of a tensor with these dimensions: integers, slices, `...` and `None`, and tuples of
    /// them. An empty list selects nothing of the first axis.
    ///
    /// # Errors
    /// The sentence of what is wrong.
    pub fn parse(index: &Bound<'_, PyAny>, dims: &[u64]) -> Result<Self, Failure> {
        let items = items(index)?;
        let is_axis = |item: &&Bound<'_, PyAny>| !item.is_none() && !item.is_instance_of::<PyEllipsis>();
        let given = items.iter().filter(is_axis).count();
        if given > dims.len() {
            let (asked, rank) = (given as u64, dims.len() as u64);
            let sentence = format_args!("too many indices: {given}, but the tensor has {rank} dimensions");
            return Err(Failure::of_argument(ErrorKind::TooManyRanges { asked, rank }, sentence));
        }
        if items.iter().filter(|item| item.is_instance_of::<PyEllipsis>()).count() > 1 {
            return Err(Failure::say("an index can have only one ellipsis (...)"));
        }
        let mut selection = Self { new_before: vec![0], ..Self::default() };
        for item in &items {
            if item.is_instance_of::<PyEllipsis>() {
                selection.has_ellipsis = true;
                let end = selection.axes.len() + dims.len() - given;
                selection.take_all(dims, end);
            } else if item.is_none() {
                selection.new_before.last_mut().map(|count| *count += 1).unwrap_or_default();
            } else {
                let axis = selection.axes.len();
                selection.take(item, axis, dims.get(axis).copied().unwrap_or(0))?;
            }
        }
        selection.take_all(dims, dims.len());
        Ok(selection)
    }

    /// Selects all of the axes up to `end`.
    fn take_all(&mut self, dims: &[u64], end: usize) {
        for &size in dims.get(self.axes.len()..end).unwrap_or(&[]) {
            self.push(Axis::Range { first: 0, count: size, step: 1 }, false);
        }
    }

    fn push(&mut self, axis: Axis, is_reversed: bool) {
        self.axes.push(axis);
        if let Axis::Range { .. } = axis {
            if is_reversed {
                self.flips.push(self.rank());
            }
            self.new_before.push(0);
        }
    }

    /// Returns the number of axes of the result so far.
    fn rank(&self) -> usize {
        self.new_before.len() - 1 + self.new_before.iter().sum::<usize>()
    }

    fn take(&mut self, item: &Bound<'_, PyAny>, axis: usize, size: u64) -> Result<(), Failure> {
        if let Ok(slice) = item.cast::<PySlice>() {
            let size =
                isize::try_from(size).map_err(|_| Failure::say(format_args!("axis {axis} is too long")))?;
            let steps = slice.indices(size).map_err(|error| wrong_slice(item.py(), error, axis))?;
            let (first, count) = (steps.start.max(0).unsigned_abs() as u64, steps.slicelength as u64);
            let step = steps.step.unsigned_abs() as u64;
            match steps.step {
                1.. => self.push(Axis::Range { first, count, step }, false),
                _ => {
                    let last = first.saturating_sub(count.saturating_sub(1).saturating_mul(step));
                    self.push(Axis::Range { first: last, count, step }, true);
                }
            }
            return Ok(());
        }
        // A boolean is another kind of index in numpy.
        if !item.is_exact_instance_of::<PyInt>() && is_boolean(item) {
            return Err(wrong_type(item));
        }
        let index = match item.extract::<i64>().map(i128::from).or_else(|_| item.extract::<i128>()) {
            Ok(index) => index,
            Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => {
                return Err(outside(item, axis, size));
            }
            Err(error) if error.is_instance_of::<PyTypeError>(item.py()) => return Err(wrong_type(item)),
            Err(error) => return Err(error.into()),
        };
        let from_start = if index < 0 { index.saturating_add(size.into()) } else { index };
        match u64::try_from(from_start) {
            Ok(from_start) if from_start < size => {
                self.push(Axis::Index(from_start), false);
                Ok(())
            }
            _ => Err(outside(item, axis, size)),
        }
    }

    /// Returns the ranges of the axes.
    pub fn ranges(&self) -> Vec<AxisRange> {
        self.axes.iter().map(|axis| axis.range()).collect()
    }

    /// Returns the shape of the result without new axes.
    pub fn kept(&self) -> Vec<u64> {
        let kept = self.axes.iter().filter_map(|axis| match axis {
            Axis::Range { count, .. } => Some(*count),
            Axis::Index(_) => None,
        });
        kept.collect()
    }

    /// Returns the shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        let mut new = self.new_before.iter();
        let ones = |count: Option<&usize>| std::iter::repeat_n(1, count.copied().unwrap_or(0));
        let mut shape: Vec<u64> = ones(new.next()).collect();
        for (size, count) in self.kept().into_iter().zip(new) {
            shape.push(size);
            shape.extend(ones(Some(count)));
        }
        shape
    }

    /// Returns whether a reversed axis has entries that end inside a byte.
    pub fn reverses_parts_of_bytes(&self, bits: u8) -> bool {
        let shape = self.shape();
        self.flips.iter().any(|&axis| {
            let (size, inner) = (shape[axis], &shape[axis + 1..]);
            let width = inner.iter().fold(u64::from(bits), |width, size| width.wrapping_mul(*size));
            size > 1 && !width.is_multiple_of(8)
        })
    }

    /// Returns what remains of the index for Python when the part has been read. numpy makes a scalar of an
    /// array without axes if it is empty.
    pub fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ellipsis(py))
    }

    fn ellipsis<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.has_ellipsis.then(|| py.Ellipsis().into_bound(py))
    }

    /// Returns the same selection as an index for Python, without negative numbers.
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut index: Vec<Bound<'py, PyAny>> = Vec::new();
        let mut new = self.new_before.iter();
        let mut push_new = |index: &mut Vec<Bound<'py, PyAny>>| {
            let count = new.next().copied().unwrap_or(0);
            index.extend(std::iter::repeat_n(py.None().into_bound(py), count));
        };
        push_new(&mut index);
        for axis in &self.axes {
            match *axis {
                Axis::Index(at) => index.push(at.into_pyobject(py)?.into_any()),
                Axis::Range { first, count, step } => {
                    let end = if count == 0 { first } else { first + (count - 1) * step + 1 };
                    index.push(slice(py, first, end, step)?);
                    push_new(&mut index);
                }
            }
        }
        index.extend(self.ellipsis(py));
        PyTuple::new(py, index)
    }
}

fn slice(py: Python<'_>, first: u64, end: u64, step: u64) -> PyResult<Bound<'_, PyAny>> {
    // All are at most the length of an axis that Python has accepted.
    let number = |number: u64| isize::try_from(number).unwrap_or(isize::MAX);
    Ok(PySlice::new(py, number(first), number(end), number(step)).into_any())
}

fn items<'py>(index: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>, Failure> {
    if let Ok(tuple) = index.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    if index.cast::<PyList>().is_ok_and(|list| list.is_empty()) {
        return Ok(vec![slice(index.py(), 0, 0, 1)?]);
    }
    Ok(vec![index.clone()])
}

fn is_boolean(item: &Bound<'_, PyAny>) -> bool {
    let name = || dtype::name_of(&item.getattr("dtype").ok()?).ok();
    item.is_instance_of::<PyBool>() || name().and_then(|name| dtype::find(&name)) == Some(Dtype::BOOL)
}

fn outside(index: &Bound<'_, PyAny>, axis: usize, size: u64) -> Failure {
    let sentence = format_args!("index {index} is outside axis {axis}, which has the length {size}");
    Failure::of_argument(ErrorKind::OutsideAxis { axis: 0, asked: 0, size }, sentence)
}

/// Returns the error of a slice that Python does not accept.
fn wrong_slice(py: Python<'_>, error: PyErr, axis: usize) -> Failure {
    let sentence = format!("axis {axis}: {}", error.value(py));
    if error.is_instance_of::<PyValueError>(py) {
        return Failure::of_argument(ErrorKind::ZeroStep { axis: 0 }, sentence);
    }
    if error.is_instance_of::<PyTypeError>(py) { Failure::say(sentence) } else { error.into() }
}

fn wrong_type(item: &Bound<'_, PyAny>) -> Failure {
    let class = item.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    Failure::say(format_args!(
        "an index has integers, slices, ... and None, not {class}; read the tensor and index that"
    ))
}
