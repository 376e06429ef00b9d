//! The planned conversion of each tensor.

use super::bits::FromBits;
use super::input::{Input, Reading, Tensor};
use super::names::NameOf;
use crate::args::kind::Kind;
use crate::error::Error;
use crate::input::selection::Selection;
use crate::pack::Renames;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use safetensors_convert::gguf::{RawTypes, TENSORS, TYPES, list_tensors};
use safetensors_convert::numbers::{bits_of, can_be_target, is_float};
use safetensors_convert::numpy::Header;
use safetensors_convert::zip::is_unsafe;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// How numbers are cast.
#[derive(clap::Args)]
#[command(mut_args(worded))]
pub struct Casts {
    /// Cast floating-point tensors to F64, F32, F16, BF16, F8_E4M3, F8_E5M2 or an integer dtype such as U8;
    /// names such as float16, half and torch.bfloat16 are known, too
    #[arg(
        long,
        visible_alias = "dtype",
        value_name = "DTYPE",
        value_parser = NameOf(can_be_target),
        hide_possible_values = true
    )]
    to: Option<Dtype>,

    /// Cast integers and BOOL too
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    selection: Selection,

    /// Clamp out-of-range values; NaN becomes 0 in integers
    #[arg(long)]
    pub saturate: bool,

    /// Allow that numbers become 0 in an integer dtype, which is an error without --scale
    #[arg(long)]
    allow_zeros: bool,

    /// With --to I8, scale the largest magnitude to 127 first; the F32 divisors are stored as NAME.scale
    #[arg(long, value_name = "SCOPE")]
    scale: Option<Scale>,

    /// Multiply I8 tensors by their NAME.scale, and drop the scales
    #[arg(long, conflicts_with = "scale")]
    unscale: bool,

    /// Write BF16 as U16 bits and F8 as U8 bits; numpy has neither
    #[arg(long)]
    pub bits: bool,

    /// Reinterpret U16 as BF16, or U8 as an F8 dtype: the reverse of --bits; GLOB selects tensors
    /// (repeatable)
    #[arg(long, value_name = "DTYPE[=GLOB]", value_parser = FromBits::parse)]
    pub from_bits: Vec<FromBits>,
}

/// The selection in the words of casts.
fn worded(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "only" => arg.help("Cast only tensors that match this glob, of any dtype (repeatable)"),
        "except" => arg.help("Do not cast tensors that match this glob (repeatable)"),
        _ => arg,
    }
}

/// The elements that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// One scale per tensor
    PerTensor,
    /// One scale per index of the first axis
    PerRow,
}

/// A planned output.
pub struct Plan<'i> {
    pub input: &'i Input,
    pub casts: &'i Casts,
    pub renames: &'i Renames,
    pub output: &'i Path,
    pub kind: Kind,
    pub tensors: Vec<Planned<'i>>,
    /// The reasons for which `--to` leaves selected tensors unchanged, one per tensor, sorted.
    pub left: Vec<Reason>,
    pub metadata: Option<Vec<(String, String)>>,
}

/// One tensor of the output.
pub struct Planned<'i> {
    /// The tensor that it is made of.
    pub tensor: &'i Tensor,
    pub name: Cow<'i, str>,
    /// With `--bits`, the integer that holds the bits.
    pub dtype: Dtype,
    pub dims: &'i [u64],
    pub change: Change<'i>,
}

/// The conversion of a tensor.
#[derive(Clone, Copy)]
pub enum Change<'i> {
    Keep,
    /// Rounds each number to this dtype.
    Cast(Dtype),
    /// Divides each number by its scale.
    Quantize(Scale),
    /// The scales of the tensor before, which is quantised.
    Scales,
    /// Multiplies each number by its scale, and casts it.
    Unscale {
        to: Dtype,
        scales: &'i Tensor,
    },
}

impl<'i> Planned<'i> {
    fn new(tensor: &'i Tensor, dtype: Dtype, change: Change<'i>) -> Self {
        Self { tensor, name: (&*tensor.name).into(), dtype, dims: &tensor.dims, change }
    }

    /// The plan for the scales of a tensor.
    fn scales(tensor: &'i Tensor, scale: Scale) -> Self {
        let dims = match scale {
            Scale::PerTensor => &[][..],
            Scale::PerRow => tensor.dims.get(..1).unwrap_or_default(),
        };
        let name = format!("{}.scale", tensor.name).into();
        Self { name, dims, ..Self::new(tensor, Dtype::F32, Change::Scales) }
    }

    pub fn byte_len(&self) -> u64 {
        self.dims.iter().product::<u64>() * u64::from(self.dtype.bits()) / 8
    }

