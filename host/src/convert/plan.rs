//! What becomes of each tensor.

use super::input::{Array, Input};
use super::kind::Kind;
use crate::complaint::Complaint;
use crate::conform::matches;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{bits_of, can_be_target, is_float};
use safetensors_convert::numpy::{Header, is_unsafe};
use std::collections::HashSet;
use std::path::Path;

/// What is asked for.
pub struct Wishes<'w> {
    pub to: Option<Dtype>,
    /// Cast whatever is not floating-point, too.
    pub all: bool,
    pub only: &'w [String],
    pub except: &'w [String],
    pub scale: Option<Scale>,
    pub unscale: bool,
    pub bits: bool,
}

/// For what one scale stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// For a whole tensor
    PerTensor,
    /// For each index of the first axis
    PerRow,
}

/// One tensor of the output.
pub struct Planned {
    /// As the output has it: with `--bits`, of the integer that holds the bits.
    pub array: Array,
    /// Where it comes from in the input.
    pub source: usize,
    pub change: Change,
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Keep,
    /// Each number becomes the nearest of this dtype.
    Cast(Dtype),
    /// Each number is divided by the scale of its row.
    Quantize(Rows),
    /// The scales of these rows.
    Scales(Rows),
    /// Each number is multiplied by what is at its row, of so many elements, in the tensor of scales, and cast.
    Unscale {
        to: Dtype,
        row: u64,
        scales: usize,
    },
}

/// What has a scale of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Elements of one; 1 where there are none.
    pub len: u64,
    pub count: u64,
}

pub struct Plan {
    pub tensors: Vec<Planned>,
    /// Why `--to` leaves tensors as they are that are selected: one reason for each.
    pub left: Vec<Reason>,
}

/// Why a tensor that is selected is not cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has no rows of several numbers, which could share a scale.
    NoRows,
    NotFloat,
    Complex,
    /// It has no scale.
    NotI8,
}

impl Reason {
    pub const ALL: [Self; 4] = [Self::NoRows, Self::NotFloat, Self::Complex, Self::NotI8];

    /// What such tensors are.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoRows => "without rows of several numbers",
            Self::NotFloat => "not floating-point (--all casts integers and BOOL)",
            Self::Complex => "complex",
            Self::NotI8 => "not I8",
        }
    }

    /// Why nothing is cast, where this is the reason.
    fn nothing(self) -> &'static str {
        match self {
            Self::NoRows => "nothing to cast: no selected tensor has rows of several numbers",
            Self::NotFloat => {
                "nothing to cast: no selected tensor is floating-point (--all takes integers and BOOL, too)"
            }
            Self::Complex => "nothing to cast: complex numbers are not",
            Self::NotI8 => "nothing to unscale: no selected tensor is I8",
        }
    }
}

impl Plan {
    /// # Errors
    /// What is asked for cannot be done with this input, or not be stored in such an output.
    pub fn new(input: &Input, wishes: &Wishes<'_>, output: &Path) -> Result<Self, Complaint> {
        let about = |sentence: String| Complaint::about(input.path(), sentence);
        wishes.check(input).map_err(about)?;
        let mut plan = Self { tensors: Vec::new(), left: Vec::new() };
        let mut casts = false;
        for (source, array) in input.arrays.iter().enumerate() {
            let of_tensor = |error: String| about(format!("tensor {}: {error}", quoted(&array.name)));
            let fate = wishes.fate(input, array).map_err(of_tensor)?;
            casts |= matches!(fate, Fate::Cast(_));
            match fate {
                Fate::Keep => plan.tensors.push(kept(source, array)),
                Fate::Left(reason) => {
                    plan.left.push(reason);
                    plan.tensors.push(kept(source, array));
                }
                Fate::Cast(to) => {
                    plan.tensors.extend(wishes.cast(input, source, array, to).map_err(of_tensor)?);
                }
                Fate::Scales => {}
            }
        }
        // A cast that casts nothing is not what was meant.
        if let Some(reason) = Reason::ALL.into_iter().find(|reason| !casts && plan.left.contains(reason)) {
            return Err(about(reason.nothing().into()));
        }
        if wishes.to.is_some() && !casts && plan.left.is_empty() && !input.arrays.is_empty() {
            return Err(about("nothing to cast: no tensor is selected".into()));
        }
        if wishes.bits {
            plan.tensors.iter_mut().for_each(|tensor| tensor.array.dtype = bits_of(tensor.array.dtype));
        }
        plan.validate_names().map_err(about)?;
        plan.check_output(Kind::of_output(output)?).map_err(about)?;
        Ok(plan)
    }

    fn validate_names(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        match self.tensors.iter().find(|tensor| !seen.insert(&tensor.array.name)) {
            Some(twice) => Err(format!("there would be two tensors {}", quoted(&twice.array.name))),
            None => Ok(()),
        }
    }

