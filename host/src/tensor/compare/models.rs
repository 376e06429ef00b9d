//! Compares two models.

use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Model, Tensor, bytes_of, threads_for};
use crate::tensor::compare::distance::Tolerance;
use crate::tensor::compare::pair::Likeness;
use crate::tensor::sums::{Sum, sums_of};
use crate::threads::in_order;
use embedded_safetensors::Dtype;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The common and the different parts of two models.
pub struct Comparison<'m> {
    pub only_in_a: Vec<Only<'m>>,
    pub only_in_b: Vec<Only<'m>>,
    /// In the order of the first model.
    pub pairs: Vec<Pair<'m>>,
    /// Metadata keys whose values differ or are missing on one side.
    pub metadata: Vec<(String, Option<String>, Option<String>)>,
}

/// A tensor that only one model has.
pub struct Only<'m> {
    pub tensor: Tensor<'m>,
    /// The tensor with the same bytes, dtype and shape that only the other model has: it may have been
    /// renamed.
    pub same_as: Option<&'m str>,
}

/// Tensors of the same name.
pub struct Pair<'m> {
    pub a: Tensor<'m>,
    pub b: Tensor<'m>,
    pub likeness: Likeness,
}

/// The differences that count.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Of values.
    pub tolerance: Tolerance,
    /// Dtypes count.
    pub dtypes: bool,
    /// Metadata counts.
    pub metadata: bool,
}

/// The result for a pair of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degree {
    /// Bit for bit.
    Identical,
    /// Equal values, different bits.
    Equal,
    /// Within the tolerance.
    Near,
    Different,
    /// Different shapes.
    Shape,
    /// One is complex.
    Incomparable,
}

impl Pair<'_> {
    pub fn degree(&self) -> Degree {
        match &self.likeness {
            Likeness::Identical => Degree::Identical,
            Likeness::Shape => Degree::Shape,
            Likeness::Incomparable => Degree::Incomparable,
            Likeness::Values(distance) if distance.differing == 0 => Degree::Equal,
            Likeness::Values(distance) if distance.beyond == 0 => Degree::Near,
            Likeness::Values(_) => Degree::Different,
        }
    }

    pub fn is_other_dtype(&self) -> bool {
        self.a.dtype() != self.b.dtype()
    }

    /// Whether the pair counts as the same.
    pub fn is_same(&self, policy: &Policy) -> bool {
        matches!(self.degree(), Degree::Identical | Degree::Equal | Degree::Near)
            && !(policy.dtypes && self.is_other_dtype())
    }
}

impl Comparison<'_> {
    pub fn is_same(&self, policy: &Policy) -> bool {
        self.only_in_a.is_empty()
            && self.only_in_b.is_empty()
            && self.pairs.iter().all(|pair| pair.is_same(policy))
            && (self.metadata.is_empty() || !policy.metadata)
    }
}

/// Reads and compares both models.
pub fn compare<'m>(
    context: &Context,
    a: &'m Model,
    b: &'m Model,
    policy: &Policy,
) -> Result<Comparison<'m>, Error> {
    let only = |model: &'m Model, other: &Model| -> Vec<Tensor<'m>> {
        model.tensors().filter(|tensor| other.find(tensor.name()).is_none()).collect()
    };
    let (only_in_a, only_in_b) = (only(a, b), only(b, a));
    let both = a.tensors().filter_map(|tensor| Some((tensor, b.find(tensor.name())?)));
    let both: Vec<(Tensor<'m>, Tensor<'m>)> = both.collect();
    let pairs = compare_pairs(context, &both, &policy.tolerance)?;
    let (only_in_a, only_in_b) = renamed(context, only_in_a, only_in_b)?;
    a.check_unchanged()?;
    b.check_unchanged()?;
    Ok(Comparison { only_in_a, only_in_b, pairs, metadata: metadata(a.metadata(), b.metadata()) })
}

