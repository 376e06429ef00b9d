//! The tensors of a quantised matrix, and whether they match.

use crate::blocks;
use crate::layout::{Format, Layout, Scheme, Table};
use embedded_safetensors::error::QuantRole;
use embedded_safetensors::tensor::{DtypeSet, Located, Location};
use embedded_safetensors::{Dtype, Error, ErrorKind, TensorInfo};

/// The tensors of a quantised matrix: weights, scales and, if there are any, zero points or a global scale.
///
/// Nothing is compared before [`QuantReader::new`](crate::QuantReader::new).
///
/// *Memory*: 176 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Matrix {
    scheme: Scheme,
    /// How many values share a scale; unused for Q8.
    group: u64,
    weights: Part,
    scales: Part,
    /// The zero points, or the global scale.
    third: Option<Part>,
}

/// One of the tensors.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Part {
    location: Location,
    /// The first two dimensions, 1 for those that it does not have.
    dims: [u64; 2],
    rank: u64,
}

/// A tensor of the model.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) dtype: Dtype,
    /// The offset of its first byte in the file.
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// How many values of a row share a scale, by layout.
const MX_GROUP: u64 = 32;
const NV_GROUP: u64 = 16;
const FP8_GROUP: u64 = 128;

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
        Self::new(Scheme::Q8, 0, weights, scales, zero_points.as_ref())
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
        Self::new(Scheme::Q4, group, weights, scales, zero_points.as_ref())
    }

    /// Names the tensors of a matrix of 4-bit floats, with a power of two for each 32 values of a row.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn mxfp4(weights: &impl Located, scales: &impl Located) -> Result<Self, Error> {
        Self::new(Scheme::Mxfp4, MX_GROUP, weights, scales, None::<&TensorInfo>)
    }

    /// Names the tensors of a matrix of 4-bit floats, with a scale for each 16 values of a row, which is
    /// multiplied by a global scale: `weight`, `weight_scale` and `weight_scale_2` of Model Optimizer.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn nvfp4(
        weights: &impl Located,
        scales: &impl Located,
        scale_2: &impl Located,
    ) -> Result<Self, Error> {
        Self::new(Scheme::Nvfp4, NV_GROUP, weights, scales, Some(scale_2))
    }

    /// Names the same tensors as [`nvfp4`](Self::nvfp4), but scales are divided by the global scale:
    /// `weight_packed`, `weight_scale` and `weight_global_scale` of compressed-tensors.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn nvfp4_packed(
        weights: &impl Located,
        scales: &impl Located,
        global_scale: &impl Located,
    ) -> Result<Self, Error> {
        Self::new(Scheme::Nvfp4Packed, NV_GROUP, weights, scales, Some(global_scale))
    }

    /// Names the tensors of a matrix of 8-bit floats, with a scale for each block of 128 rows and 128
    /// columns. The last blocks may be smaller.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when a query has not found its tensor.
    pub fn fp8(weights: &impl Located, scales: &impl Located) -> Result<Self, Error> {
        Self::new(Scheme::Fp8, FP8_GROUP, weights, scales, None::<&TensorInfo>)
    }

    #[inline(always)]
    fn new(
        scheme: Scheme,
        group: u64,
        weights: &impl Located,
        scales: &impl Located,
        third: Option<&impl Located>,
    ) -> Result<Self, Error> {
        let third = third.map(Part::of).transpose()?;
        Ok(Self { scheme, group, weights: Part::of(weights)?, scales: Part::of(scales)?, third })
    }

    /// Returns where everything is, if the tensors match. `find` looks them up in the model.
    ///
    /// # Errors
    /// Those of [`QuantReader::new`](crate::QuantReader::new).
    pub(crate) fn layout(
        &self,
        find: &mut dyn FnMut(&Part) -> Result<Found, Error>,
    ) -> Result<Layout, Error> {
        let scheme = self.scheme;
        let weights = self.weights.find(QuantRole::Weight, scheme, Dtype::U8, find)?;
        let scales = self.scales.find(QuantRole::Scale, scheme, weights.dtype, find)?;
        let role = if scheme.has_global_scale() { QuantRole::GlobalScale } else { QuantRole::ZeroPoint };
        let third = self.third.as_ref();
        let third = third.map(|part| part.find(role, scheme, weights.dtype, find)).transpose()?;
        let format = Format::of(scheme, weights.dtype);
        let (columns, group) = self.columns(weights.dtype).map_err(|kind| kind.at(weights.start))?;
        let [rows, _] = self.weights.dims;
        // A group is a power of two, or the entire row.
        let groups = if group == columns { 1 } else { blocks(columns, group.trailing_zeros()) };
        self.check_scales(blocks(rows, scheme.row_shift()), groups).map_err(|kind| kind.at(scales.start))?;
        // After the shape of the scales, so that wrong scales are not reported as wrong zero points.
        let third = match (&self.third, third) {
            (Some(part), Some(third)) => match part.difference(role, &self.scales) {
                Some(kind) => return Err(kind.at(third.start)),
                None => Some(part.factors(third, groups)),
            },
            _ => None,
        };
        let row_len = if format.is_narrow() { columns >> 1 } else { columns };
        Ok(Layout {
            scheme,
            format,
            scale: scales.dtype,
            rows,
            columns,
            group,
            groups,
            weights: Table { start: weights.start, row_len },
            scales: self.scales.factors(scales, groups),
            third,
        })
    }

    /// Returns how many columns there are, and how many of a row share a scale.
    ///
    /// # Errors
    /// [`ErrorKind::QuantGroup`].
    fn columns(&self, weights: Dtype) -> Result<(u64, u64), ErrorKind> {
        let [_, stored] = self.weights.dims;
        let in_element = match (self.scheme, weights) {
            (Scheme::Q8 | Scheme::Fp8, _) | (_, Dtype::F4) => 1,
            (_, Dtype::I32) => 8,
            _ => 2,
        };
        // Larger only if there are no rows.
        let columns = stored.saturating_mul(in_element);
        let group = self.group;
        match self.scheme {
            Scheme::Q8 => Ok((columns, columns)),
            Scheme::Fp8 => Ok((columns, group)),
            _ if matches!(group, 16 | 32 | 64 | 128) && columns & (group - 1) == 0 => Ok((columns, group)),
            _ => Err(ErrorKind::QuantGroup { group, columns }),
        }
    }

    /// Checks the shape of the scales.
    ///
    /// # Errors
    /// [`ErrorKind::QuantRank`], [`ErrorKind::QuantSize`].
    fn check_scales(&self, rows: u64, groups: u64) -> Result<(), ErrorKind> {
        let role = QuantRole::Scale;
        let (is_q8, found, [first, second]) =
            (matches!(self.scheme, Scheme::Q8), self.scales.rank, self.scales.dims);
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
}

