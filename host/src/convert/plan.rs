//! The planned conversion of each tensor.

use super::input::{Array, Input};
use super::kind::Kind;
use crate::complaint::Complaint;
use crate::selection::Choice;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{bits_of, can_be_target, is_float};
use safetensors_convert::numpy::Header;
use safetensors_convert::zip::is_unsafe;
use std::collections::HashSet;
use std::path::Path;

/// The requested conversion.
pub struct Options<'w> {
    pub to: Option<Dtype>,
    /// Also cast tensors that are not floating-point.
    pub all: bool,
    pub only: &'w [String],
    pub except: &'w [String],
    pub scale: Option<Scale>,
    pub unscale: bool,
    pub bits: bool,
}

/// The elements that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// One scale per tensor
    PerTensor,
    /// One scale per index of the first axis
    PerRow,
}

/// One tensor of the output.
pub struct Planned {
    /// The output tensor; with `--bits`, the integer that holds the bits.
    pub array: Array,
    /// Its index in the input.
    pub source: usize,
    pub change: Change,
}

/// The conversion of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Keep,
    /// Rounds each number to this dtype.
    Cast(Dtype),
    /// Divides each number by the scale of its row.
    Quantize(Rows),
    /// Computes the scales of these rows.
    Scales(Rows),
    /// Multiplies each number by the scale of its row of this length, and casts it.
    Unscale {
        to: Dtype,
        row: u64,
        scales: usize,
    },
}

/// The rows that have scales of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The elements of one; 1 if there are none.
    pub len: u64,
    pub count: u64,
}

pub struct Plan {
    pub tensors: Vec<Planned>,
    /// The reasons for which `--to` leaves selected tensors unchanged, one per tensor.
    pub left: Vec<Reason>,
}

/// The reason why a selected tensor is not cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No row has several numbers that could share a scale.
    NoRows,
    NotFloat,
    Complex,
    /// It has no scale.
    NotI8,
}

impl Reason {
    pub const ALL: [Self; 4] = [Self::NoRows, Self::NotFloat, Self::Complex, Self::NotI8];

    /// Describes such tensors.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoRows => "without rows of several numbers",
            Self::NotFloat => "not floating-point (--all casts integers and BOOL)",
            Self::Complex => "complex",
            Self::NotI8 => "not I8",
        }
    }

    /// The error if nothing is cast for this reason.
    fn nothing(self) -> &'static str {
        match self {
            Self::NoRows => "nothing to cast: no selected tensor has rows of several numbers",
            Self::NotFloat => {
                "nothing to cast: no selected tensor is floating-point; use --all to cast integers and BOOL"
            }
            Self::Complex => "nothing to cast: complex numbers cannot be cast",
            Self::NotI8 => "nothing to unscale: no selected tensor is I8",
        }
    }
}

impl Plan {
    /// # Errors
    /// The conversion is impossible for this input or this output.
    pub fn new(input: &Input, options: &Options<'_>, output: &Path) -> Result<Self, Complaint> {
        let about = |sentence: String| Complaint::about(input.path(), sentence);
        options.check(input).map_err(about)?;
        let mut plan = Self { tensors: Vec::new(), left: Vec::new() };
        let mut casts = false;
        for (source, array) in input.arrays.iter().enumerate() {
            let of_tensor = |error: String| about(format!("tensor {}: {error}", quoted(&array.name)));
            let decide = options.decide(input, array).map_err(of_tensor)?;
            casts |= matches!(decide, Decision::Cast(_));
            match decide {
                Decision::Keep => plan.tensors.push(kept(source, array)),
                Decision::Left(reason) => {
                    plan.left.push(reason);
                    plan.tensors.push(kept(source, array));
                }
                Decision::Cast(to) => {
                    plan.tensors.extend(options.cast(input, source, array, to).map_err(of_tensor)?);
                }
                Decision::Scales => {}
            }
        }
        // A cast without effect is a mistake.
        if let Some(reason) = Reason::ALL.into_iter().find(|reason| !casts && plan.left.contains(reason)) {
            return Err(about(reason.nothing().into()));
        }
        if options.to.is_some() && !casts && plan.left.is_empty() && !input.arrays.is_empty() {
            return Err(about("nothing to cast: no tensor is selected".into()));
        }
        if options.bits {
            plan.tensors.iter_mut().for_each(|tensor| tensor.array.dtype = bits_of(tensor.array.dtype));
        }
        plan.validate_names().map_err(about)?;
        plan.check_output(Kind::of_output(output)?).map_err(about)?;
        Ok(plan)
    }

