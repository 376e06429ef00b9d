//! The planned conversion of each tensor.

use super::input::{Array, Input};
use crate::args::kind::Kind;
use crate::error::Error;
use crate::input::selection::Choice;
use crate::pack::Renames;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use safetensors_convert::gguf::{RawTypes, TYPES};
use safetensors_convert::numbers::{bits_of, is_float};
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
    pub no_metadata: bool,
    pub renames: &'w Renames,
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
    /// Its index in the input.
    pub source: u32,
    /// With `--bits`, the integer that holds the bits.
    pub dtype: Dtype,
    pub change: Change,
    /// What differs from the input, which is rare.
    own: Option<Box<Own>>,
}

/// What an output tensor has of its own. None: as in the input.
#[derive(Default)]
struct Own {
    name: Option<String>,
    dims: Option<Vec<u64>>,
}

/// The conversion of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Keep,
    /// Rounds each number to this dtype.
    Cast(Dtype),
    /// Divides each number by its scale.
    Quantize(Scale),
    /// Computes the scales.
    Scales(Scale),
    /// Multiplies each number by its scale, which is in the tensor at this index, and casts it.
    Unscale {
        to: Dtype,
        scales: u32,
    },
}

/// The rows that have scales of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The elements of one; 1 if there are none.
    pub len: u64,
    pub count: u64,
}

impl Rows {
    /// The rows of a tensor that share a scale each.
    pub fn of(array: &Array<'_>, scale: Scale) -> Self {
        match scale {
            Scale::PerTensor => Self { len: array.elements().max(1), count: 1 },
            Scale::PerRow => Self { len: row_len(array), count: array.dims.first().copied().unwrap_or(1) },
        }
    }
}

impl Planned {
    fn new(source: usize, dtype: Dtype, change: Change) -> Self {
        // No input has more tensors than that.
        Self { source: u32::try_from(source).unwrap_or(u32::MAX), dtype, change, own: None }
    }

    /// The index of the tensor that it is made of.
    pub fn source(&self) -> usize {
        self.source as usize
    }

    /// The output tensor.
    pub fn array<'p>(&'p self, input: &'p Input) -> Array<'p> {
        let array = input.array(self.source());
        let name = self.own.as_ref().and_then(|own| own.name.as_deref()).unwrap_or(array.name);
        let dims = self.own.as_ref().and_then(|own| own.dims.as_deref()).unwrap_or(array.dims);
        Array { name, dtype: self.dtype, dims, is_raw: false, ..array }
    }

    fn name<'p>(&'p self, input: &'p Input) -> &'p str {
        self.array(input).name
    }

    /// Gives it the new name of the tensor that it is made of; scales have that of their tensor.
    fn rename(&mut self, input: &Input, renames: &Renames) -> Result<(), String> {
        let new = renames.checked(input.array(self.source()).name)?;
        let Some(new) = new else { return Ok(()) };
        let name = if let Change::Scales(_) = self.change { format!("{new}.scale") } else { new };
        self.own.get_or_insert_default().name = Some(name);
        Ok(())
    }
}

pub struct Plan {
    pub tensors: Vec<Planned>,
    /// The reasons for which `--to` leaves selected tensors unchanged, one per tensor.
    pub left: Vec<Reason>,
}

/// The reason why a selected tensor is not cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the scale of an I8 tensor, which would no longer be what the tensor was divided by.
    Scale,
    /// No row has several numbers that could share a scale.
    NoRows,
    NotFloat,
    Complex,
    /// It has blocks of GGUF.
    Blocks,
    /// It has no scale.
    NotI8,
}

impl Reason {
    pub const ALL: [Self; 6] =
        [Self::Scale, Self::NoRows, Self::NotFloat, Self::Complex, Self::Blocks, Self::NotI8];