fn compare_pairs<'m>(
    context: &Context,
    both: &[(Tensor<'m>, Tensor<'m>)],
    tolerance: &Tolerance,
) -> Result<Vec<Pair<'m>>, Error> {
    let work = context.work("comparing", both.iter().map(|(a, b)| a.byte_len() + b.byte_len()).sum());
    let liken = |(in_a, in_b): &(Tensor<'m>, Tensor<'m>)| {
        let likeness = Likeness::of(in_a, in_b, tolerance, &work);
        likeness.map(|likeness| Pair { a: *in_a, b: *in_b, likeness })
    };
    let mut pairs = Vec::new();
    let read: Vec<Tensor<'_>> = both.iter().flat_map(|(in_a, in_b)| [*in_a, *in_b]).collect();
    let threads = threads_for(&read);
    in_order(both, threads, liken, |pair| {
        pairs.push(pair?);
        Ok::<_, Error>(())
    })?;
    Ok(pairs)
}

/// The properties of tensors that are likely the same: dtype, shape and sum.
type Mark<'m> = (Dtype, &'m [u64], Sum);

/// Finds renamed tensors, among those whose dtype and shape occur on both sides.
fn renamed<'m>(
    context: &Context,
    in_a: Vec<Tensor<'m>>,
    in_b: Vec<Tensor<'m>>,
) -> Result<(Vec<Only<'m>>, Vec<Only<'m>>), Error> {
    let forms =
        |tensors: &[Tensor<'m>]| -> HashSet<(Dtype, &'m [u64])> { tensors.iter().map(form).collect() };
    let (of_a, of_b) = (forms(&in_a), forms(&in_b));
    let marks_a = marks(context, in_a.iter().filter(|tensor| of_b.contains(&form(tensor))))?;
    let marks_b = marks(context, in_b.iter().filter(|tensor| of_a.contains(&form(tensor))))?;
    Ok((paired(in_a, &marks_a, &marks_b), paired(in_b, &marks_b, &marks_a)))
}

fn form<'m>(tensor: &Tensor<'m>) -> (Dtype, &'m [u64]) {
    (tensor.dtype(), tensor.dims())
}

/// The names of the tensors with each mark, in order. Empty tensors are left out: they are all alike.
fn marks<'m, 't>(
    context: &Context,
    tensors: impl Iterator<Item = &'t Tensor<'m>>,
) -> Result<HashMap<Mark<'m>, Vec<&'m str>>, Error>
where
    'm: 't,
{
    let tensors: Vec<Tensor<'m>> = tensors.filter(|tensor| tensor.byte_len() > 0).copied().collect();
    let work = context.work("looking for renamed tensors", bytes_of(&tensors));
    let mut marks: HashMap<Mark<'m>, Vec<&'m str>> = HashMap::new();
    for (tensor, sum) in tensors.iter().zip(sums_of(&tensors, &work)?) {
        marks.entry((tensor.dtype(), tensor.dims(), sum)).or_default().push(tensor.name());
    }
    Ok(marks)
}

/// Pairs tensors with the same mark in order: the first of one model with the first of the other.
fn paired<'m>(
    tensors: Vec<Tensor<'m>>,
    ours: &HashMap<Mark<'m>, Vec<&'m str>>,
    theirs: &HashMap<Mark<'m>, Vec<&'m str>>,
) -> Vec<Only<'m>> {
    let pairs = ours.iter().filter_map(|(mark, names)| Some(names.iter().zip(theirs.get(mark)?)));
    let pairs: HashMap<&str, &'m str> = pairs.flatten().map(|(ours, theirs)| (*ours, *theirs)).collect();
    let only = |tensor: Tensor<'m>| Only { tensor, same_as: pairs.get(tensor.name()).copied() };
    tensors.into_iter().map(only).collect()
}

type Strings = BTreeMap<String, String>;

fn metadata(a: Option<&Strings>, b: Option<&Strings>) -> Vec<(String, Option<String>, Option<String>)> {
    let keys: BTreeSet<&String> = [a, b].into_iter().flatten().flat_map(BTreeMap::keys).collect();
    let value = |pairs: Option<&Strings>, key: &String| pairs.and_then(|pairs| pairs.get(key)).cloned();
    let all = keys.into_iter().map(|key| (key.clone(), value(a, key), value(b, key)));
    all.filter(|(_, a, b)| a != b).collect()
}
