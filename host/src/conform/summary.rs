//! The score in short, for people and for programs.

use crate::json::quoted;
use crate::text::shown_text;
use std::io::{self, Write};
use vectors::Score;
use vectors::protocol::Outcome;
use vectors::scoring::{Count, Errors, grouped};

/// The maximum number of characters of a reader's output per line.
const SHOWN: usize = 240;

pub fn area<'v>(score: &Score<'v>) -> &'v str {
    score.vector.area()
}

/// Prints a line for each area, then two for each wrong answer.
pub fn summary(scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    for (area, Count { right, all }) in grouped(scores, area) {
        writeln!(out, "{:<12} {right:>5} of {all:>5}", shown_text(area))?;
    }
    let Count { right, all } = Count::of(scores);
    writeln!(out, "{:<12} {right:>5} of {all:>5}", "all")?;
    writeln!(out, "{}", errors(scores))?;
    let (left_out, tables) = left_out(scores);
    if left_out > 0 {
        writeln!(out, "{left_out} of {tables} answers omit offsets or metadata, which were not compared")?;
    }
    for score in scores {
        if let Some(problem) = &score.problem {
            let (id, reason) = (shown_text(&score.vector.id), shown_text(&score.vector.reason));
            writeln!(out, "{id}: {}\n    {reason}", cut(problem))?;
        }
    }
    Ok(())
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

/// One line of arbitrary text, cut if too long.
pub fn cut(text: &str) -> String {
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
