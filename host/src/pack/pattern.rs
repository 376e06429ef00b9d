//! `--rename` with a glob, which has the meaning of all other globs.

use crate::args::glob::matches;
use crate::text::quoted;

/// The new name of a tensor whose name matches `old`: each `*` of `new` is what the wildcard of `old` at the
/// same position stands for, the shortest text that is possible. None if the name does not match, or the
/// number of `*` is not that of the wildcards.
pub fn renamed(old: &str, new: &str, name: &str) -> Option<String> {
    let texts = texts(old, name)?;
    let mut parts = new.split('*');
    let mut result = parts.next()?.to_owned();
    let (mut texts, mut count) = (texts.into_iter(), 0);
    for part in parts {
        result += texts.next()?;
        result += part;
        count += 1;
    }
    (count > 0 && texts.next().is_none()).then_some(result)
}

/// Whether a name matches.
pub fn fits(old: &str, name: &str) -> bool {
    texts(old, name).is_some()
}

/// # Errors
/// The number of `*` in `new` is not that of the wildcards in `old`.
pub fn check_stars(old: &str, new: &str) -> Result<(), String> {
    let segments = segments(old);
    let is_wild = |one: &&One<'_>| !matches!(one, One::Literal(_));
    let wildcards = segments.iter().flatten().filter(is_wild).count() + segments.len().saturating_sub(1);
    let given = new.matches('*').count();
    if wildcards == given {
        return Ok(());
    }
    let (old, new) = (quoted(old), quoted(new));
    Err(format!("{new} needs {wildcards} *, one for each wildcard of {old}, {given} given"))
}

/// What stands for one character.
enum One<'p> {
    Literal(char),
    Any,
    /// Such as `[a-c]`.
    Class(&'p str),
}

/// The parts of a pattern between its `*`.
fn segments(pattern: &str) -> Vec<Vec<One<'_>>> {
    let (mut segments, mut last) = (Vec::new(), Vec::new());
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let len = if first == '[' { class_len(rest) } else { None };
        match (first, len) {
            ('*', _) => segments.push(std::mem::take(&mut last)),
            ('?', _) => last.push(One::Any),
            (_, Some(len)) => last.push(One::Class(&rest[..len])),
            _ => last.push(One::Literal(first)),
        }
        rest = &rest[len.unwrap_or(first.len_utf8())..];
    }
    segments.push(last);
    segments
}

/// The length of the class at the beginning of a text. None if it is not closed; a `]` at its beginning does
/// not close it.
fn class_len(text: &str) -> Option<usize> {
    let begin = text.strip_prefix("[!").or(text.strip_prefix('['))?;
    let inside = begin.strip_prefix(']').unwrap_or(begin);
    Some(text.len() - inside.len() + inside.find(']')? + 1)
}

/// What the wildcards of a segment stand for at the beginning of a text, and the rest of it.
fn begin<'n>(segment: &[One<'_>], text: &'n str) -> Option<(Vec<&'n str>, &'n str)> {
    let (mut texts, mut rest) = (Vec::new(), text);
    for one in segment {
        let first = rest.chars().next()?;
        let (this, after) = rest.split_at(first.len_utf8());
        match one {
            One::Literal(literal) if *literal == first => {}
            One::Any => texts.push(this),
            One::Class(class) if matches(class, this) => texts.push(this),
            _ => return None,
        }
        rest = after;
    }
    Some((texts, rest))
}

/// The texts that the wildcards stand for. None if there is no wildcard.
fn texts<'n>(old: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let segments = segments(old);
    let (first, rest) = segments.split_first()?;
    let (mut texts, mut left) = begin(first, name)?;
    for (index, segment) in rest.iter().enumerate() {
        let is_last = index + 1 == rest.len();
        let mut ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
        let (star, inside, after) = ends.find_map(|end| {
            let (star, from) = left.split_at(end);
            let (inside, after) = begin(segment, from)?;
            (!is_last || after.is_empty()).then_some((star, inside, after))
        })?;
        texts.push(star);
        texts.extend(inside);
        left = after;
    }
    (left.is_empty() && !texts.is_empty()).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::{fits, renamed};
    use crate::args::glob::{PATTERNS, matches};

    #[test]
    fn each_star_is_what_it_stood_for() {
        for (old, new, name, expected) in [
            ("old.*", "new.*", "old.a.b", Some("new.a.b")),
            ("*.gamma", "*.weight", "ln.gamma", Some("ln.weight")),
            ("h.*.attn.*", "layers.*.attention.*", "h.3.attn.w", Some("layers.3.attention.w")),
            ("*.*", "*/*", "a.b.c", Some("a/b.c")),
            ("**", "*x*", "abc", Some("xabc")),
            ("*", "m.*", "", Some("m.")),
            ("h.*", "l.*", "層.h.1", None),
            ("a*a", "b*b", "a", None),
            ("*層", "*", "x層", Some("x")),
            ("old.*", "new", "old.a", None),
            ("old.*", "new.*.*", "old.a", None),
            ("old", "new", "old", None),
            ("h.?.w", "l.*.x", "h.3.w", Some("l.3.x")),
            ("h.?.w", "l.*.x", "h.12.w", None),
            ("h.[0-3].*", "l.*.*", "h.2.w", Some("l.2.w")),
            ("h.[!0-3].*", "l.*.*", "h.2.w", None),
            ("*.[wb]", "*/*", "a.b.b", Some("a.b/b")),
            ("?*?", "*-*-*", "層xyz", Some("層-xy-z")),
            ("h.?", "l.?", "h.1", None),
        ] {
            assert_eq!(renamed(old, new, name).as_deref(), expected, "{old}={new} {name}");
        }
    }

    #[test]
    fn a_pattern_matches_what_it_matches_elsewhere() {
        let is_glob = |pattern: &str| pattern.contains(['*', '?']);
        for (pattern, name, _) in PATTERNS.iter().filter(|(pattern, ..)| is_glob(pattern)) {
            assert_eq!(fits(pattern, name), matches(pattern, name), "{pattern} {name}");
        }
    }
}
