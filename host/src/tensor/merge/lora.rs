//! The pairs of a LoRA, and the tensors of a base to which their products are added.

use super::blocks::{BLOCK, Blocks, Rounded, parts};
use super::{about, can_be_merged};
use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::output::writer::Take;
use crate::text::{quoted, shown_path};
use crate::work::Work;
use std::collections::{BTreeMap, HashMap};

/// The ends of the names of PEFT and of kohya: of the matrix that is applied first, of the other one, and of
/// alpha.
const ENDS: [[&str; 2]; 3] =
    [[".lora_A.weight", ".lora_down.weight"], [".lora_B.weight", ".lora_up.weight"], [".alpha"; 2]];

/// What names can have before the name that the base has.
const PREFIXES: &str = " base_model.model. unet. transformer. text_encoder. diffusion_model. lora_unet_ lora_te_ \
    lora_te1_ lora_te2_";

/// A pair of matrices, whose product is added to a tensor.
pub struct Pair<'m> {
    /// Their name before `.lora_A` or `.lora_down`.
    pub name: &'m str,
    pub down: Tensor<'m>,
    up: Tensor<'m>,
    pub rank: u64,
    /// What the product is multiplied with.
    pub factor: f64,
}

/// Whether a model has parts of pairs.
pub fn is_lora(model: &Model) -> bool {
    model.tensors().any(|tensor| part_of(tensor.name()).is_some_and(|(_, part)| part < 2))
}

/// The name of a pair, and which of its parts a tensor is.
fn part_of(name: &str) -> Option<(&str, usize)> {
    let of = |ends: &[&str; 2]| ends.iter().find_map(|end| name.strip_suffix(end));
    ENDS.iter().enumerate().find_map(|(part, ends)| Some((of(ends)?, part)))
}

/// The pairs of each tensor of a base. Each model has a scale or none.
///
/// # Errors
/// A tensor of a LoRA is no part of a pair, or its pair does not fit the base; a pair has neither an alpha
/// nor a scale; an alpha cannot be read.
pub fn pairs_of<'m>(
    base: &[Tensor<'m>],
    loras: impl Iterator<Item = (&'m Model, Option<f64>)>,
) -> Result<Vec<Vec<Pair<'m>>>, Error> {
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, tensor) in base.iter().enumerate() {
        if let Some(name) = tensor.name().strip_suffix(".weight") {
            known.entry(name.replace('.', "_")).or_default().push(index);
        }
    }
    let mut pairs: Vec<Vec<_>> = base.iter().map(|_| Vec::new()).collect();
    for (model, scale) in loras {
        let mut all: BTreeMap<&str, [Option<Tensor<'_>>; 3]> = BTreeMap::new();
        for tensor in model.without_padding()?.0 {
            let part = part_of(tensor.name());
            let free = part.map(|(name, part)| &mut all.entry(name).or_default()[part]);
            let Some(free @ None) = free else {
                let names = "lora_A and lora_B, or lora_down, lora_up and alpha, once for each pair";
                return Err(about(&tensor, &format!("cannot be merged: a LoRA has {names}")));
            };
            *free = Some(tensor);
        }
        for (name, parts) in all {
            let pair = Pair::of(name, parts, scale)?;
            let index = pair.target(base, &known)?;
            pair.check(&base[index])?;
            pairs[index].push(pair);
        }
    }
    Ok(pairs)
}

