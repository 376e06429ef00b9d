//! Globs with the meaning of Python's `fnmatch`: `*`, `?`, `[a-c]` and `[!a-c]`.

/// Whether the pattern matches the entire name.
pub fn matches(pattern: &str, name: &str) -> bool {
    captures(pattern, name).is_some()
}

/// The texts that the wildcards of a pattern stand for, if it matches the entire name. A `*` stands for the
/// shortest text that is possible.
pub fn captures<'n>(mut pattern: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let (mut texts, mut rest) = (Vec::new(), name);
    // What follows the last `*` in the pattern, the number of texts up to its own, and the name from there.
    let mut star = None;
    loop {
        let (item, after) = match split_first(pattern) {
            None if rest.is_empty() => return Some(texts),
            Some((Item::Star, after)) => {
                texts.push("");
                (star, pattern) = (Some((after, texts.len(), rest)), after);
                continue;
            }
            found => found.unzip(),
        };
        let first = rest.chars().next();
        match first.zip(item).filter(|(first, item)| item.takes(*first)) {
            Some((first, item)) => {
                let (text, left) = rest.split_at(first.len_utf8());
                texts.extend((!matches!(item, Item::Literal(_))).then_some(text));
                (pattern, rest) = (after.unwrap_or_default(), left);
            }
            // The last `*` stands for one more character.
            None => {
                let (after, count, from) = star?;
                texts.truncate(count);
                let text = texts.last_mut()?;
                let more = from[text.len()..].chars().next()?;
                (*text, rest) = from.split_at(text.len() + more.len_utf8());
                pattern = after;
            }
        }
    }
}

/// The number of wildcards in a pattern.
pub fn wildcards(pattern: &str) -> usize {
    let items = std::iter::successors(split_first(pattern), |(_, after)| split_first(after));
    items.filter(|(item, _)| !matches!(item, Item::Literal(_))).count()
}

/// What stands for a text in a pattern.
enum Item<'p> {
    Literal(char),
    Star,
    /// One character.
    Any,
    /// One character of a class, such as `!a-c`.
    Class(&'p str),
}

/// The first item of a pattern, and the rest. A bracket that is not closed is a literal; a `]` at the
/// beginning of a class does not close it.
fn split_first(pattern: &str) -> Option<(Item<'_>, &str)> {
    let first = pattern.chars().next()?;
    let after = &pattern[first.len_utf8()..];
    let item = match first {
        '*' => Item::Star,
        '?' => Item::Any,
        '[' => {
            let begin = usize::from(after.starts_with('!'));
            let begin = begin + usize::from(after[begin..].starts_with(']'));
            if let Some(len) = after[begin..].find(']') {
                return Some((Item::Class(&after[..begin + len]), &after[begin + len + 1..]));
            }
            Item::Literal('[')
        }
        letter => Item::Literal(letter),
    };
    Some((item, after))
}

impl Item<'_> {
    /// Whether it stands for this character.
    fn takes(&self, one: char) -> bool {
        match self {
            Self::Literal(letter) => *letter == one,
            Self::Star | Self::Any => true,
            Self::Class(class) => {
                let others = class.strip_prefix('!');
                contains(others.unwrap_or(class), one) != others.is_some()
            }
        }
    }
}

/// Whether a list of characters and ranges contains this one.
fn contains(class: &str, one: char) -> bool {
    let mut rest = class.chars();
    while let Some(first) = rest.next() {
        let last = rest.as_str().strip_prefix('-').and_then(|range| range.chars().next());
        if (first..=last.unwrap_or(first)).contains(&one) {
            return true;
        }
        if last.is_some() {
            rest.nth(1);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{captures, wildcards};

    /// Patterns, names, and the texts of the wildcards where Python's `fnmatch` takes one for the other.
    const PATTERNS: &[(&str, &str, Option<&[&str]>)] = &[
        ("*", "", Some(&[""])),
        ("utf8-*", "utf8-bom", Some(&["bom"])),
        ("utf8-*", "utf-8", None),
        ("*-max", "large-header-max", Some(&["large-header"])),
        ("*-max", "large-header-max-plus-1", None),
        ("a*b*c", "a-b-b-c", Some(&["-", "-b-"])),
        ("a*b*c", "a-c-b", None),
        ("a*a", "a", None),
        ("d?-*", "d1-slash", Some(&["1", "slash"])),
        ("d?", "d", None),
        ("d[12]-*", "d2-escaped", Some(&["2", "escaped"])),
        ("d[12]-*", "d3-array", None),
        ("d[1-3]", "d3", Some(&["3"])),
        ("d[!1-3]", "d3", None),
        ("d[!1-3]?*", "d4wx", Some(&["4", "w", "x"])),
        ("[]]", "]", Some(&["]"])),
        ("[a-]", "-", Some(&["-"])),
        ("[", "[", Some(&[])),
        ("[a", "[a", Some(&[])),
        ("[!]", "[!]", Some(&[])),
        ("[[]a[[b", "[a[[b", Some(&["["])),
        ("[!]a]", "]", None),
        ("[]-a]", "^", Some(&["^"])),
        ("[z-a]", "z", None),
        ("[a-c-e]", "d", None),
        ("[a-c-e]", "-", Some(&["-"])),
        ("[**]", "*", Some(&["*"])),
        ("a**b", "a/c/b", Some(&["", "/c/"])),
        ("a/**/b", "a/b", None),
        ("*.[wb]", "a.b.b", Some(&["a.b", "b"])),
        ("\\*", "\\a", Some(&["a"])),
        ("?*?", "層xyz", Some(&["層", "xy", "z"])),
        ("{a,b}", "{a,b}", Some(&[])),
        ("*", ".hidden/x", Some(&[".hidden/x"])),
        ("", "", Some(&[])),
        ("", "a", None),
        ("A*", "a", None),
    ];

    #[test]
    fn patterns_mean_what_python_takes_them_for() {
        for (pattern, name, expected) in PATTERNS {
            assert_eq!(captures(pattern, name).as_deref(), *expected, "{pattern} {name}");
            assert!(expected.is_none_or(|texts| wildcards(pattern) == texts.len()), "{pattern}");
        }
    }
}