    fn validate_names(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        match self.tensors.iter().find(|tensor| !seen.insert(&tensor.array.name)) {
            Some(twice) => Err(format!("duplicate tensor name {} in the output", quoted(&twice.array.name))),
            None => Ok(()),
        }
    }

    fn check_output(&self, kind: Kind) -> Result<(), String> {
        match (kind, self.tensors.len()) {
            (Kind::Model, _) => return Ok(()),
            (Kind::Array, count) if count != 1 => {
                return Err(format!(
                    "a .npy holds one array, {count} given; write a .npz, or one of them with `cat TENSOR -o`"
                ));
            }
            _ => {}
        }
        self.tensors.iter().try_for_each(|Planned { array, .. }| {
            let name = quoted(&array.name);
            if Header::spelled(array.dtype, &array.dims).is_none() {
                let bits =
                    if bits_of(array.dtype) == array.dtype { "" } else { ", or write its bits with --bits" };
                return Err(format!(
                    "tensor {name}: numpy has no {}; cast it with --to F32{bits}",
                    array.dtype
                ));
            }
            match kind == Kind::Archive && is_unsafe(&array.name) {
                true => Err(format!("tensor {name}: this name is unsafe in an archive")),
                false => Ok(()),
            }
        })
    }
}

impl Options<'_> {
    fn check(&self, input: &Input) -> Result<(), String> {
        let to = self.to;
        if let Some(to) = to.filter(|to| !can_be_target(*to)) {
            return Err(format!(
                "{to} is not supported with --to; use an integer dtype or a float from F8 to F64"
            ));
        }
        if self.scale.is_some() && to != Some(Dtype::I8) {
            return Err("--scale needs --to I8".into());
        }
        if self.unscale && !matches!(to, Some(Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::BF16)) {
            return Err("--unscale needs --to F32, F64, F16 or BF16".into());
        }
        if to.is_none() && self.all {
            return Err("--all needs --to".into());
        }
        self.choice().check(|| input.arrays.iter().map(|array| array.name.as_str()))
    }

    fn choice(&self) -> Choice<'_> {
        Choice { only: self.only, except: self.except }
    }

    /// Whether `--only` and `--except` select this name.
    fn chooses(&self, name: &str) -> bool {
        self.choice().takes(name)
    }

    /// Whether this is the scale of a tensor that is multiplied by it.
    fn is_used_scale(&self, input: &Input, name: &str) -> bool {
        let owner = name.strip_suffix(".scale").filter(|owner| self.chooses(owner));
        let owner = owner.and_then(|owner| input.arrays.get(input.find(owner)?));
        self.unscale && owner.is_some_and(|owner| owner.dtype == Dtype::I8)
    }

    /// Whether a tensor is cast.
    ///
    /// # Errors
    /// It is complex and selected by `--only`.
    fn decide(&self, input: &Input, array: &Array) -> Result<Decision, String> {
        if self.is_used_scale(input, &array.name) {
            return Ok(Decision::Scales);
        }
        let Some(to) = self.to.filter(|_| self.chooses(&array.name)) else { return Ok(Decision::Keep) };
        let is_named = !self.only.is_empty();
        match array.dtype {
            Dtype::I8 if self.unscale => Ok(Decision::Cast(to)),
            _ if self.unscale => Ok(Decision::Left(Reason::NotI8)),
            Dtype::C64 if is_named => Err("complex numbers cannot be cast".into()),
            Dtype::C64 => Ok(Decision::Left(Reason::Complex)),
            dtype if !is_float(dtype) && !is_named && !self.all && dtype != to => {
                Ok(Decision::Left(Reason::NotFloat))
            }
            _ if self.scale == Some(Scale::PerRow) && !has_rows(array) => Ok(Decision::Left(Reason::NoRows)),
            _ => Ok(Decision::Cast(to)),
        }
    }

    fn cast(&self, input: &Input, source: usize, array: &Array, to: Dtype) -> Result<Vec<Planned>, String> {
        match self.scale {
            _ if self.unscale => Ok(vec![unscaled(input, source, array, to)?]),
            Some(scale) => Ok(quantized(source, array, scale)),
            None => {
                let change = if to == array.dtype { Change::Keep } else { Change::Cast(to) };
                Ok(vec![Planned { array: Array { dtype: to, ..array.clone() }, source, change }])
            }
        }
    }
}

