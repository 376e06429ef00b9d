//! The pairs of a LoRA, and the tensors of a base to which their products are added.

use super::{BLOCK, Block, Merged, Term, about, can_be_merged, check_plain, length, numbers};
use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::text::{quoted, shown_path};
use std::collections::BTreeMap;

/// The ends of the names of PEFT and of kohya: of the matrix that is applied first, of the other one, and of
/// alpha.
const ENDS: [[&str; 2]; 3] =
    [[".lora_A.weight", ".lora_down.weight"], [".lora_B.weight", ".lora_up.weight"], [".alpha"; 2]];

/// What names can have before the name that the base has.
const PREFIXES: &str = " base_model.model. unet. transformer. text_encoder. diffusion_model. lora_unet_ lora_te_ \
    lora_te1_ lora_te2_";

/// Whether a model has parts of pairs.
pub fn is_lora(model: &Model) -> bool {
    model.tensors().any(|tensor| part_of(tensor.name()).is_some_and(|(_, part)| part < 2))
}

/// The name of a pair, and which of its parts a tensor is.
fn part_of(name: &str) -> Option<(&str, usize)> {
    let of = |ends: &[&str; 2]| ends.iter().find_map(|end| name.strip_suffix(end));
    ENDS.iter().enumerate().find_map(|(part, ends)| Some((of(ends)?, part)))
}

/// Adds the pairs of all models but the first to it. There is a scale for each, one for all, or none.
///
/// # Errors
/// A tensor of a LoRA is no part of a pair, or its pair does not fit the base; a pair has neither an alpha
/// nor a scale; an alpha cannot be read.
pub fn loras<'m>(models: &'m [Model], firsts: &[Tensor<'m>], scales: &[f64]) -> Result<Merged<'m>, Error> {
    let key = |tensor: &Tensor<'_>| Some(tensor.name().strip_suffix(".weight")?.replace('.', "_"));
    let keys: Vec<_> = firsts.iter().map(key).collect();
    let mut terms: Vec<_> = firsts.iter().map(|_| Vec::new()).collect();
    for (at, model) in models[1..].iter().enumerate() {
        let scale = scales.get(at).or(scales.first()).copied();
        let mut pairs: BTreeMap<&str, (Tensor<'m>, [Option<Tensor<'m>>; 3])> = BTreeMap::new();
        for tensor in model.without_padding()?.0 {
            let part = part_of(tensor.name());
            let free = part.map(|(name, part)| &mut pairs.entry(name).or_insert((tensor, [None; 3])).1[part]);
            let Some(free @ None) = free else {
                let names = "lora_A and lora_B, or lora_down, lora_up and alpha, once for each pair";
                return Err(about(&tensor, &format!("cannot be merged: a LoRA has {names}")));
            };
            *free = Some(tensor);
        }
        for (name, (any, parts)) in pairs {
            let [Some(tensor), Some(up), alpha] = parts else {
                return Err(about(&any, "the other tensor of its pair is missing"));
            };
            let index = target(name, &tensor, &models[0], &keys)?;
            check([&models[0], model], [&firsts[index], &tensor, &up])?;
            let factor = factor(&tensor, alpha, scale)?;
            terms[index].push(Term { factor, tensor, up: Some(up) });
        }
    }
    Ok(Merged { weights: Vec::new(), divisor: 1.0, terms })
}

/// The index of the only tensor of the base that the name of a pair means: kohya writes `_` for each `.`.
fn target(name: &str, down: &Tensor<'_>, base: &Model, keys: &[Option<String>]) -> Result<usize, Error> {
    let names: Vec<&str> = PREFIXES.split(' ').filter_map(|prefix| name.strip_prefix(prefix)).collect();
    let alike: Vec<_> = names.iter().map(|name| Some(name.replace('.', "_"))).collect();
    let found: Vec<usize> = (0..keys.len()).filter(|at| alike.contains(&keys[*at])).collect();
    let file = shown_path(base.path());
    let why = match found[..] {
        [only] => return Ok(only),
        [] => {
            let name = quoted(&format!("{}.weight", names.last().unwrap_or(&name)));
            format!("no tensor of {file} is called {name}")
        }
        _ => format!("{} tensors of {file} could be meant", found.len()),
    };
    Err(about(down, &format!("{why}; `safetensors pack --except` leaves a pair out")))
}