    /// Describes such tensors.
    pub fn text(self) -> &'static str {
        match self {
            Self::Scale => "scales of I8 tensors (--only NAME casts one)",
            Self::NoRows => "without rows of several numbers",
            Self::NotFloat => "not floating-point (--all casts integers and BOOL)",
            Self::Complex => "complex",
            Self::Blocks => "blocks of GGUF",
            Self::NotI8 => "not I8",
        }
    }

    /// The error if nothing is cast for this reason.
    fn nothing(self) -> &'static str {
        match self {
            Self::Scale => {
                "nothing to cast: the floating-point tensors are scales of I8 tensors, by which \
                            --unscale multiplies"
            }
            Self::NoRows => "nothing to cast: no selected tensor has rows of several numbers",
            Self::NotFloat => {
                "nothing to cast: no selected tensor is floating-point; use --all to cast integers and BOOL"
            }
            Self::Complex => "nothing to cast: complex numbers cannot be cast",
            Self::Blocks => "nothing to cast: blocks of GGUF are not numbers",
            Self::NotI8 => "nothing to unscale: no selected tensor is I8",
        }
    }
}

impl Plan {
    /// # Errors
    /// The conversion is impossible for this input or this output.
    pub fn new(input: &Input, options: &Options<'_>, output: &Path) -> Result<Self, Error> {
        let about = |sentence: String| input.about(sentence);
        options.check(input).map_err(about)?;
        let mut plan = Self { tensors: Vec::new(), left: Vec::new() };
        let mut casts = false;
        for (source, array) in input.arrays().enumerate() {
            let of_tensor = |error: String| input.about_tensor(source, &error);
            let decide = options.decide(input, &array).map_err(of_tensor)?;
            casts |= matches!(decide, Decision::Cast(_));
            match decide {
                Decision::Keep => plan.tensors.push(kept(source, &array)),
                Decision::Left(reason) => {
                    plan.left.push(reason);
                    plan.tensors.push(kept(source, &array));
                }
                Decision::Cast(to) => {
                    plan.tensors.extend(options.cast(input, source, &array, to).map_err(of_tensor)?);
                }
                Decision::Scales => {}
            }
        }
        // A cast without effect is a mistake.
        if let Some(reason) = Reason::ALL.into_iter().find(|reason| !casts && plan.left.contains(reason)) {
            return Err(about(reason.nothing().into()));
        }
        if options.to.is_some() && !casts && plan.left.is_empty() && input.len() > 0 {
            return Err(about("nothing to cast: no tensor is selected".into()));
        }
        if options.bits {
            plan.tensors.iter_mut().for_each(|tensor| tensor.dtype = bits_of(tensor.dtype));
        }
        if !options.renames.is_empty() {
            plan.tensors
                .iter_mut()
                .try_for_each(|tensor| tensor.rename(input, options.renames))
                .map_err(about)?;
        }
        let kind = Kind::of_output(output)?;
        plan.validate_names(input, options, kind)?;
        plan.check_output(input, kind)?;
        Ok(plan)
    }

    /// The metadata of the output: that of the inputs, and the types of its tensors with blocks.
    ///
    /// # Errors
    /// Those of [`Input::metadata`].
    pub fn metadata(&self, input: &Input, renames: &Renames) -> Result<Option<Vec<(String, String)>>, Error> {
        let mut pairs = input.metadata(renames)?;
        let blocks = self.tensors.iter().filter_map(|planned| {
            let array = planned.array(input);
            Some((array.name, array.blocks?))
        });
        if let Some(types) = RawTypes::list(blocks) {
            let pairs = pairs.get_or_insert_default();
            let at = pairs.partition_point(|(key, _)| key.as_str() < TYPES);
            pairs.insert(at, (TYPES.to_owned(), types));
        }
        Ok(pairs)
    }

