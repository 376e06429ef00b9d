//! The results as a Markdown page.

use crate::conform::summary::{area, cut, error_of, errors};
use crate::text::shown_text;
use std::io::{self, Write};
use vectors::protocol::Outcome;
use vectors::scoring::{Count, grouped};
use vectors::{Manifest, Score, Verdict};

/// Writes the numbers and every wrong answer.
pub fn page(
    manifest: &Manifest,
    scores: &[Score<'_>],
    command: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let Count { right, all } = Count::of(scores);
    writeln!(out, "# What {} says about the conformance vectors\n", code(command))?;
    writeln!(out, "{right} of {all} answers are right; {}.", errors(scores))?;
    writeln!(out, "The rules are those of `RULES.md`, beside the vectors.\n")?;
    verdicts(scores, out)?;
    table("area", &grouped(scores, area), out)?;
    table("flag", &by_flag(manifest, scores), out)?;
    let mut rules = grouped(scores, |score| score.vector.rule.as_str());
    rules.sort_by_key(|(rule, _)| *rule);
    table("rule", &rules, out)?;
    wrong(scores, "Crashed or hung", |outcome| outcome == Outcome::Crash, out)?;
    wrong(scores, "Wrong answers", |outcome| outcome != Outcome::Crash, out)
}

fn verdicts(scores: &[Score<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| files | right | accepted | rejected | crashed |\n| --- | --- | --- | --- | --- |")?;
    for (verdict, files) in [
        (Verdict::Valid, "valid: to be accepted"),
        (Verdict::Invalid, "invalid: to be rejected"),
        (Verdict::Either, "either: readers may differ"),
    ] {
        let these = || scores.iter().filter(move |score| score.vector.verdict == verdict);
        let Count { right, all } = Count::of(these());
        let ended = |outcome| these().filter(|score| score.answer.outcome == outcome).count();
        let [accepted, rejected, crashed] = [Outcome::Accept, Outcome::Reject, Outcome::Crash].map(ended);
        writeln!(out, "| {files} | {right} of {all} | {accepted} | {rejected} | {crashed} |")?;
    }
    writeln!(out)
}

/// The bug classes of the tested vectors, with their meaning.
fn by_flag(manifest: &Manifest, scores: &[Score<'_>]) -> Vec<(String, Count)> {
    let flags = manifest.flags.iter().map(|(flag, meaning)| {
        let flagged = scores.iter().filter(|score| score.vector.flags.contains(flag));
        (format!("{flag}: {meaning}"), Count::of(flagged))
    });
    flags.filter(|(_, count)| count.all > 0).collect()
}

fn table(title: &str, groups: &[(impl AsRef<str>, Count)], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "## By {title}\n\n| {title} | right | wrong |\n| --- | --- | --- |")?;
    for (group, Count { right, all }) in groups {
        writeln!(out, "| {} | {right} of {all} | {} |", cell(group.as_ref()), all - right)?;
    }
    writeln!(out)
}

fn wrong(
    scores: &[Score<'_>],
    title: &str,
    which: impl Fn(Outcome) -> bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let wrong = scores.iter().filter(|score| which(score.answer.outcome));
    let wrong: Vec<_> = wrong.filter_map(|score| Some((score.vector, score.problem.as_ref()?))).collect();
    writeln!(out, "## {title}\n")?;
    if wrong.is_empty() {
        return writeln!(out, "None.\n");
    }
    writeln!(
        out,
        "| vector | why it exists | rule | error | flags | what is wrong |\n| --- | --- | --- | --- | --- | --- |"
    )?;
    for (vector, problem) in wrong {
        let (id, reason, rule) = (cell(&vector.id), cell(&vector.reason), cell(&vector.rule));
        let (error, flags) = (cell(&error_of(vector).unwrap_or_default()), cell(&vector.flags.join(", ")));
        writeln!(out, "| {id} | {reason} | {rule} | {error} | {flags} | {} |", code(&cut(problem)))?;
    }
    writeln!(out)
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for character in shown_text(text).chars() {
        if matches!(character, '|' | '*' | '_' | '`' | '<' | '>' | '\\' | '[' | ']' | '&') {
            cell.push('\\');
        }
        cell.push(character);
    }
    cell
}

/// Quotes text as code, whatever backticks it contains.
fn code(text: &str) -> String {
    let text = shown_text(text).replace('|', "\\|");
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::{cell, code};

    #[test]
    fn text_means_nothing_but_itself() {
        assert_eq!(cell("a|b <c> `d` \u{1b}"), r"a\|b \<c\> \`d\` \\u{1b}");
        assert_eq!(code("a|b"), r"`a\|b`");
        assert_eq!(code("a``b"), "``` a``b ```");
    }
}