fn kept(source: usize, array: &Array) -> Planned {
    Planned { array: array.clone(), source, change: Change::Keep }
}

/// Plans the multiplication by the scales.
fn unscaled(input: &Input, source: usize, array: &Array, to: Dtype) -> Result<Planned, String> {
    let name = format!("{}.scale", array.name);
    let scales = input.find(&name).ok_or_else(|| format!("its scales {} are missing", quoted(&name)))?;
    let row = input.arrays.get(scales).and_then(|scales| row_of(array, scales));
    let row =
        row.ok_or_else(|| format!("its scales {} must be one F32, or one F32 per row", quoted(&name)))?;
    let array = Array { dtype: to, ..array.clone() };
    Ok(Planned { array, source, change: Change::Unscale { to, row, scales } })
}

/// What `--to` does with a tensor.
enum Decision {
    /// It is not selected.
    Keep,
    /// It is selected, but left unchanged.
    Left(Reason),
    Cast(Dtype),
    /// It is dropped: the tensor that it belongs to is multiplied by it.
    Scales,
}

/// The number of elements per scale.
fn row_of(array: &Array, scales: &Array) -> Option<u64> {
    match (scales.dtype, &scales.dims[..]) {
        (Dtype::F32, [] | [1]) => Some(array.elements().max(1)),
        (Dtype::F32, [rows]) if array.dims.first() == Some(rows) => Some(row_len(array)),
        _ => None,
    }
}

/// The number of elements per index of the first axis; 1 without axes.
fn row_len(array: &Array) -> u64 {
    let rows = array.dims.first().copied().unwrap_or(1).max(1);
    (array.elements() / rows).max(1)
}

/// Whether several numbers share each scale of a row; otherwise the scales take more than they save.
fn has_rows(array: &Array) -> bool {
    match array.dims.split_first() {
        Some((_, axes @ [_, ..])) => {
            axes.iter().fold(1, |product: u64, &axis| product.saturating_mul(axis)) > 1
        }
        _ => false,
    }
}

fn quantized(source: usize, array: &Array, scale: Scale) -> Vec<Planned> {
    let (len, dims) = match scale {
        Scale::PerTensor => (array.elements().max(1), Vec::new()),
        Scale::PerRow => (row_len(array), array.dims.iter().take(1).copied().collect()),
    };
    let rows = Rows { len, count: dims.iter().product() };
    let values = Array { dtype: Dtype::I8, ..array.clone() };
    let scales = Array { name: format!("{}.scale", array.name), dtype: Dtype::F32, dims, is_raw: false };
    vec![
        Planned { array: values, source, change: Change::Quantize(rows) },
        Planned { array: scales, source, change: Change::Scales(rows) },
    ]
}
