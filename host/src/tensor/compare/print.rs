//! Prints a comparison as lines or as one JSON object.

use crate::input::model::Tensor;
use crate::json::{Object, array, quoted as json_text};
use crate::tensor::compare::distance::{Distance, Place};
use crate::tensor::compare::models::{Comparison, Degree, Only, Pair, Policy};
use crate::tensor::compare::pair::Likeness;
use crate::tensor::compare::value::shown;
use crate::text::{counted, grouped, quoted, short};
use console::style;
use embedded_safetensors::Dtype;
use std::io::{self, Write};

/// The names of the two models.
pub type Names<'n> = (&'n str, &'n str);

/// Prints a line for each difference and a summary.
pub fn print(
    comparison: &Comparison<'_>,
    (a, b): Names<'_>,
    policy: &Policy,
    out: &mut impl Write,
) -> io::Result<()> {
    let sides = [(&comparison.only_in_a, a, b), (&comparison.only_in_b, b, a)];
    for (only, here, there) in sides {
        for Only { tensor, same_as } in only {
            let hint = same_as.map(|name| format!(", same bytes as {} in {there}", quoted(name)));
            let line = format!("only in {here}: {}{}", described(tensor), hint.unwrap_or_default());
            writeln!(out, "  {}", style(line).red())?;
        }
    }
    for pair in comparison.pairs.iter().filter(|pair| pair.degree() != Degree::Identical) {
        let line = format!("{}: {}", quoted(pair.a.name()), difference(pair));
        let line = if pair.is_same(policy) { style(line).dim() } else { style(line).red() };
        writeln!(out, "  {line}")?;
    }
    for (key, ours, theirs) in &comparison.metadata {
        let line =
            format!("metadata {}: {}", quoted(key), change(ours.as_deref(), theirs.as_deref(), (a, b)));
        writeln!(out, "  {}", if policy.metadata { style(line).red() } else { style(line).dim() })?;
    }
    let same = comparison.is_same(policy);
    let verdict = if same { style("the same").green() } else { style("different").red() };
    writeln!(out, "{verdict}: {}", numbers(comparison, (a, b)))
}

fn described(tensor: &Tensor<'_>) -> String {
    format!("{} {} {}", quoted(tensor.name()), tensor.dtype().name(), list(tensor.dims(), ", "))
}

fn list(numbers: &[u64], between: &str) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(between))
}

fn change(a: Option<&str>, b: Option<&str>, names: Names<'_>) -> String {
    match (a, b) {
        (Some(a), Some(b)) => format!("{} and {}", quoted(a), quoted(b)),
        (Some(a), None) => format!("{}, only in {}", quoted(a), names.0),
        (None, Some(b)) => format!("{}, only in {}", quoted(b), names.1),
        (None, None) => String::new(),
    }
}

fn difference(pair: &Pair<'_>) -> String {
    let Pair { a, b, likeness } = pair;
    let dtypes = match pair.is_other_dtype() {
        true => format!("{} and {}, ", a.dtype().name(), b.dtype().name()),
        false => String::new(),
    };
    let what = match likeness {
        Likeness::Identical => "the same".to_owned(),
        Likeness::Shape => format!("{} and {}", list(a.dims(), ", "), list(b.dims(), ", ")),
        Likeness::Incomparable => "complex and real values are not compared".to_owned(),
        Likeness::Values(distance) if distance.differing == 0 => "same values, different bits".to_owned(),
        Likeness::Values(distance) => distances(distance, a),
    };
    dtypes + &what
}

fn distances(distance: &Distance, tensor: &Tensor<'_>) -> String {
    let Distance { values, differing, not_finite, largest, relative, .. } = distance;
    let mut words = format!("{} of {} differ", grouped(*differing), counted(*values, "value"));
    if let Some(place) = &distance.largest_at {
        let (mean, relative) = (short(distance.mean()), short(*relative));
        words += &format!(", by {} at most, at {}", short(*largest), at(place, tensor));
        words += &format!("; by {mean} on average, and by {relative} of the larger value at most");
    }
    if let Some(place) = &distance.first_not_finite {
        words += &format!(
            "; {} not finite on one side or different non-finite values, the first at {}",
            grouped(*not_finite),
            at(place, tensor)
        );
    }
    words
}

fn at(place: &Place, tensor: &Tensor<'_>) -> String {
    format!("{}: {} and {}", list(&index_of(place.at, tensor), ", "), shown(place.a), shown(place.b))
}

/// The index of a value in its tensor. A C64 has two values per index.
pub fn index_of(value: u64, tensor: &Tensor<'_>) -> Vec<u64> {
    let mut rest = if tensor.dtype() == Dtype::C64 { value / 2 } else { value };
    let mut index: Vec<u64> = tensor
        .dims()
        .iter()
        .rev()
        .map(|dim| {
            let place = rest % dim.max(&1);
            rest /= dim.max(&1);
            place
        })
        .collect();
    index.reverse();
    index
}