impl<'m> Pair<'m> {
    fn of(name: &'m str, parts: [Option<Tensor<'m>>; 3], scale: Option<f64>) -> Result<Self, Error> {
        let [Some(down), Some(up), alpha] = parts else {
            let one = parts.into_iter().flatten().next();
            let sentence = "the other tensor of its pair is missing";
            return Err(one.map_or_else(|| Error::usage(sentence), |one| about(&one, sentence)));
        };
        let rank = down.dims().first().copied().unwrap_or(0);
        let factor = match (&alpha, scale) {
            (Some(alpha), _) if alpha.elements() != 1 || !can_be_merged(alpha.dtype()) => {
                return Err(about(alpha, "is not one floating-point number"));
            }
            (Some(alpha), scale) => scale.unwrap_or(1.0) * Blocks::of(*alpha).numbers(0, 1)?[0] / rank as f64,
            (None, Some(scale)) => scale,
            (None, None) => {
                let advice = format!("give --scale, lora_alpha of its adapter_config.json / {rank}");
                return Err(about(&down, &format!("its pair has no alpha: {advice}")));
            }
        };
        match factor.is_finite() {
            true => Ok(Self { name, down, up, rank, factor }),
            false => {
                Err(about(&down, &format!("the factor of its pair, scale * alpha / {rank}, is {factor}")))
            }
        }
    }

    /// The only tensor of the base that the name means: kohya writes `_` for each `.`.
    fn target(&self, base: &[Tensor<'_>], known: &HashMap<String, Vec<usize>>) -> Result<usize, Error> {
        let names = PREFIXES.split(' ').filter_map(|prefix| self.name.strip_prefix(prefix));
        let found = names.filter_map(|name| known.get(&name.replace('.', "_"))).flatten();
        let mut found: Vec<usize> = found.copied().collect();
        found.sort_unstable();
        found.dedup();
        if let [only] = found[..] {
            return Ok(only);
        }
        let file = base.first().map_or(String::new(), |tensor| shown_path(tensor.model().path()));
        let name = self.name.strip_prefix("base_model.model.").unwrap_or(self.name);
        let sentence = format!(
            "its target must be one tensor of {file}, such as {}, but {} have its name; `safetensors pack \
             --except` leaves a pair out",
            quoted(&format!("{name}.weight")),
            found.len()
        );
        Err(about(&self.down, &sentence))
    }

    /// # Errors
    /// The shapes do not fit, or a dtype is not merged.
    fn check(&self, target: &Tensor<'_>) -> Result<(), Error> {
        for tensor in [target, &self.down, &self.up] {
            if !can_be_merged(tensor.dtype()) {
                let sentence = format!("is {}: a LoRA needs floats of 8 bits or more", tensor.dtype());
                return Err(about(tensor, &sentence));
            }
        }
        let [base, down, up] = [target, &self.down, &self.up].map(|tensor| tensor.dims());
        let is_rank = base.len() >= 2 && down.len() >= 2 && (1..=BLOCK).contains(&self.rank);
        if is_rank && trimmed(up, 2) == [base[0], self.rank] && trimmed(base, 2)[1..] == trimmed(down, 2)[1..]
        {
            return Ok(());
        }
        let (name, file, up_name) = (quoted(target.name()), target.model().path(), quoted(self.up.name()));
        let file = shown_path(file);
        let sentence =
            format!("is {down:?}, and {up_name} {up:?}: the product does not fit {name} of {file}, {base:?}");
        Err(about(&self.down, &sentence))
    }

    /// Adds the product in these rows and columns, of so many in all, to zeros.
    fn multiply(
        &self,
        (row, rows): (u64, u64),
        (column, width): (u64, u64),
        columns: u64,
        delta: &mut [f64],
    ) -> Result<(), Error> {
        let (mut downs, mut ups) = (Blocks::of(self.down), Blocks::of(self.up));
        let ups = ups.numbers(row * self.rank, rows * self.rank)?;
        for part in 0..self.rank {
            let down = downs.numbers(part * columns + column, width)?;
            let ups = ups.iter().skip(usize::try_from(part).unwrap_or(0));
            let ups = ups.step_by(usize::try_from(self.rank).unwrap_or(1));
            for (sums, up) in delta.chunks_exact_mut(down.len()).zip(ups) {
                sums.iter_mut().zip(&*down).for_each(|(sum, down)| *sum += up * down);
            }
        }
        Ok(())
    }
}

/// Dimensions without ones at the end, but at least this many: a convolution of 1 by 1 is a matrix.
fn trimmed(dims: &[u64], least: usize) -> &[u64] {
    let ones = dims.iter().rev().take_while(|dim| **dim == 1).count();
    &dims[..(dims.len() - ones).max(least).min(dims.len())]
}

/// Passes the bytes of a tensor with the products of these pairs to `take`.
pub(super) fn add(base: &Tensor<'_>, pairs: &[Pair<'_>], work: &Work, take: Take<'_>) -> Result<(), Error> {
    let rows = base.dims().first().copied().unwrap_or(0);
    let columns = base.elements().checked_div(rows).unwrap_or(0);
    // Blocks of whole rows, or parts of a row.
    let widest = pairs.iter().map(|pair| pair.rank).fold(columns.max(1), u64::max);
    let (mut blocks, mut rounded, mut delta) = (Blocks::of(*base), Rounded::of(*base)?, Vec::new());
    for (row, count) in parts(rows, (BLOCK / widest).max(1)) {
        for (column, width) in parts(columns, BLOCK) {
            let sum = blocks.numbers(row * columns + column, count * width)?;
            for pair in pairs {
                delta.clear();
                delta.resize(sum.len(), 0.0);
                pair.multiply((row, count), (column, width), columns, &mut delta)?;
                sum.iter_mut().zip(&delta).for_each(|(sum, delta)| *sum += pair.factor * delta);
            }
            rounded.give(sum, work, take)?;
        }
    }
    Ok(())
}