    /// Gives it the new name of its tensor, and to scales this name with `.scale`.
    fn rename(&mut self, renames: &Renames) -> Result<(), String> {
        let Some(new) = renames.checked(&self.tensor.name)? else { return Ok(()) };
        self.name = if let Change::Scales = self.change { format!("{new}.scale") } else { new }.into();
        Ok(())
    }
}

/// The reason why a selected tensor is not cast. If nothing is cast, the first one is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is the scale of an I8 tensor, which would no longer be what the tensor was divided by.
    Scale,
    /// No row has several numbers that could share a scale.
    NoRows,
    /// It is an I8 tensor with scales, by which a plain cast would not multiply.
    Scaled,
    NotFloat,
    Complex,
    /// It has blocks of GGUF.
    Blocks,
    /// It has no scale.
    NotI8,
}

impl Reason {
    /// Describes such tensors, and the error if nothing is cast for this reason.
    pub fn texts(self) -> [&'static str; 2] {
        match self {
            Self::Scale => [
                "scales of I8 tensors (--only NAME casts one)",
                "nothing to cast: the floating-point tensors are scales of I8 tensors, by which --unscale \
                 multiplies",
            ],
            Self::NoRows => [
                "without rows of several numbers",
                "nothing to cast: no selected tensor has rows of several numbers",
            ],
            Self::Scaled => [
                "I8 with scales (--unscale multiplies by them; --only NAME does not)",
                "nothing to cast: the tensors are I8 with scales, by which --unscale multiplies",
            ],
            Self::NotFloat => [
                "not floating-point (--all casts integers and BOOL)",
                "nothing to cast: no selected tensor is floating-point; use --all to cast integers and BOOL",
            ],
            Self::Complex => ["complex", "nothing to cast: complex numbers cannot be cast"],
            Self::Blocks => ["blocks of GGUF", "nothing to cast: blocks of GGUF are not numbers"],
            Self::NotI8 => ["not I8", "nothing to unscale: no selected tensor is I8"],
        }
    }
}