/// # Errors
/// The shapes of a pair do not fit its target, or a tensor has no plain numbers.
fn check([base, lora]: [&Model; 2], [target, down, up]: [&Tensor<'_>; 3]) -> Result<(), Error> {
    for (model, tensor) in [(base, target), (lora, down), (lora, up)] {
        if !can_be_merged(tensor.dtype()) {
            let sentence = format!("is {}: a LoRA needs floats of 8 bits or more", tensor.dtype());
            return Err(about(tensor, &sentence));
        }
        check_plain(model, tensor)?;
    }
    let ([to, first, second], rank) = ([target, down, up].map(|tensor| tensor.dims()), rank(down));
    let is_matrix = to.len() >= 2 && first.len() >= 2 && (1..=BLOCK).contains(&rank);
    if is_matrix && trimmed(second) == [to[0], rank] && trimmed(to)[1..] == trimmed(first)[1..] {
        return Ok(());
    }
    let (name, file, up) = (quoted(target.name()), shown_path(base.path()), quoted(up.name()));
    let sentence =
        format!("is {first:?}, and {up} {second:?}: the product does not fit {name} of {file}, {to:?}");
    Err(about(down, &sentence))
}

/// Dimensions without ones at the end, but at least two: a convolution of 1 by 1 is a matrix.
fn trimmed(dims: &[u64]) -> &[u64] {
    let ones = dims.iter().rev().take_while(|dim| **dim == 1).count();
    &dims[..(dims.len() - ones).max(2).min(dims.len())]
}

fn rank(down: &Tensor<'_>) -> u64 {
    down.dims().first().copied().unwrap_or(0)
}

/// What the product of a pair is multiplied with.
fn factor(down: &Tensor<'_>, alpha: Option<Tensor<'_>>, scale: Option<f64>) -> Result<f64, Error> {
    match alpha {
        Some(alpha) if alpha.elements() == 1 && can_be_merged(alpha.dtype()) => {
            let number = numbers(&alpha, 0, 1)?[0];
            let factor = number.is_finite().then_some(scale.unwrap_or(1.0) * number / rank(down) as f64);
            factor.ok_or_else(|| about(&alpha, "is not a finite number"))
        }
        Some(alpha) => Err(about(&alpha, "is not one floating-point number")),
        None => scale.ok_or_else(|| {
            let advice = format!("give --scale, lora_alpha of its adapter_config.json / {}", rank(down));
            about(down, &format!("its pair has no alpha: {advice}"))
        }),
    }
}

impl<'m> Term<'m> {
    /// The name of a pair, and its rank.
    pub fn pair(&self) -> Option<(&'m str, u64)> {
        let (name, _) = part_of(self.tensor.name()).filter(|_| self.up.is_some())?;
        Some((name, rank(&self.tensor)))
    }

    /// The numbers that are added in a block, before they are multiplied with the factor.
    pub(super) fn numbers(&self, block: Block) -> Result<Vec<f64>, Error> {
        let (Some(up), Some((_, rank))) = (&self.up, self.pair()) else { return block.read(&self.tensor) };
        let Block { rows: (row, rows), columns: (column, columns), width } = block;
        let ups = numbers(up, row * rank, rows * rank)?;
        let mut product = vec![0.0; length(rows * columns)];
        for part in 0..rank {
            let downs = numbers(&self.tensor, part * width + column, columns)?;
            let ups = ups.iter().skip(length(part)).step_by(length(rank));
            for (sums, up) in product.chunks_exact_mut(downs.len()).zip(ups) {
                sums.iter_mut().zip(&downs).for_each(|(sum, down)| *sum += up * down);
            }
        }
        match product.iter().all(|number| number.is_finite()) {
            true => Ok(product),
            false => Err(about(&self.tensor, "the product of its pair has infinite numbers or NaNs")),
        }
    }
}