    fn check_output(&self, kind: Kind) -> Result<(), String> {
        match (kind, self.tensors.len()) {
            (Kind::Model, _) => return Ok(()),
            (Kind::Array, count) if count != 1 => {
                return Err(format!(
                    "a .npy holds one array, and these are {count}: write a .npz, or one of them by `cat TENSOR -o`"
                ));
            }
            _ => {}
        }
        self.tensors.iter().try_for_each(|Planned { array, .. }| {
            let name = quoted(&array.name);
            if Header::spelled(array.dtype, &array.dims).is_none() {
                let bits = if bits_of(array.dtype) == array.dtype { "" } else { ", or --bits for its bits" };
                return Err(format!(
                    "tensor {name}: numpy has no {}; cast it by --to F32{bits}",
                    array.dtype
                ));
            }
            match kind == Kind::Archive && is_unsafe(&array.name) {
                true => Err(format!("tensor {name}: in an archive this name is unsafe")),
                false => Ok(()),
            }
        })
    }
}

impl Wishes<'_> {
    fn check(&self, input: &Input) -> Result<(), String> {
        let to = self.to;
        if let Some(to) = to.filter(|to| !can_be_target(*to)) {
            return Err(format!("nothing is cast to {to}: there are floats from F8 to F64 and integers"));
        }
        if self.scale.is_some() && to != Some(Dtype::I8) {
            return Err("--scale goes with --to I8".into());
        }
        if self.unscale && !matches!(to, Some(Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::BF16)) {
            return Err("--unscale goes with --to F32, F64, F16 or BF16".into());
        }
        if to.is_none() && self.all {
            return Err("--all goes with --to".into());
        }
        let names = || input.arrays.iter().map(|array| array.name.as_str());
        let unused =
            self.only.iter().chain(self.except).find(|pattern| !names().any(|name| matches(pattern, name)));
        match unused {
            Some(pattern) => Err(format!("no tensor's name is like {}", quoted(pattern))),
            None => Ok(()),
        }
    }

    /// Whether the names that were given choose this one: all but the exceptions, where none is given.
    fn chooses(&self, name: &str) -> bool {
        let is_like = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.only.is_empty() || is_like(self.only)) && !is_like(self.except)
    }

    /// Whether this is the scale of a tensor that is multiplied by it.
    fn is_spent(&self, input: &Input, name: &str) -> bool {
        let owner = name.strip_suffix(".scale").filter(|owner| self.chooses(owner));
        let owner = owner.and_then(|owner| input.arrays.get(input.find(owner)?));
        self.unscale && owner.is_some_and(|owner| owner.dtype == Dtype::I8)
    }

    /// Whether a tensor is cast.
    ///
    /// # Errors
    /// It is complex, and named by `--only`.
    fn fate(&self, input: &Input, array: &Array) -> Result<Fate, String> {
        if self.is_spent(input, &array.name) {
            return Ok(Fate::Scales);
        }
        let Some(to) = self.to.filter(|_| self.chooses(&array.name)) else { return Ok(Fate::Keep) };
        let is_named = !self.only.is_empty();
        match array.dtype {
            Dtype::I8 if self.unscale => Ok(Fate::Cast(to)),
            _ if self.unscale => Ok(Fate::Left(Reason::NotI8)),
            Dtype::C64 if is_named => Err("complex numbers are not cast".into()),
            Dtype::C64 => Ok(Fate::Left(Reason::Complex)),
            dtype if !is_float(dtype) && !is_named && !self.all && dtype != to => {
                Ok(Fate::Left(Reason::NotFloat))
            }
            _ if self.scale == Some(Scale::PerRow) && !has_rows(array) => Ok(Fate::Left(Reason::NoRows)),
            _ => Ok(Fate::Cast(to)),
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

/// Multiplied by its scales.
fn unscaled(input: &Input, source: usize, array: &Array, to: Dtype) -> Result<Planned, String> {
    let name = format!("{}.scale", array.name);
    let scales = input.find(&name).ok_or_else(|| format!("there is no {} beside it", quoted(&name)))?;
    let row = input.arrays.get(scales).and_then(|scales| row_of(array, scales));
    let row =
        row.ok_or_else(|| format!("{} is not one F32 for it, nor one for each of its rows", quoted(&name)))?;
    let array = Array { dtype: to, ..array.clone() };
    Ok(Planned { array, source, change: Change::Unscale { to, row, scales } })
}

/// What `--to` does with a tensor.
enum Fate {
    /// It is not selected.
    Keep,
    /// It is selected, and stays as it is.
    Left(Reason),
    Cast(Dtype),
    /// It goes, for what it belongs to is multiplied by it.
    Scales,
}

/// For how many elements each of the scales is.
fn row_of(array: &Array, scales: &Array) -> Option<u64> {
    match (scales.dtype, &scales.dims[..]) {
        (Dtype::F32, [] | [1]) => Some(array.elements().max(1)),
        (Dtype::F32, [rows]) if array.dims.first() == Some(rows) => Some(row_len(array)),
        _ => None,
    }
}

/// How many elements an index of the first axis has; of none, 1.
fn row_len(array: &Array) -> u64 {
    let rows = array.dims.first().copied().unwrap_or(1).max(1);
    (array.elements() / rows).max(1)
}

/// Whether a scale for each index of the first axis would be shared by several numbers: else the scales take more than they save.
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
