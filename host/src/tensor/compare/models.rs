//! Compares two models.

use super::pair::Pair;
use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Model, Tensor, bytes_of, threads_for};
use crate::input::remote;
use crate::tensor::sums::{collect, sums_of};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// The common and the different parts of two models.
#[derive(Serialize)]
pub struct Comparison<'m> {
    pub only_in_a: Vec<Only<'m>>,
    pub only_in_b: Vec<Only<'m>>,
    /// Those in both models, in the order of the first one.
    pub tensors: Vec<Pair<'m>>,
    pub metadata: Vec<Value<'m>>,
}

/// The dtype and the shape of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Form<'m> {
    pub dtype: &'static str,
    pub shape: &'m [u64],
}

impl<'m> From<&Tensor<'m>> for Form<'m> {
    fn from(tensor: &Tensor<'m>) -> Self {
        Self { dtype: tensor.dtype().name(), shape: tensor.dims() }
    }
}

/// A tensor that only one model has.
#[derive(Serialize)]
pub struct Only<'m> {
    pub name: &'m str,
    #[serde(flatten)]
    pub form: Form<'m>,
    /// The tensor with the same bytes, dtype and shape that only the other model has: it may have been
    /// renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<&'m str>,
}

/// A metadata key whose value differs or is missing on one side.
#[derive(Serialize)]
pub struct Value<'m> {
    pub key: &'m str,
    pub a: Option<&'m str>,
    pub b: Option<&'m str>,
}

/// The differences that count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policy {
    /// The largest absolute difference of values that is ignored.
    pub absolute: f64,
    /// The largest difference that is ignored, relative to the larger value.
    pub relative: f64,
    /// Dtypes count.
    pub dtypes: bool,
    /// Metadata counts.
    pub metadata: bool,
}

impl Comparison<'_> {
    pub fn is_same(&self, policy: &Policy) -> bool {
        self.only_in_a.is_empty()
            && self.only_in_b.is_empty()
            && self.tensors.iter().all(|pair| pair.is_same(policy))
            && (self.metadata.is_empty() || !policy.metadata)
    }
}

/// Reads and compares these tensors of both models, and their metadata. The tensors are all of a model, or
/// are chosen by their names.
///
/// # Errors
/// One cannot be read, or has changed; interruption by the user.
pub fn compare<'m>(
    context: &Context,
    (a, in_a): (&'m Model, Vec<Tensor<'m>>),
    (b, in_b): (&'m Model, Vec<Tensor<'m>>),
    policy: &Policy,
) -> Result<Comparison<'m>, Error> {
    let threads = threads_for(&in_a).min(threads_for(&in_b));
    let (mut both, mut only_a) = (Vec::new(), Vec::new());
    for tensor in in_a {
        match b.find(tensor.name()) {
            Some(other) => both.push((tensor, other)),
            None => only_a.push(tensor),
        }
    }
    let only_b: Vec<_> = in_b.into_iter().filter(|tensor| a.find(tensor.name()).is_none()).collect();
    let bytes = both.iter().map(|(a, b)| a.byte_len().saturating_add(b.byte_len()));
    let work = context.work("comparing", bytes.fold(0, u64::saturating_add));
    let pair = |(a, b): &(Tensor<'m>, Tensor<'m>)| Pair::of(a, b, policy, &work);
    remote::expect(both.iter().filter(|(a, b)| a.dims() == b.dims()).flat_map(|(a, b)| [*a, *b]));
    let tensors = collect(&both, threads, pair)?;
    let [only_in_a, only_in_b] = renamed(context, &only_a, &only_b)?;
    a.check_unchanged()?;
    b.check_unchanged()?;
    Ok(Comparison { only_in_a, only_in_b, tensors, metadata: metadata(a.metadata(), b.metadata()) })
}

/// Finds renamed tensors, among those whose dtype and shape occur on both sides: the first of one model with
/// some bytes becomes the first of the other, and so on. Empty tensors are left out: they are all alike.
fn renamed<'m>(
    context: &Context,
    in_a: &[Tensor<'m>],
    in_b: &[Tensor<'m>],
) -> Result<[Vec<Only<'m>>; 2], Error> {
    let [of_a, of_b] = [in_a, in_b].map(|tensors| tensors.iter().map(Form::from).collect::<HashSet<_>>());
    let alike = |tensor: &&Tensor<'m>| {
        let form = Form::from(*tensor);
        tensor.byte_len() > 0 && of_a.contains(&form) && of_b.contains(&form)
    };
    let tensors: Vec<Tensor<'m>> = in_a.iter().chain(in_b).filter(alike).copied().collect();
    let sums = sums_of(&tensors, &context.work("looking for renamed tensors", bytes_of(&tensors)))?;
    let marked = tensors.iter().zip(sums).map(|(tensor, sum)| (tensor.name(), (Form::from(tensor), sum)));
    let mut marked: Vec<_> = marked.collect();
    let mut others: HashMap<_, VecDeque<&str>> = HashMap::new();
    for (name, mark) in marked.split_off(in_a.iter().filter(alike).count()) {
        others.entry(mark).or_default().push_back(name);
    }
    // A name is on one side only.
    let mut same = HashMap::new();
    for (name, mark) in marked {
        if let Some(other) = others.get_mut(&mark).and_then(VecDeque::pop_front) {
            same.extend([(name, other), (other, name)]);
        }
    }
    Ok([in_a, in_b].map(|tensors| {
        let same_as = |tensor: &Tensor<'m>| same.get(tensor.name()).copied();
        let all = tensors.iter();
        all.map(|tensor| Only { name: tensor.name(), form: tensor.into(), same_as: same_as(tensor) })
            .collect()
    }))
}

type Strings = BTreeMap<String, String>;

fn metadata<'m>(a: Option<&'m Strings>, b: Option<&'m Strings>) -> Vec<Value<'m>> {
    let keys: BTreeSet<&String> = [a, b].into_iter().flatten().flat_map(BTreeMap::keys).collect();
    let value = |pairs: Option<&'m Strings>, key| pairs?.get(key).map(String::as_str);
    let all = keys.into_iter().map(|key| Value { key, a: value(a, key), b: value(b, key) });
    all.filter(|value| value.a != value.b).collect()
}
