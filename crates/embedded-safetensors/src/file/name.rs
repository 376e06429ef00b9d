//! Names of files that come from anywhere and become paths.

/// What is wrong with a name that leads, on this system or another, to something else than a file in a folder or below it.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    match name.as_bytes() {
        [] => Some("it is empty"),
        bytes if bytes.contains(&0) => Some("it has a byte of zero"),
        bytes if bytes.contains(&b'\\') => {
            Some("it has a backslash, which separates folders on some systems")
        }
        [b'/', ..] => Some("it is absolute"),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Some("it begins with a drive"),
        _ if name.contains("://") => Some("it is an address of a network"),
        _ => name.split('/').find_map(fault_of_part),
    }
}

fn fault_of_part(part: &str) -> Option<&'static str> {
    match part {
        ".." => Some("it leads out of a folder"),
        "" | "." => Some("a part of it names no file and no folder"),
        _ => None,
    }
}