    fn validate_names(&self, input: &Input, options: &Options<'_>, kind: Kind) -> Result<(), Error> {
        let mut sorted: Vec<&Planned> = self.tensors.iter().collect();
        sorted.sort_unstable_by(|one, other| {
            (one.name(input), one.source).cmp(&(other.name(input), other.source))
        });
        let duplicate = sorted.windows(2).find(|pair| pair[0].name(input) == pair[1].name(input));
        let Some([one, other]) = duplicate else {
            // Other outputs have no notes.
            return match kind == Kind::Model && !options.no_metadata {
                true => validate_tied_names(input, options.renames, &sorted),
                false => Ok(()),
            };
        };
        let (one_of, other_of) = (one.source(), other.source());
        let name = quoted(one.name(input));
        if input.number_of_file(one_of) == input.number_of_file(other_of) {
            return Err(input.about(format!("duplicate tensor name {name} in the output")));
        }
        let (first, second) = (input.origin(one_of), input.origin(other_of));
        let sentence = format!(
            "duplicate tensor name {name}: {first}, and {second}; use --file-prefix, or rename one of them"
        );
        Err(Error::about(input.file_of(other_of).path(), sentence))
    }

    fn check_output(&self, input: &Input, kind: Kind) -> Result<(), Error> {
        match (kind, self.tensors.len()) {
            // Its writer checks dtypes and names.
            (Kind::Model | Kind::Gguf, _) => return Ok(()),
            (Kind::Array, count) if count != 1 => {
                return Err(input.about(format!(
                    "a .npy holds one array, {count} given; write a .npz, or one of them with `cat TENSOR -o`"
                )));
            }
            _ => {}
        }
        self.tensors.iter().try_for_each(|planned| {
            let array = planned.array(input);
            let name = quoted(array.name);
            if Header::spelled(array.dtype, array.dims).is_none() {
                let bits =
                    if bits_of(array.dtype) == array.dtype { "" } else { ", or write its bits with --bits" };
                return Err(input.about(format!(
                    "tensor {name}: numpy has no {}; cast it with --to F32{bits}",
                    array.dtype
                )));
            }
            match kind == Kind::Archive && is_unsafe(array.name) {
                true => Err(input.about(format!("tensor {name}: this name is unsafe in an archive"))),
                false => Ok(()),
            }
        })
    }
}

/// Checks the names that the metadata notes for tensors that are left out because they are tied to others.
/// `sorted` has the output's tensors by name.
fn validate_tied_names(input: &Input, renames: &Renames, sorted: &[&Planned]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for file in input.files() {
        for own in file.tied_names() {
            let name = file.new_name(own, renames);
            let found = sorted.binary_search_by(|planned| planned.name(input).cmp(&name));
            let found = found.ok().and_then(|at| sorted.get(at));
            let shown = quoted(&name);
            if found.is_none() && seen.insert(name) {
                continue;
            }
            let advice = if file.is_model() { "--no-metadata" } else { "--ties copy and rename one of them" };
            let (own, file) = (quoted(own), file.path());
            let other = found.map_or("another tied one".into(), |planned| input.origin(planned.source()));
            let sentence = format!(
                "duplicate tensor name {shown}: {own} of this file, which is tied to another tensor, and {other}; \
                 use --file-prefix, or {advice}"
            );
            return Err(Error::about(file, sentence));
        }
    }
    Ok(())
}