/// Returns the dtypes that a tensor of this role may have, beside weights of this dtype.
const fn allowed(scheme: Scheme, role: QuantRole, weights: Dtype) -> DtypeSet {
    match (role, scheme) {
        (QuantRole::Weight, Scheme::Q8) => const { DtypeSet::of(&[Dtype::I8, Dtype::U8]) },
        (QuantRole::Weight, Scheme::Q4) => const { DtypeSet::of(&[Dtype::U8, Dtype::I32]) },
        (QuantRole::Weight, Scheme::Fp8) => const { DtypeSet::of(&[Dtype::F8_E4M3]) },
        (QuantRole::Weight, _) => const { DtypeSet::of(&[Dtype::F4, Dtype::U8]) },
        (QuantRole::Scale, Scheme::Mxfp4) => const { DtypeSet::of(&[Dtype::F8_E8M0, Dtype::U8]) },
        (QuantRole::Scale, Scheme::Nvfp4 | Scheme::Nvfp4Packed) => const { DtypeSet::of(&[Dtype::F8_E4M3]) },
        (QuantRole::Scale, _) => const { DtypeSet::of(&[Dtype::F32, Dtype::F16, Dtype::BF16]) },
        (QuantRole::ZeroPoint, Scheme::Q8) => DtypeSet::of(&[weights]),
        (QuantRole::ZeroPoint, _) => const { DtypeSet::of(&[Dtype::U8]) },
        (QuantRole::GlobalScale, _) => const { DtypeSet::of(&[Dtype::F32]) },
    }
}

