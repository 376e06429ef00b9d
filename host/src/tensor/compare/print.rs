//! Prints a comparison as lines.

use super::distance::{Distance, Place, shown};
use super::models::{Comparison, Form, Only, Policy, Value};
use super::pair::{Degree, Pair};
use crate::text::{counted, grouped, quoted, short};
use console::style;
use std::io::{self, Write};

impl Comparison<'_> {
    /// Prints a line for each difference and a summary.
    pub fn print(&self, [a, b]: [&str; 2], policy: &Policy, out: &mut dyn Write) -> io::Result<()> {
        for (only, here, there) in [(&self.only_in_a, a, b), (&self.only_in_b, b, a)] {
            for Only { name, form: Form { dtype, shape }, same_as } in only {
                let hint = same_as.map(|name| format!(", same bytes as {} in {there}", quoted(name)));
                let hint = hint.unwrap_or_default();
                let line = format!("only in {here}: {} {dtype} {shape:?}{hint}", quoted(name));
                writeln!(out, "  {}", style(line).red())?;
            }
        }
        for pair in self.tensors.iter().filter(|pair| pair.result != Degree::Identical) {
            let line = style(format!("{}: {}", quoted(pair.name), difference(pair)));
            writeln!(out, "  {}", if pair.is_same(policy) { line.dim() } else { line.red() })?;
        }
        for value in &self.metadata {
            let line = style(format!("metadata {}: {}", quoted(value.key), values(value, [a, b])));
            writeln!(out, "  {}", if policy.metadata { line.red() } else { line.dim() })?;
        }
        let is_same = self.is_same(policy);
        let verdict = if is_same { style("the same").green() } else { style("different").red() };
        writeln!(out, "{verdict}: {}", self.numbers([a, b]))
    }

    fn numbers(&self, [a, b]: [&str; 2]) -> String {
        let count = |degree| self.tensors.iter().filter(|pair| pair.result == degree).count();
        let parts = [
            (count(Degree::Identical), "bit-identical".to_owned()),
            (count(Degree::Equal), "with equal values".to_owned()),
            (count(Degree::Within), "within the tolerance".to_owned()),
            (count(Degree::Different), "with different values".to_owned()),
            (count(Degree::Shape), "with different shapes".to_owned()),
            (count(Degree::Incomparable), "not comparable".to_owned()),
            (self.only_in_a.len(), format!("only in {a}")),
            (self.only_in_b.len(), format!("only in {b}")),
        ];
        let mut text = String::new();
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            text += &match text.is_empty() {
                true => format!("{} {what}", counted(count as u64, "tensor")),
                false => format!(", {count} {what}"),
            };
        }
        let dtypes = self.tensors.iter().filter(|pair| pair.is_other_dtype()).count();
        let others = [(dtypes, "different dtype"), (self.metadata.len(), "metadata difference")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let text = if text.is_empty() { "no tensors".to_owned() } else { text };
        others.fold(text, |text, (count, what)| format!("{text}; {}", counted(count as u64, what)))
    }
}

fn values(value: &Value<'_>, [a, b]: [&str; 2]) -> String {
    match (value.a, value.b) {
        (Some(ours), Some(theirs)) => format!("{} and {}", quoted(ours), quoted(theirs)),
        (Some(ours), None) => format!("{}, only in {a}", quoted(ours)),
        (None, theirs) => format!("{}, only in {b}", quoted(theirs.unwrap_or_default())),
    }
}

fn difference(pair: &Pair<'_>) -> String {
    let Pair { a, b, .. } = pair;
    let what = match (&pair.distance, pair.result) {
        (Some(_), Degree::Equal) => "same values, different bits".to_owned(),
        (Some(distance), _) => distances(distance),
        (None, Degree::Shape) => format!("{:?} and {:?}", a.shape, b.shape),
        (None, _) => "complex and real values are not compared".to_owned(),
    };
    match pair.is_other_dtype() {
        true => format!("{} and {}, {what}", a.dtype, b.dtype),
        false => what,
    }
}

fn distances(distance: &Distance) -> String {
    let Distance { values, differing, not_finite, .. } = distance;
    let mut words = format!("{} of {} differ", grouped(*differing), counted(*values, "value"));
    if let Some(place) = &distance.max_abs_at {
        let [most, mean, relative] = [distance.max_abs, distance.mean_abs, distance.max_relative].map(short);
        words += &format!(", by {most} at most, at {}", at(place));
        words += &format!("; by {mean} on average, and by {relative} of the larger value at most");
    }
    if let Some(place) = &distance.not_finite_at {
        words += &format!(
            "; {} not finite on one side or different non-finite values, the first at {}",
            grouped(*not_finite),
            at(place)
        );
    }
    words
}

fn at(place: &Place) -> String {
    let [a, b] = place.values.map(shown);
    format!("{:?}: {a} and {b}", place.index)
}