impl Options<'_> {
    fn check(&self, input: &Input) -> Result<(), String> {
        self.renames.check(|| input.names())?;
        self.choice().check(|| input.names())
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
        self.unscale && owner(input, name).is_some_and(|owner| self.chooses(owner.name))
    }

    /// Whether a tensor is cast.
    ///
    /// # Errors
    /// It is complex, or has blocks of GGUF, and is selected by `--only`.
    fn decide(&self, input: &Input, array: &Array<'_>) -> Result<Decision, String> {
        if self.is_used_scale(input, array.name) {
            return Ok(Decision::Scales);
        }
        let Some(to) = self.to.filter(|_| self.chooses(array.name)) else { return Ok(Decision::Keep) };
        let is_named = !self.only.is_empty();
        match array.dtype {
            Dtype::I8 if self.unscale => Ok(Decision::Cast(to)),
            _ if self.unscale => Ok(Decision::Left(Reason::NotI8)),
            _ if array.blocks.is_some() && is_named => {
                Err("blocks of GGUF are not numbers, and cannot be cast".into())
            }
            _ if array.blocks.is_some() => Ok(Decision::Left(Reason::Blocks)),
            Dtype::C64 if is_named => Err("complex numbers cannot be cast".into()),
            Dtype::C64 => Ok(Decision::Left(Reason::Complex)),
            _ if !is_named
                && owner(input, array.name).is_some_and(|owner| row_of(&owner, array).is_some()) =>
            {
                Ok(Decision::Left(Reason::Scale))
            }
            dtype if !is_float(dtype) && !is_named && !self.all && dtype != to => {
                Ok(Decision::Left(Reason::NotFloat))
            }
            _ if self.scale == Some(Scale::PerRow) && !has_rows(array) => Ok(Decision::Left(Reason::NoRows)),
            _ => Ok(Decision::Cast(to)),
        }
    }

    fn cast(
        &self,
        input: &Input,
        source: usize,
        array: &Array<'_>,
        to: Dtype,
    ) -> Result<Vec<Planned>, String> {
        match self.scale {
            _ if self.unscale => Ok(vec![unscaled(input, source, array, to)?]),
            Some(scale) => Ok(quantized(source, array, scale)),
            None => {
                let change = if to == array.dtype { Change::Keep } else { Change::Cast(to) };
                Ok(vec![Planned::new(source, to, change)])
            }
        }
    }
}

fn kept(source: usize, array: &Array<'_>) -> Planned {
    Planned::new(source, array.dtype, Change::Keep)
}

/// Plans the multiplication by the scales.
fn unscaled(input: &Input, source: usize, array: &Array<'_>, to: Dtype) -> Result<Planned, String> {
    let name = format!("{}.scale", array.name);
    let scales = input.find(&name).ok_or_else(|| format!("its scales {} are missing", quoted(&name)))?;
    if row_of(array, &input.array(scales)).is_none() {
        let name = quoted(&name);
        return Err(format!("its scales {name} must be one F32, or one per row (or F16, BF16 or F64)"));
    }
    let scales = u32::try_from(scales).unwrap_or(u32::MAX);
    Ok(Planned::new(source, to, Change::Unscale { to, scales }))
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

/// The I8 tensor that is divided by the scales of this name, if there is one.
fn owner<'i>(input: &'i Input, scales: &str) -> Option<Array<'i>> {
    let owner = input.array(input.find(scales.strip_suffix(".scale")?)?);
    Some(owner).filter(|owner| owner.dtype == Dtype::I8)
}

/// The number of elements per scale. The scales are of a dtype that other casts may have made of F32.
pub fn row_of(array: &Array<'_>, scales: &Array<'_>) -> Option<u64> {
    if !matches!(scales.dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64) {
        return None;
    }
    match scales.dims {
        [] | [1] => Some(array.elements().max(1)),
        [rows] if array.dims.first() == Some(rows) => Some(row_len(array)),
        _ => None,
    }
}

/// The number of elements per index of the first axis; 1 without axes.
fn row_len(array: &Array<'_>) -> u64 {
    let rows = array.dims.first().copied().unwrap_or(1).max(1);
    (array.elements() / rows).max(1)
}

/// Whether several numbers share each scale of a row; otherwise the scales take more than they save.
fn has_rows(array: &Array<'_>) -> bool {
    match array.dims.split_first() {
        Some((_, axes @ [_, ..])) => {
            axes.iter().fold(1, |product: u64, &axis| product.saturating_mul(axis)) > 1
        }
        _ => false,
    }
}

fn quantized(source: usize, array: &Array<'_>, scale: Scale) -> Vec<Planned> {
    let dims = match scale {
        Scale::PerTensor => Vec::new(),
        Scale::PerRow => array.dims.iter().take(1).copied().collect(),
    };
    let own = Own { name: Some(format!("{}.scale", array.name)), dims: Some(dims) };
    let scales = Planned::new(source, Dtype::F32, Change::Scales(scale));
    vec![
        Planned::new(source, Dtype::I8, Change::Quantize(scale)),
        Planned { own: Some(Box::new(own)), ..scales },
    ]
}