impl<'i> Plan<'i> {
    /// # Errors
    /// The conversion is impossible for this input or this output.
    pub fn new(
        input: &'i Input,
        casts: &'i Casts,
        reading: &'i Reading,
        (output, kind): (&'i Path, Kind),
    ) -> Result<Self, Error> {
        let (renames, about) = (&reading.renames, |sentence: String| input.about(sentence));
        renames
            .check(|| input.names())
            .and_then(|()| casts.selection.check(|| input.names()))
            .map_err(about)?;
        let (tensors, left) = (Vec::with_capacity(input.tensors.len()), Vec::new());
        let mut plan = Self { input, casts, renames, output, kind, tensors, left, metadata: None };
        plan.add_tensors()?;
        if casts.bits {
            plan.tensors.iter_mut().for_each(|tensor| tensor.dtype = bits_of(tensor.dtype));
        }
        if !renames.is_empty() {
            plan.tensors.iter_mut().try_for_each(|tensor| tensor.rename(renames)).map_err(about)?;
        }
        plan.check_names(reading.has_notes(kind))?;
        plan.check_arrays()?;
        if !reading.no_metadata {
            plan.metadata = plan.metadata()?;
        }
        Ok(plan)
    }

    /// # Errors
    /// A tensor cannot be cast, or nothing is cast.
    fn add_tensors(&mut self) -> Result<(), Error> {
        let (input, casts, scaled) = (self.input, self.casts, Scaled::of(self.input, self.casts));
        let mut has_casts = false;
        for tensor in &input.tensors {
            let of_tensor = |error: String| input.about_tensor(tensor, &error);
            let owner = scaled.owner(&tensor.name);
            // The scales of a tensor that is multiplied by them.
            if casts.unscale && owner.is_some_and(|owner| casts.selection.takes(&owner.name)) {
                continue;
            }
            let to = casts.to.filter(|_| casts.selection.takes(&tensor.name));
            let reason = to.map_or(Ok(None), |to| casts.reason(tensor, to, &scaled)).map_err(of_tensor)?;
            self.left.extend(reason);
            let Some(to) = to.filter(|_| reason.is_none()) else {
                self.tensors.push(Planned::new(tensor, tensor.dtype, Change::Keep));
                continue;
            };
            has_casts = true;
            let change = match casts.scale {
                _ if casts.unscale => {
                    Change::Unscale { to, scales: scaled.scales(tensor).map_err(of_tensor)? }
                }
                Some(scale) => Change::Quantize(scale),
                None if to == tensor.dtype => Change::Keep,
                None => Change::Cast(to),
            };
            self.tensors.push(Planned::new(tensor, to, change));
            self.tensors.extend(casts.scale.map(|scale| Planned::scales(tensor, scale)));
        }
        // Parts of a GGUF in the order of their numbers; scales stay after their tensor.
        self.tensors.sort_by_key(|planned| input.file_of(planned.tensor).part());
        self.left.sort_unstable();
        // A cast without effect is a mistake.
        if casts.to.is_none() || has_casts || input.tensors.is_empty() {
            return Ok(());
        }
        let reason = self.left.first();
        Err(input.about(reason.map_or("nothing to cast: no tensor is selected", |reason| reason.texts()[1])))
    }

    /// The metadata of the output: the pairs of the inputs, the order of tensors of GGUF, and the types of
    /// those with blocks.
    fn metadata(&self) -> Result<Option<Vec<(String, String)>>, Error> {
        let mut pairs = self.input.metadata(self.renames)?;
        let blocks = self.tensors.iter().filter_map(|planned| Some((&*planned.name, planned.tensor.blocks?)));
        let has_order = self.kind == Kind::Model && self.input.files.iter().any(|file| file.is_ordered);
        let names = self.tensors.iter().filter(|_| has_order).map(|planned| &*planned.name);
        for (key, list) in [(TENSORS, list_tensors(names)), (TYPES, RawTypes::list(blocks))] {
            let Some(list) = list else { continue };
            let pairs = pairs.get_or_insert_default();
            let at = pairs.partition_point(|(other, _)| other.as_str() < key);
            pairs.insert(at, (key.to_owned(), list));
        }
        Ok(pairs)
    }

    /// # Errors
    /// Two tensors have the same name.
    fn check_names(&self, has_notes: bool) -> Result<(), Error> {
        let (input, mut sorted) = (self.input, self.tensors.iter().collect::<Vec<_>>());
        // Those with the same name stay in order.
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
        let duplicate = sorted.windows(2).find(|pair| pair[0].name == pair[1].name);
        let Some([one, other]) = duplicate else {
            return if has_notes { self.check_tied_names(&sorted) } else { Ok(()) };
        };
        let name = quoted(&one.name);
        if one.tensor.file == other.tensor.file {
            return Err(input.about(format!("duplicate tensor name {name} in the output")));
        }
        let (first, second) = (input.origin(one.tensor), input.origin(other.tensor));
        let sentence = format!(
            "duplicate tensor name {name}: {first}, and {second}; use --file-prefix, or rename one of them"
        );
        Err(Error::about(&input.file_of(other.tensor).path, sentence))
    }

    /// Checks the names that the metadata notes for tensors that are left out because they are tied to
    /// others. `sorted` has the output's tensors by name.
    fn check_tied_names(&self, sorted: &[&Planned<'_>]) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for file in &self.input.files {
            for own in file.tied_names() {
                let name = file.new_name(own, self.renames);
                let found = sorted.binary_search_by(|planned| (*planned.name).cmp(&name));
                let found = found.ok().and_then(|at| sorted.get(at));
                let shown = quoted(&name);
                if found.is_none() && seen.insert(name) {
                    continue;
                }
                let is_model = file.foreign().is_none();
                let advice = if is_model { "--no-metadata" } else { "--ties copy and rename one of them" };
                let other =
                    found.map_or("another tied one".into(), |planned| self.input.origin(planned.tensor));
                let sentence = format!(
                    "duplicate tensor name {shown}: {} of this file, which is tied to another tensor, and \
                     {other}; use --file-prefix, or {advice}",
                    quoted(own)
                );
                return Err(Error::about(&file.path, sentence));
            }
        }
        Ok(())
    }

    /// Checks what numpy can store. The writers of other outputs check dtypes and names themselves.
    fn check_arrays(&self) -> Result<(), Error> {
        if !self.kind.is_numpy() {
            return Ok(());
        }
        let (input, count) = (self.input, self.tensors.len());
        if self.kind == Kind::Array && count != 1 {
            return Err(input.about(format!(
                "a .npy holds one array, {count} given; write a .npz, or one of them with `cat TENSOR -o`"
            )));
        }
        for Planned { name, dtype, dims, .. } in &self.tensors {
            let about = |reason: String| Err(input.about(format!("tensor {}: {reason}", quoted(name))));
            if Header::spelled(*dtype, dims).is_none() {
                let has_bits = bits_of(*dtype) != *dtype;
                let bits = if has_bits { ", or write its bits with --bits" } else { "" };
                return about(format!("numpy has no {dtype}; cast it with --to F32{bits}"));
            }
            if self.kind == Kind::Archive && is_unsafe(name) {
                return about("this name is unsafe in an archive".into());
            }
        }
        Ok(())
    }
}

impl Casts {
    /// # Errors
    /// An option needs another one.
    pub fn check(&self) -> Result<(), &'static str> {
        match self.to {
            None if !self.selection.is_empty() => {
                Err("--only and --except need --to; `pack` selects tensors, `cat MODEL TENSOR -o` writes one")
            }
            None if self.all => Err("--all needs --to"),
            to if self.allow_zeros && to.is_none_or(is_float) => {
                Err("--allow-zeros needs --to with an integer dtype")
            }
            to if self.scale.is_some() && to != Some(Dtype::I8) => Err("--scale needs --to I8"),
            Some(Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::BF16) => Ok(()),
            _ if self.unscale => Err("--unscale needs --to F32, F64, F16 or BF16"),
            _ => Ok(()),
        }
    }

