//! The tensors of a quantised matrix, and whether they match.

use super::layout::{Format, Layout, Scheme, Table};
use crate::dtype::{Dtype, DtypeSet};
use crate::error::{Error, ErrorKind, QuantRole};
use crate::tensor::info::{TensorInfo, mismatch};
use crate::tensor::location::{Data, Located, Location};
use crate::util::bytes::copy;

/// The tensors of a quantised matrix: weights, scales and, if there are any, zero points.
///
/// Nothing is compared before [`Model::quantized`](crate::Model::quantized).
///
/// *Memory*: 176 bytes, `Copy`.
///
/// ```
/// use embedded_safetensors::{Model, query::Query, quant::Matrix};
///
/// # let header = concat!(
/// #     r#"{"fc.weight":{"dtype":"I8","shape":[2,3],"data_offsets":[0,6]},"#,
/// #     r#""fc.weight.scale":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}}"#,
/// # ).as_bytes();
/// # let data = [1, 2, 3, 255, 254, 253, 0, 0x38, 0, 0x40];
/// # let file = [&(header.len() as u64).to_le_bytes(), header, &data].concat();
/// let mut net = [
///     Query::required("fc.weight"), // I8 [2, 3]
///     Query::required("fc.weight.scale"), // F16 [2]
///     Query::optional("fc.weight.zero_point"),
/// ];
/// let mut model = Model::open_with(&file[..], &mut net, &mut [0; 64])?;
/// let [weight, scale, zero_point] = &net;
/// let mut rows = model.quantized(&Matrix::q8(weight, scale, zero_point.info())?)?;
/// let mut row = [0.0; 3];
/// rows.read_row(1, &mut row)?;
/// assert_eq!(row, [-2.0, -4.0, -6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Matrix {
    scheme: Scheme,
    /// How many values share a scale; unused for Q8.
    group: u64,
    weights: Part,
    scales: Part,
    zeros: Option<Part>,
}

/// One of the tensors.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Part {
    location: Location,
    /// The first two dimensions, 1 for those that it does not have.
    dims: [u64; 2],
    rank: u64,
}

/// How many values of an MXFP4 matrix share a scale.
const MX_GROUP: u64 = 32;

