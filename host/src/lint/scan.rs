//! The text of a valid header: what a parser skips.

/// The offset of the header's text in the file.
pub const TEXT: u64 = 8;

/// Facts about the text of a header. All offsets count from the beginning of the file.
#[derive(Debug, Default, PartialEq)]
pub struct HeaderText {
    /// The bytes before the opening brace.
    pub before: u64,
    /// Whitespace between tokens: its first byte, and their number.
    pub whitespace: Option<(u64, u64)>,
    /// The first string with an escape that the reference does not write, and their number.
    pub escapes: Option<(u64, u64)>,
    /// The first byte after the object that is no space.
    pub other_padding: Option<u64>,
    /// The bytes after the object.
    pub room: u64,
    /// The tensors, in header order.
    pub entries: Vec<Entry>,
}

/// The text about a tensor.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// The offset of its name.
    pub at: u64,
    /// The first unknown member, and its offset.
    pub unknown: Option<(u64, String)>,
    /// Whether the known members are in the order of the reference: dtype, shape, offsets.
    pub is_ordered: bool,
}

const MEMBERS: [&str; 3] = ["dtype", "shape", "data_offsets"];

impl HeaderText {
    /// Reads a valid header.
    pub fn of(text: &[u8]) -> Self {
        let mut at = text.len() - text.trim_ascii_start().len();
        let mut header = Self { before: at as u64, ..Self::default() };
        let (mut depth, mut last) = (0, None);
        while let Some(byte) = text.get(at) {
            let (start, offset) = (at, TEXT + at as u64);
            at += 1;
            match byte {
                b'"' => {
                    at = end_of_string(text, at);
                    let token = &text[start..at];
                    if !is_canonical(token) {
                        count(&mut header.escapes, offset);
                    }
                    if depth <= 2 && text[at..].trim_ascii_start().starts_with(b":") {
                        header.key(depth, offset, decoded(token), &mut last);
                    }
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b' ' | b'\t' | b'\r' | b'\n' => count(&mut header.whitespace, offset),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let padding = &text[at..];
        let other = padding.iter().position(|byte| *byte != b' ');
        header.other_padding = other.map(|index| TEXT + (at + index) as u64);
        header.room = padding.len() as u64;
        header
    }

    /// Sees a name, or the key of an entry whose last known member was `last`. None: it is in the metadata.
    fn key(&mut self, depth: u32, at: u64, key: String, last: &mut Option<usize>) {
        match (depth, last, self.entries.last_mut()) {
            (1, last, _) => {
                *last = (key != "__metadata__").then_some(0);
                let entry = last.map(|_| Entry { at, unknown: None, is_ordered: true });
                self.entries.extend(entry);
            }
            (_, Some(last), Some(entry)) => match MEMBERS.iter().position(|member| *member == key) {
                Some(member) => {
                    entry.is_ordered &= *last <= member;
                    *last = member;
                }
                None => _ = entry.unknown.get_or_insert((at, key)),
            },
            _ => {}
        }
    }
}

/// The end of a string whose contents begin here.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn count(places: &mut Option<(u64, u64)>, at: u64) {
    places.get_or_insert((at, 0)).1 += 1;
}

fn decoded(token: &[u8]) -> String {
    serde_json::from_slice(token).unwrap_or_default()
}

/// Whether a string is written as the reference writes it.
fn is_canonical(token: &[u8]) -> bool {
    !token.contains(&b'\\') || serde_json::to_vec(&decoded(token)).is_ok_and(|written| written == token)
}

#[cfg(test)]
mod tests {
    use super::{Entry, HeaderText};

    #[test]
    fn what_parsers_skip_is_found() {
        let text = concat!(
            " \n{\"a\\u0062\": {\"shape\":[],\"dtype\":\"U8\",\"x\":{\"dtype\":[{\"y\":1}, \"{\"]},\"data_offsets\":[0,1]},",
            "\"__metadata__\":{\"k\\n\":\"\\/\"}}  \t"
        );
        let header = HeaderText::of(text.as_bytes());
        let at = |part: &str| 8 + text.find(part).expect("a part") as u64;
        assert_eq!(header.before, 2);
        assert_eq!(header.whitespace, Some((at(" {\"shape"), 2)));
        assert_eq!(header.escapes, Some((at("\"a\\u0062"), 2)));
        assert_eq!((header.other_padding, header.room), (Some(at("\t")), 3));
        let unknown = Some((at("\"x\""), "x".to_owned()));
        assert_eq!(header.entries, [Entry { at: at("\"a"), unknown, is_ordered: false }]);
    }
}
