//! The score in short, for people and for programs.

use crate::conform::choice::Set;
use crate::json::quoted;
use crate::text::shown_text;
use std::fmt::Display;
use std::io::{self, Write};
use vectors::counts::{Count, Errors, Parts, grouped, kinds};
use vectors::scoring::Part;
use vectors::{Kind, Manifest, Score, Vector, Verdict};

/// The maximum number of characters of a reader's output per line.
const SHOWN: usize = 240;
/// The number of wrong answers that are printed.
const MOST_SHOWN: usize = 50;

/// How a reader was asked.
pub struct Asked<'a> {
    pub manifest: &'a Manifest,
    pub command: &'a [String],
    pub is_batch: bool,
    pub level: Set,
    pub strict: bool,
    /// The number of large vectors that were not asked.
    pub others: usize,
}

fn area<'v>(score: &Score<'v>) -> &'v str {
    score.vector.area()
}

fn rules<'v>(scores: &[Score<'v>]) -> Vec<(&'v str, Count)> {
    grouped(scores, |score| score.vector.rule.as_str())
}

/// The verdicts of the vectors.
fn verdicts(scores: &[Score<'_>]) -> Vec<(&'static str, Count)> {
    let count = |verdict| Count::of(scores.iter().filter(|score| score.vector.verdict == verdict));
    Verdict::ALL
        .map(|verdict| (verdict.word(), count(verdict)))
        .into_iter()
        .filter(|(_, count)| count.all > 0)
        .collect()
}

/// Prints a line for each area, and what is not visible from them; then three for each answer that is not
/// right.
pub fn summary(asked: &Asked<'_>, scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    let all = Count::of(scores);
    for (area, Count { right, all }) in grouped(scores, area).into_iter().chain([("all", all)]) {
        writeln!(out, "{:<12} {right:>5} of {all:>5}", shown_text(area))?;
    }
    let verdicts = verdicts(scores);
    let verdicts = verdicts.iter().map(|(word, count)| format!("{word} {} of {}", count.right, count.all));
    writeln!(out, "{}", list(verdicts, ", "))?;
    let rules = rules(scores);
    let whole = rules.iter().filter(|(_, count)| count.is_full()).count();
    writeln!(out, "rules without a fault: {whole} of {}", rules.len())?;
    if !all.is_full() {
        let kinds = kinds(scores).into_iter().filter(|(kind, count)| *kind != Kind::Right && *count > 0);
        let kinds = kinds.map(|(kind, count)| format!("{} {count}", kind.word()));
        writeln!(out, "not right: {}", list(kinds, ", "))?;
    }
    parts(scores, out)?;
    if asked.strict {
        let Errors { all, code, at } = Errors::of(scores);
        writeln!(out, "of {all} errors, {code} have the manifest's code and {at} its offset")?;
    }
    if asked.others > 0 {
        writeln!(out, "{} large vectors were not asked: --level large includes them", asked.others)?;
    }
    not_right(scores, out)
}

fn list(items: impl Iterator<Item = String>, separator: &str) -> String {
    items.collect::<Vec<_>>().join(separator)
}

/// Prints how many tables have the parts that a reader may leave out.
fn parts(scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    for part in Part::ALL {
        let Parts { tables, have, wrong } = Parts::of(scores, part);
        let how = match (have, wrong) {
            _ if tables == 0 => continue,
            (0, _) => String::new(),
            (_, 0) => ", all right".to_owned(),
            _ => format!(", {wrong} wrong"),
        };
        writeln!(out, "{}: in {have} of {tables} tables{how}", part.word())?;
    }
    Ok(())
}

/// Prints the answers that are not right, each with the reason of the vector and where to look.
fn not_right(scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    let mut wrong: Vec<_> =
        scores.iter().filter_map(|score| Some((score, score.problem.as_ref()?))).collect();
    wrong.sort_by_key(|(score, _)| score.kind == Kind::NotShown);
    for (score, problem) in wrong.iter().take(MOST_SHOWN) {
        let vector = score.vector;
        let (id, reason) = (shown_text(&vector.id), shown_text(&vector.reason));
        writeln!(out, "{id}: {}\n    {reason}\n    {}", cut(problem), place(vector))?;
    }
    match wrong.len().saturating_sub(MOST_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "… and {more} more: --filter selects vectors, --json lists all answers"),
    }
}

/// The rule, the error and the file of a vector.
fn place(vector: &Vector) -> String {
    let error = vector.code.as_deref().zip(vector.at);
    let error = error.map_or(String::new(), |(code, at)| format!(", {} at byte {at}", shown_text(code)));
    let made = || format!("{}/{}.safetensors, made by its recipe", vector.verdict.word(), vector.id);
    let file = vector.file.clone().unwrap_or_else(made);
    format!("{}{error}: {}", shown_text(&vector.rule), shown_text(&file))
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
pub fn json(asked: &Asked<'_>, scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    let all = Count::of(scores);
    let suite = quoted(&asked.manifest.suite);
    let command = list(asked.command.iter().map(|word| quoted(word)), ",");
    write!(out, "{{\"ok\":{},\"suite\":{suite},\"command\":[{command}]", all.is_full())?;
    write!(out, ",\"batch\":{},\"level\":\"{}\"", asked.is_batch, asked.level)?;
    write!(out, ",\"strict\":{},\"vectors\":{},\"right\":{}", asked.strict, all.all, all.right)?;
    let kinds = kinds(scores).map(|(kind, count)| (kind.word(), count));
    write!(out, ",\"kinds\":{}", object(kinds))?;
    for (name, groups) in
        [("verdicts", verdicts(scores)), ("areas", grouped(scores, area)), ("rules", rules(scores))]
    {
        let count =
            |Count { right, all }| object([("vectors", all.to_string()), ("right", right.to_string())]);
        let groups = groups.into_iter().map(|(group, counted)| (group, count(counted)));
        write!(out, ",\"{name}\":{}", object(groups))?;
    }
    let parts = Part::ALL.map(|part| {
        let Parts { tables, have, wrong } = Parts::of(scores, part);
        (part.member(), object([("tables", tables), ("have", have), ("wrong", wrong)]))
    });
    write!(out, ",\"parts\":{}", object(parts))?;
    let Errors { all, code, at } = Errors::of(scores);
    write!(out, ",\"errors\":{}", object([("all", all), ("code", code), ("at", at)]))?;
    let answers = scores.iter().map(|score| (score.vector.id.as_str(), answer(score)));
    writeln!(out, ",\"answers\":{}}}", object(answers))
}

/// An object with these members, whose values are JSON.
fn object<'a>(members: impl IntoIterator<Item = (&'a str, impl Display)>) -> String {
    let members = members.into_iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
    format!("{{{}}}", list(members, ","))
}

fn answer(score: &Score<'_>) -> String {
    let text = |text: Option<&str>| text.map_or("null".to_owned(), quoted);
    let Score { answer, problem, .. } = score;
    object([
        ("verdict", text(Some(answer.outcome.word()))),
        ("kind", text(Some(score.kind.word()))),
        ("code", text(answer.code.as_deref())),
        ("at", answer.at.map_or("null".to_owned(), |at| at.to_string())),
        ("text", text(Some(&answer.text))),
        ("problem", text(problem.as_deref())),
    ])
}