fn numbers(comparison: &Comparison<'_>, (a, b): Names<'_>) -> String {
    let count = |degree| comparison.pairs.iter().filter(|pair| pair.degree() == degree).count();
    let parts = [
        (count(Degree::Identical), "bit-identical".to_owned()),
        (count(Degree::Equal), "with equal values".to_owned()),
        (count(Degree::Near), "within the tolerance".to_owned()),
        (count(Degree::Different), "with different values".to_owned()),
        (count(Degree::Shape), "with different shapes".to_owned()),
        (count(Degree::Incomparable), "not comparable".to_owned()),
        (comparison.only_in_a.len(), format!("only in {a}")),
        (comparison.only_in_b.len(), format!("only in {b}")),
    ];
    let mut parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let Some((first, what)) = parts.next() else { return format!("no tensors{}", others(comparison)) };
    let first = format!("{} {what}", counted(first as u64, "tensor"));
    parts.fold(first, |text, (count, what)| format!("{text}, {count} {what}")) + &others(comparison)
}

/// The differences besides values.
fn others(comparison: &Comparison<'_>) -> String {
    let dtypes = comparison.pairs.iter().filter(|pair| pair.is_other_dtype()).count() as u64;
    let keys = comparison.metadata.len() as u64;
    let others = [(dtypes, "different dtype", ""), (keys, "metadata difference", "")];
    let others = others.into_iter().filter(|(count, ..)| *count > 0);
    others.map(|(count, what, place)| format!("; {}{place}", counted(count, what))).collect()
}

/// The comparison as one JSON object.
pub fn json(comparison: &Comparison<'_>, (a, b): Names<'_>, policy: &Policy) -> String {
    let metadata = comparison.metadata.iter().map(|(key, a, b)| {
        let text = |text: &Option<String>| text.as_ref().map_or("null".to_owned(), |text| json_text(text));
        Object::new().text("key", key).raw("a", &text(a)).raw("b", &text(b)).end()
    });
    let object = Object::new().flag("ok", comparison.is_same(policy)).text("a", a).text("b", b);
    let object = object.raw("only_in_a", &array(comparison.only_in_a.iter().map(only_json)));
    let object = object.raw("only_in_b", &array(comparison.only_in_b.iter().map(only_json)));
    let object = object.raw("tensors", &array(comparison.pairs.iter().map(pair_json)));
    object.raw("metadata", &array(metadata)).end()
}

fn only_json(only: &Only<'_>) -> String {
    let object = form_json(Object::new().text("name", only.tensor.name()), &only.tensor);
    only.same_as.into_iter().fold(object, |object, name| object.text("same_as", name)).end()
}

fn form_json(object: Object, tensor: &Tensor<'_>) -> Object {
    object.text("dtype", tensor.dtype().name()).raw("shape", &list(tensor.dims(), ","))
}

fn pair_json(pair: &Pair<'_>) -> String {
    let object = Object::new().text("name", pair.a.name()).text("result", word(pair.degree()));
    let [a, b] = [&pair.a, &pair.b].map(|tensor| form_json(Object::new(), tensor).end());
    let object = object.raw("a", &a).raw("b", &b);
    match &pair.likeness {
        Likeness::Values(distance) => distance_json(object, distance, &pair.a).end(),
        _ => object.end(),
    }
}

fn distance_json(object: Object, distance: &Distance, tensor: &Tensor<'_>) -> Object {
    let place = |object: Object, (key, place): (&str, &Option<Place>)| match place {
        None => object,
        Some(Place { at, a, b }) => {
            let values = array([a, b].map(|number| json_text(&shown(*number))));
            let index = list(&index_of(*at, tensor), ",");
            object.raw(key, &Object::new().raw("index", &index).raw("values", &values).end())
        }
    };
    let object = object.number("values", distance.values).number("differing", distance.differing);
    let object = object.number("beyond", distance.beyond).number("not_finite", distance.not_finite);
    let object = object.float("max_abs", distance.largest).float("mean_abs", distance.mean());
    let object = object.float("max_relative", distance.relative);
    [("max_abs_at", &distance.largest_at), ("not_finite_at", &distance.first_not_finite)]
        .into_iter()
        .fold(object, place)
}

fn word(degree: Degree) -> &'static str {
    match degree {
        Degree::Identical => "identical",
        Degree::Equal => "equal",
        Degree::Near => "within",
        Degree::Different => "different",
        Degree::Shape => "shape",
        Degree::Incomparable => "incomparable",
    }
}