    /// Whether it is an error that numbers become 0.
    pub fn rejects_zeros(&self) -> bool {
        self.scale.is_none() && !self.allow_zeros && !self.to.is_none_or(is_float)
    }

    /// The reason why a selected tensor is not cast, if there is one.
    ///
    /// # Errors
    /// It is complex, or has blocks of GGUF, and is selected by `--only`.
    fn reason(&self, tensor: &Tensor, to: Dtype, scaled: &Scaled<'_>) -> Result<Option<Reason>, String> {
        let is_named = !self.selection.only.is_empty();
        let owner = scaled.owner(&tensor.name);
        Ok(Some(match tensor.dtype {
            Dtype::I8 if self.unscale => return Ok(None),
            _ if self.unscale => Reason::NotI8,
            _ if tensor.blocks.is_some() && is_named => {
                return Err("blocks of GGUF are not numbers, and cannot be cast".into());
            }
            _ if tensor.blocks.is_some() => Reason::Blocks,
            Dtype::C64 if is_named => return Err("complex numbers cannot be cast".into()),
            Dtype::C64 => Reason::Complex,
            _ if !is_named && owner.is_some_and(|owner| row_of(owner, tensor).is_some()) => Reason::Scale,
            Dtype::I8 if to != Dtype::I8 && !is_named && scaled.scales(tensor).is_ok() => Reason::Scaled,
            dtype if !is_float(dtype) && !is_named && !self.all && dtype != to => Reason::NotFloat,
            _ if self.scale == Some(Scale::PerRow) && !has_rows(tensor) => Reason::NoRows,
            _ => return Ok(None),
        }))
    }
}

/// The tensors of I8 and all scales, by name, if something is cast.
struct Scaled<'i>(HashMap<&'i str, &'i Tensor>);

impl<'i> Scaled<'i> {
    fn of(input: &'i Input, casts: &Casts) -> Self {
        let is_one = |tensor: &&Tensor| tensor.dtype == Dtype::I8 || tensor.name.ends_with(".scale");
        let all = input.tensors.iter().filter(|_| casts.to.is_some()).filter(is_one);
        Self(all.map(|tensor| (&*tensor.name, tensor)).collect())
    }

    /// The I8 tensor that is divided by the scales of this name, if there is one.
    fn owner(&self, scales: &str) -> Option<&'i Tensor> {
        let owner = *self.0.get(scales.strip_suffix(".scale")?)?;
        Some(owner).filter(|owner| owner.dtype == Dtype::I8)
    }

    fn scales(&self, tensor: &Tensor) -> Result<&'i Tensor, String> {
        let [name, zeros] = ["scale", "zero_point"].map(|end| format!("{}.{end}", tensor.name));
        if self.0.contains_key(&*zeros) {
            return Err(format!("its zero points {} cannot be subtracted", quoted(&zeros)));
        }
        match self.0.get(&*name) {
            None => Err(format!("its scales {} are missing", quoted(&name))),
            Some(scales) if row_of(tensor, scales).is_some() => Ok(scales),
            Some(_) => {
                let name = quoted(&name);
                Err(format!("its scales {name} must be one F32, or one per row (or F16, BF16 or F64)"))
            }
        }
    }
}

/// The number of elements per scale. The scales are of a dtype that other casts may have made of F32.
pub fn row_of(tensor: &Tensor, scales: &Tensor) -> Option<u64> {
    if !matches!(scales.dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64) {
        return None;
    }
    match *scales.dims {
        [] | [1] => Some(tensor.elements().max(1)),
        [rows] if tensor.dims.first() == Some(&rows) => Some(rows_of(tensor, Scale::PerRow).0),
        _ => None,
    }
}

/// The elements of the rows of a tensor that share a scale each, at least 1, and the number of rows.
pub fn rows_of(tensor: &Tensor, scale: Scale) -> (u64, u64) {
    let count = match scale {
        Scale::PerTensor => 1,
        Scale::PerRow => tensor.dims.first().copied().unwrap_or(1),
    };
    ((tensor.elements() / count.max(1)).max(1), count)
}

/// Whether several numbers share each scale of a row; otherwise the scales take more than they save.
fn has_rows(tensor: &Tensor) -> bool {
    tensor.dims.iter().skip(1).fold(1, |product: u64, &axis| product.saturating_mul(axis)) > 1
}