impl Matrix {
    /// Names the tensors of a matrix of 8-bit integers, with a scale for the matrix or for each row.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn q8(
        weights: &impl Located,
        scales: &impl Located,
        zero_points: Option<TensorInfo>,
    ) -> Result<Self, Error> {
        Self::new(Scheme::Q8, 0, weights, scales, zero_points)
    }

    /// Names the tensors of a matrix of 4-bit integers, with a scale for each `group` values of a row.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn q4(
        weights: &impl Located,
        scales: &impl Located,
        zero_points: Option<TensorInfo>,
        group: u64,
    ) -> Result<Self, Error> {
        Self::new(Scheme::Q4, group, weights, scales, zero_points)
    }

    /// Names the tensors of a matrix of 4-bit floats, with a power of two for each 32 values of a row.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn mxfp4(weights: &impl Located, scales: &impl Located) -> Result<Self, Error> {
        Self::new(Scheme::Mxfp4, MX_GROUP, weights, scales, None)
    }

    fn new(
        scheme: Scheme,
        group: u64,
        weights: &impl Located,
        scales: &impl Located,
        zeros: Option<TensorInfo>,
    ) -> Result<Self, Error> {
        let zeros = match &zeros {
            Some(zeros) => Some(Part::of(zeros)?),
            None => None,
        };
        Ok(Self { scheme, group, weights: Part::of(weights)?, scales: Part::of(scales)?, zeros })
    }

    /// Returns where everything is, if the tensors match.
    ///
    /// # Errors
    /// Those of [`Model::quantized`](crate::Model::quantized).
    pub(crate) fn layout(&self, data: Data) -> Result<Layout, Error> {
        let data_start = data.start;
        self.check(QuantRole::Weight, &self.weights, data)?;
        self.check(QuantRole::Scale, &self.scales, data)?;
        if let Some(zeros) = &self.zeros {
            self.check(QuantRole::ZeroPoint, zeros, data)?;
        }
        let format = Format::of(self.scheme, self.weights.location.dtype);
        let (columns, group) = self.columns().map_err(|kind| self.weights.error(kind, data_start))?;
        let [rows, _] = self.weights.dims;
        // A group is a power of two, or the entire row.
        let groups = if group == columns { 1 } else { columns >> group.trailing_zeros() };
        self.check_scales(rows, groups).map_err(|kind| self.scales.error(kind, data_start))?;
        self.check_zeros(data_start)?;
        let scale = self.scales.location.dtype;
        let row_len = if format.is_narrow() { columns >> 1 } else { columns };
        Ok(Layout {
            format,
            scale,
            rows,
            columns,
            group,
            groups,
            weights: Table { start: self.weights.start(data_start), row_len },
            scales: self.factors(&self.scales, groups, data_start),
            zeros: self.zeros.map(|zeros| self.factors(&zeros, groups, data_start)),
        })
    }

    /// Checks what concerns one tensor.
    ///
    /// # Errors
    /// [`ErrorKind::OtherModel`], [`ErrorKind::OutsideData`], [`ErrorKind::QuantDtype`],
    /// [`ErrorKind::QuantRank`]; [`ErrorKind::Size`] when the dimensions are not those of the bytes, which is
    /// possible only with your own [`Located`].
    fn check(&self, role: QuantRole, part: &Part, data: Data) -> Result<(), Error> {
        part.location.check_in(data)?;
        let found = part.location.dtype;
        let needed = allowed(self.scheme, role, self.weights.location.dtype);
        let kind = match role {
            _ if !needed.contains(found) => Some(ErrorKind::QuantDtype { role, found, needed }),
            QuantRole::Weight if part.rank != 2 => {
                Some(ErrorKind::QuantRank { role, found: part.rank, needed: 2 })
            }
            _ => None,
        };
        match kind.or_else(|| part.mismatch()) {
            None => Ok(()),
            Some(kind) => Err(part.error(kind, data.start)),
        }
    }

    /// Returns how many columns there are, and how many of a row share a scale.
    ///
    /// # Errors
    /// [`ErrorKind::QuantGroup`].
    fn columns(&self) -> Result<(u64, u64), ErrorKind> {
        let [_, stored] = self.weights.dims;
        let in_element = match (self.scheme, self.weights.location.dtype) {
            (Scheme::Q8, _) | (_, Dtype::F4) => 1,
            (_, Dtype::I32) => 8,
            _ => 2,
        };
        // Larger only if there are no rows.
        let columns = stored.saturating_mul(in_element);
        if matches!(self.scheme, Scheme::Q8) {
            return Ok((columns, columns));
        }
        let group = self.group;
        match matches!(group, 32 | 64 | 128) && columns & (group - 1) == 0 {
            true => Ok((columns, group)),
            false => Err(ErrorKind::QuantGroup { group, columns }),
        }
    }

    /// Checks the shape of the scales.
    ///
    /// # Errors
    /// [`ErrorKind::QuantRank`], [`ErrorKind::QuantSize`].
    fn check_scales(&self, rows: u64, groups: u64) -> Result<(), ErrorKind> {
        let role = QuantRole::Scale;
        let (is_q8, found, [first, second]) = (self.is_q8(), self.scales.rank, self.scales.dims);
        match found {
            0 if is_q8 => Ok(()),
            1 if is_q8 && first == 1 => Ok(()),
            1 if !is_q8 => Err(ErrorKind::QuantRank { role, found, needed: 2 }),
            1 | 2 if first != rows => Err(ErrorKind::QuantSize { role, axis: 0, found: first, needed: rows }),
            2 if second != groups => {
                Err(ErrorKind::QuantSize { role, axis: 1, found: second, needed: groups })
            }
            1 | 2 => Ok(()),
            _ => Err(ErrorKind::QuantRank { role, found, needed: if is_q8 { 1 } else { 2 } }),
        }
    }

    /// Checks the shape of the zero points: after that of the scales, so that wrong scales are not reported
    /// as wrong zero points.
    ///
    /// # Errors
    /// [`ErrorKind::QuantRank`], [`ErrorKind::QuantSize`].
    fn check_zeros(&self, data_start: u64) -> Result<(), Error> {
        let Some(zeros) = &self.zeros else { return Ok(()) };
        let difference = zeros.difference(&self.scales);
        difference.map_or(Ok(()), |kind| Err(zeros.error(kind, data_start)))
    }

    /// Returns where the scales or zero points of each row are.
    fn factors(&self, part: &Part, groups: u64, data_start: u64) -> Table {
        let row_len = groups.wrapping_mul((part.location.dtype.bits() >> 3).into());
        let is_shared = part.rank < 2 && part.dims == [1; 2];
        Table { start: part.start(data_start), row_len: if is_shared { 0 } else { row_len } }
    }

    const fn is_q8(&self) -> bool {
        matches!(self.scheme, Scheme::Q8)
    }
}

