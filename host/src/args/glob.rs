//! Glob patterns with the meaning of Python's `fnmatch`.

use glob::Pattern;

/// Whether the pattern matches the entire name.
pub fn matches(pattern: &str, name: &str) -> bool {
    pattern_of(pattern).matches(name)
}

/// Converts to the syntax of the crate, which rejects unclosed brackets and gives `**` another meaning.
fn pattern_of(text: &str) -> Pattern {
    let mut spelled = text.to_owned();
    while spelled.contains("**") {
        spelled = spelled.replace("**", "*");
    }
    loop {
        match Pattern::new(&spelled) {
            Ok(pattern) => return pattern,
            Err(error) => {
                let bracket = spelled.char_indices().nth(error.pos).map_or(0, |(at, _)| at);
                spelled.insert_str(bracket + 1, "[]");
            }
        }
    }
}

/// Patterns, names, and whether Python's `fnmatch` takes one for the other.
#[cfg(test)]
pub const PATTERNS: &[(&str, &str, bool)] = &[
    ("*", "", true),
    ("utf8-*", "utf8-bom", true),
    ("utf8-*", "utf-8", false),
    ("*-max", "large-header-max", true),
    ("*-max", "large-header-max-plus-1", false),
    ("a*b*c", "a-b-b-c", true),
    ("a*b*c", "a-c-b", false),
    ("d?-*", "d1-slash", true),
    ("d?", "d", false),
    ("d[12]-*", "d2-escaped", true),
    ("d[12]-*", "d3-array", false),
    ("d[1-3]", "d3", true),
    ("d[!1-3]", "d3", false),
    ("d[!1-3]", "d4", true),
    ("[]]", "]", true),
    ("[a-]", "-", true),
    ("[", "[", true),
    ("[a", "[a", true),
    ("[!]", "[!]", true),
    ("[[]a[[b", "[a[[b", true),
    ("[!]a]", "]", false),
    ("[]-a]", "^", true),
    ("[z-a]", "z", false),
    ("[**]", "*", true),
    ("a**b", "a/c/b", true),
    ("a/**/b", "a/b", false),
    ("***", "a/b", true),
    ("\\*", "\\a", true),
    ("?", "層", true),
    ("{a,b}", "{a,b}", true),
    ("*", ".hidden/x", true),
    ("", "", true),
    ("", "a", false),
    ("A*", "a", false),
];

#[cfg(test)]
mod tests {
    use super::{PATTERNS, matches};

    #[test]
    fn patterns_mean_what_python_takes_them_for() {
        for (pattern, name, expected) in PATTERNS {
            assert_eq!(matches(pattern, name), *expected, "{pattern} {name}");
        }
    }
}
