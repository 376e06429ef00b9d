//! `--rename` with `*`, which stands for any text.

/// The new name of a tensor whose name matches `old`: each `*` of `new` is what the `*` of `old` at the same
/// position stands for, the shortest text that is possible. None if the name does not match, or the numbers
/// of `*` differ.
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

/// The texts that each `*` stands for.
fn texts<'n>(old: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let (first, rest) = old.split_once('*')?;
    let mut left = name.strip_prefix(first)?;
    let mut texts = Vec::new();
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        let (text, after) = match parts.peek() {
            Some(_) => left.split_once(part)?,
            None => (left.strip_suffix(part)?, ""),
        };
        texts.push(text);
        left = after;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::renamed;

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
        ] {
            assert_eq!(renamed(old, new, name).as_deref(), expected, "{old}={new} {name}");
        }
    }
}