/// Returns the dtypes that a tensor of this role may have.
const fn allowed(scheme: Scheme, role: QuantRole, weights: Dtype) -> DtypeSet {
    match (role, scheme) {
        (QuantRole::Weight, Scheme::Q8) => const { DtypeSet::of(&[Dtype::I8, Dtype::U8]) },
        (QuantRole::Weight, Scheme::Q4) => const { DtypeSet::of(&[Dtype::U8, Dtype::I32]) },
        (QuantRole::Weight, Scheme::Mxfp4) => const { DtypeSet::of(&[Dtype::F4, Dtype::U8]) },
        (QuantRole::Scale, Scheme::Mxfp4) => const { DtypeSet::of(&[Dtype::F8_E8M0, Dtype::U8]) },
        (QuantRole::Scale, _) => const { DtypeSet::of(&[Dtype::F32, Dtype::F16, Dtype::BF16]) },
        (QuantRole::ZeroPoint, Scheme::Q8) => DtypeSet::of(&[weights]),
        (QuantRole::ZeroPoint, _) => const { DtypeSet::of(&[Dtype::U8]) },
    }
}

impl Part {
    /// # Errors
    /// [`ErrorKind::NotFound`].
    fn of(tensor: &impl Located) -> Result<Self, Error> {
        let (location, mut dims) = (tensor.locate()?, [1; 2]);
        copy(&mut dims, tensor.dims());
        Ok(Self { location, dims, rank: tensor.dims().len() as u64 })
    }

    /// Returns the offset of its first byte in the file.
    const fn start(&self, data_start: u64) -> u64 {
        data_start.wrapping_add(self.location.begin)
    }

    fn error(&self, kind: ErrorKind, data_start: u64) -> Error {
        kind.at(self.start(data_start))
    }

    /// Returns the error of zero points whose shape is not that of the scales.
    fn difference(&self, scales: &Self) -> Option<ErrorKind> {
        let role = QuantRole::ZeroPoint;
        if self.rank != scales.rank {
            return Some(ErrorKind::QuantRank { role, found: self.rank, needed: scales.rank });
        }
        let pairs = self.dims.into_iter().zip(scales.dims).zip(0..);
        let mut differences = pairs.filter(|((found, needed), _)| found != needed);
        let ((found, needed), axis) = differences.next()?;
        Some(ErrorKind::QuantSize { role, axis, found, needed })
    }

    /// Returns the error of bytes that the dimensions do not describe. Only tensors of a rank that is not
    /// supported have others than these two.
    fn mismatch(&self) -> Option<ErrorKind> {
        let [first, second] = self.dims;
        if self.rank > 2 {
            return None;
        }
        let Location { dtype, begin, end, .. } = self.location;
        match first.checked_mul(second) {
            None => Some(ErrorKind::Overflow),
            Some(elements) => mismatch(dtype, elements, begin, end),
        }
    }
}
