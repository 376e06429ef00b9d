//! The score in short, for people and for programs.

use crate::json::quoted;
use crate::text::shown_text;
use std::io::{self, Write};
use vectors::protocol::Outcome;
use vectors::scoring::{Count, Errors, grouped};
use vectors::{Score, Vector, Verdict};

/// The maximum number of characters of a reader's output per line.
const SHOWN: usize = 240;
/// The number of wrong answers that are printed.
const MOST_SHOWN: usize = 50;

pub fn area<'v>(score: &Score<'v>) -> &'v str {
    score.vector.area()
}

/// Prints a line for each area, and what is not visible from them; then three for each wrong answer.
pub fn summary(
    scores: &[Score<'_>],
    strict: bool,
    large_left_out: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    for (area, Count { right, all }) in grouped(scores, area) {
        writeln!(out, "{:<12} {right:>5} of {all:>5}", shown_text(area))?;
    }
    let Count { right, all } = Count::of(scores);
    writeln!(out, "{:<12} {right:>5} of {all:>5}", "all")?;
    writeln!(out, "{}{}", errors(scores), if strict { "" } else { " (not scored)" })?;
    let (left_out, tables) = left_out(scores);
    if left_out > 0 {
        writeln!(out, "{left_out} of {tables} answers omit offsets or metadata, which were not compared")?;
    }
    if accepts_nothing(scores) {
        writeln!(out, "no valid file was accepted: does the runner work?")?;
    }
    if large_left_out > 0 {
        writeln!(
            out,
            "{large_left_out} vectors of more than a megabyte were not tested: --large includes them"
        )?;
    }
    wrong(scores, out)
}

fn accepts_nothing(scores: &[Score<'_>]) -> bool {
    let mut valid = scores.iter().filter(|score| score.vector.verdict == Verdict::Valid).peekable();
    valid.peek().is_some() && valid.all(|score| score.answer.outcome != Outcome::Accept)
}

/// Prints the wrong answers, each with the reason of the vector and where to look.
fn wrong(scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    let wrong = || scores.iter().filter_map(|score| Some((score.vector, score.problem.as_ref()?)));
    for (vector, problem) in wrong().take(MOST_SHOWN) {
        let (id, reason) = (shown_text(&vector.id), shown_text(&vector.reason));
        writeln!(out, "{id}: {}\n    {reason}\n    {}", cut(problem), place(vector))?;
    }
    match wrong().count().saturating_sub(MOST_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "… and {more} more: --filter selects vectors, --json lists all answers"),
    }
}

/// The rule, the error and the file of a vector.
fn place(vector: &Vector) -> String {
    let error = error_of(vector).map_or(String::new(), |error| format!(", {error}"));
    let file = vector.file.as_deref().unwrap_or("made by its recipe");
    format!("{}{error}: {}", shown_text(&vector.rule), shown_text(file))
}

/// The manifest's error of a vector, if it has one.
pub fn error_of(vector: &Vector) -> Option<String> {
    Some(format!("{} at byte {}", shown_text(vector.code.as_deref()?), vector.at?))
}

/// The number of errors with the code and the offset of the manifest; for information.
pub fn errors(scores: &[Score<'_>]) -> String {
    let Errors { all, code, at } = Errors::of(scores);
    format!("of {all} errors, {code} have the manifest's code and {at} its offset")
}

/// The number of answers with less than the manifest lists, and of all answers.
fn left_out(scores: &[Score<'_>]) -> (usize, usize) {
    let tables = scores.iter().filter(|score| score.answer.outcome == Outcome::Accept);
    (tables.clone().filter(|score| score.left_out).count(), tables.count())
}

/// The first line of arbitrary text, cut if too long.
pub fn cut(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    let mut line = shown_text(&text.chars().take(SHOWN).collect::<String>());
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// One object with every answer.
pub fn json(scores: &[Score<'_>], command: &[String], strict: bool, out: &mut impl Write) -> io::Result<()> {
    let (Count { right, all }, errors) = (Count::of(scores), Errors::of(scores));
    let crashed = scores.iter().filter(|score| score.answer.outcome == Outcome::Crash).count();
    let list = |members: Vec<String>| members.join(",");
    let command = list(command.iter().map(|word| quoted(word)).collect());
    write!(out, "{{\"ok\":{},\"command\":[{command}],\"strict\":{strict}", right == all)?;
    write!(out, ",\"vectors\":{all},\"right\":{right},\"crashed\":{crashed}")?;
    write!(out, ",\"left_out\":{}", left_out(scores).0)?;
    write!(out, ",\"errors\":{{\"all\":{},\"code\":{},\"at\":{}}}", errors.all, errors.code, errors.at)?;
    let areas = grouped(scores, area).into_iter().map(|(area, Count { right, all })| {
        format!("{}:{{\"vectors\":{all},\"right\":{right}}}", quoted(area))
    });
    write!(out, ",\"areas\":{{{}}}", list(areas.collect()))?;
    let answers = scores.iter().map(|score| format!("{}:{}", quoted(&score.vector.id), answer(score)));
    writeln!(out, ",\"answers\":{{{}}}}}", list(answers.collect()))
}

fn answer(score: &Score<'_>) -> String {
    let text = |text: Option<&String>| text.map_or("null".to_owned(), |text| quoted(text));
    let number = |number: Option<u64>| number.map_or("null".to_owned(), |number| number.to_string());
    let Score { answer, problem, .. } = score;
    format!(
        "{{\"verdict\":\"{}\",\"code\":{},\"at\":{},\"text\":{},\"problem\":{}}}",
        answer.outcome.word(),
        text(answer.code.as_ref()),
        number(answer.at),
        text(Some(&answer.text)),
        text(problem.as_ref())
    )
}