impl Part {
    /// # Errors
    /// [`ErrorKind::NotFound`].
    fn of(tensor: &impl Located) -> Result<Self, Error> {
        let (location, mut dims) = (tensor.locate()?, [1; 2]);
        dims.iter_mut().zip(tensor.dims()).for_each(|(dim, of_tensor)| *dim = *of_tensor);
        Ok(Self { location, dims, rank: tensor.dims().len() as u64 })
    }

    /// Looks it up, and checks what concerns this tensor alone, beside weights of a dtype. For the weights
    /// themselves, that dtype does not matter.
    ///
    /// # Errors
    /// Those of `find`; [`ErrorKind::QuantDtype`], [`ErrorKind::QuantRank`]; [`ErrorKind::Size`] when the
    /// dimensions are not those of the bytes, which is possible only with your own [`Located`].
    fn find(
        &self,
        role: QuantRole,
        scheme: Scheme,
        weights: Dtype,
        find: &mut dyn FnMut(&Part) -> Result<Found, Error>,
    ) -> Result<Found, Error> {
        let found = find(self)?;
        let needed = allowed(scheme, role, weights);
        let kind = match role {
            _ if !needed.contains(found.dtype) => ErrorKind::QuantDtype { role, found: found.dtype, needed },
            QuantRole::Weight if self.rank != 2 => ErrorKind::QuantRank { role, found: self.rank, needed: 2 },
            _ => match self.mismatch(found) {
                Some(kind) => kind,
                None => return Ok(found),
            },
        };
        Err(kind.at(found.start))
    }

    /// Returns where the scales or zero points of each row are.
    fn factors(&self, found: Found, groups: u64) -> Table {
        let row_len = groups.wrapping_mul((found.dtype.bits() >> 3).into());
        let is_shared = self.rank < 2 && self.dims == [1; 2];
        Table { start: found.start, row_len: if is_shared { 0 } else { row_len } }
    }

    /// Returns the error of zero points whose shape is not that of the scales, or of a global scale that is
    /// not one element.
    fn difference(&self, role: QuantRole, scales: &Self) -> Option<ErrorKind> {
        let (needed, dims) = match role {
            QuantRole::GlobalScale => (self.rank.min(1), [1; 2]),
            _ => (scales.rank, scales.dims),
        };
        if self.rank != needed {
            return Some(ErrorKind::QuantRank { role, found: self.rank, needed });
        }
        let pairs = self.dims.into_iter().zip(dims).zip(0..);
        let mut differences = pairs.filter(|((found, needed), _)| found != needed);
        let ((found, needed), axis) = differences.next()?;
        Some(ErrorKind::QuantSize { role, axis, found, needed })
    }

    /// Returns the error of bytes that the dimensions do not describe. Only tensors of a rank that is not
    /// supported have others than these two; a part of a byte is an error of the group.
    fn mismatch(&self, found: Found) -> Option<ErrorKind> {
        let [first, second] = self.dims;
        let elements = first.checked_mul(second);
        match elements.and_then(|elements| elements.checked_mul(found.dtype.bits().into())) {
            _ if self.rank > 2 => None,
            None => Some(ErrorKind::Overflow),
            Some(bits) if bits >> 3 == found.len => None,
            Some(bits) => Some(ErrorKind::Size { range: found.len, needed: bits >> 3 }),
        }
    }
}

impl Located for Part {
    fn locate(&self) -> Result<Location, Error> {
        Ok(self.location)
    }

    fn dims(&self) -> &[u64] {
        usize::try_from(self.rank).ok().and_then(|rank| self.dims.get(..rank)).unwrap_or(&self.dims)
    }
}
