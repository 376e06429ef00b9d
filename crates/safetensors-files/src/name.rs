//! Checks untrusted file names before they become paths.

/// Returns why a name is unsafe: on this system or another, it leads to something other than a file in a
/// directory or below it, or to a file of another name.
pub(crate) fn unsafe_reason(name: &str) -> Option<&'static str> {
    match name.as_bytes() {
        [] => Some("it is empty"),
        bytes if bytes.contains(&0) => Some("it has a NUL byte"),
        bytes if bytes.contains(&b'\\') => {
            Some("it has a backslash, which separates directories on some systems")
        }
        [b'/', ..] => Some("it is absolute"),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Some("it begins with a drive letter"),
        _ if name.contains("://") => Some("it is a URL"),
        bytes if bytes.contains(&b':') => {
            Some("it has a colon, which names an alternate data stream on some systems")
        }
        _ => name.split('/').find_map(unsafe_part_reason),
    }
}

fn unsafe_part_reason(part: &str) -> Option<&'static str> {
    match part {
        ".." => Some("it leads out of its directory"),
        "" | "." => Some("a part of it is empty or a dot"),
        _ if part.ends_with(['.', ' ']) => {
            Some("a part of it ends in a dot or a space, which some systems drop")
        }
        _ if is_device(part) => Some("a part of it is a device name on some systems"),
        _ => None,
    }
}

/// On Windows these names are devices in every directory, with any extension.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end();
    let is_one_of = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(stem));
    let numbered = stem.strip_suffix(|digit| matches!(digit, '1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'));
    is_one_of(&["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"])
        || numbered.is_some_and(|port| ["COM", "LPT"].iter().any(|name| name.eq_ignore_ascii_case(port)))
}
