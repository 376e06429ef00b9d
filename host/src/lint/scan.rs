//! The text of a valid header: what a parser skips.

use std::ops::Range;

/// The offset of the header's text in the file.
pub const TEXT: u64 = 8;

/// What is known about the text of a header.
#[derive(Debug, Default, PartialEq)]
pub struct HeaderText {
    /// The bytes before the opening brace.
    pub before: u64,
    /// Whitespace between tokens: its first byte, and their number.
    pub whitespace: Option<(u64, u64)>,
    /// The first string with an escape that the reference does not write, and their number.
    pub escapes: Option<(u64, u64)>,
    /// The first whitespace after the object that is no space.
    pub other_padding: Option<u64>,
    /// The spaces at the end.
    pub room: u64,
    pub entries: Vec<Entry>,
}

/// A member of the header.
#[derive(Debug, Default, PartialEq)]
pub struct Entry {
    /// The offset of its name in the file.
    pub at: u64,
    pub name: String,
    /// The first unknown member, and its offset.
    pub unknown: Option<(u64, String)>,
    /// Whether the known members are in the order of the reference: dtype, shape, offsets.
    pub is_ordered: bool,
}

impl HeaderText {
    /// Reads a valid header.
    pub fn of(text: &[u8]) -> Self {
        let mut scan =
            Scan { text, at: 0, depth: 0, wants_key: false, members: Vec::new(), header: Self::default() };
        scan.run();
        scan.header
    }
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    /// The number of open brackets.
    depth: usize,
    /// Whether the next string is a key of an object.
    wants_key: bool,
    /// The known members of the open entry.
    members: Vec<usize>,
    header: HeaderText,
}

const MEMBERS: [&str; 3] = ["dtype", "shape", "data_offsets"];

impl Scan<'_> {
    fn run(&mut self) {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at = self.text.iter().take_while(is_space).count();
        self.header.before = self.at as u64;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => self.string(),
                b'{' | b'[' => self.open(*byte == b'{'),
                b'}' | b']' => self.close(),
                b',' => {
                    self.wants_key = self.is_in_object();
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | b'\n' => self.space(),
                _ => self.at += 1,
            }
            if self.depth == 0 {
                return self.padding();
            }
        }
    }

    fn open(&mut self, is_object: bool) {
        // Brackets inside of skipped values are not needed: only the first two levels have keys of interest.
        self.depth += 1;
        self.wants_key = is_object && self.depth <= 2;
        self.at += 1;
    }

    fn close(&mut self) {
        if self.depth == 2 {
            self.end_entry();
        }
        self.depth -= 1;
        self.wants_key = false;
        self.at += 1;
    }

    /// A comma inside of an array is deeper than two levels, or in an entry that is not valid.
    fn is_in_object(&self) -> bool {
        self.depth <= 2
    }

    fn space(&mut self) {
        count(&mut self.header.whitespace, TEXT + self.at as u64);
        self.at += 1;
    }

    fn string(&mut self) {
        let range = self.at..self.end_of_string();
        let (at, is_key) = (TEXT + range.start as u64, std::mem::take(&mut self.wants_key));
        let token = self.text.get(range.clone()).unwrap_or_default();
        if token.contains(&b'\\') && !is_canonical(token) {
            count(&mut self.header.escapes, at);
        }
        self.at = range.end;
        if is_key {
            self.key(at, range);
        }
    }

    fn end_of_string(&self) -> usize {
        let mut at = self.at + 1;
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    fn key(&mut self, at: u64, range: Range<usize>) {
        let name = decoded(&self.text[range]);
        if self.depth == 1 {
            self.header.entries.push(Entry { at, name, unknown: None, is_ordered: true });
            self.members.clear();
        } else if let Some(entry) =
            self.header.entries.last_mut().filter(|entry| entry.name != "__metadata__")
        {
            match MEMBERS.iter().position(|member| *member == name) {
                Some(member) => self.members.push(member),
                None => _ = entry.unknown.get_or_insert((at, name)),
            }
        }
    }

    fn end_entry(&mut self) {
        if let Some(entry) = self.header.entries.last_mut() {
            entry.is_ordered = self.members.is_sorted();
        }
    }

    fn padding(&mut self) {
        let padding = &self.text[self.at..];
        let other = padding.iter().position(|byte| *byte != b' ');
        self.header.other_padding = other.map(|index| TEXT + (self.at + index) as u64);
        self.header.room = padding.len() as u64;
    }
}

fn count(places: &mut Option<(u64, u64)>, at: u64) {
    places.get_or_insert((at, 0)).1 += 1;
}

fn decoded(token: &[u8]) -> String {
    serde_json::from_slice(token).unwrap_or_default()
}

/// Whether a string is written as the reference writes it.
fn is_canonical(token: &[u8]) -> bool {
    serde_json::to_vec(&decoded(token)).is_ok_and(|written| written == token)
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
        let first = Entry { at: at("\"a"), name: "ab".into(), unknown, is_ordered: false };
        let metadata =
            Entry { at: at("\"__m"), name: "__metadata__".into(), unknown: None, is_ordered: true };
        assert_eq!(header.entries, [first, metadata]);
    }

    #[test]
    fn a_canonical_header_has_nothing_to_find() {
        let text = br#"{"a\n\u001f":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}}"#;
        let entry = Entry { at: 9, name: "a\n\u{1f}".into(), unknown: None, is_ordered: true };
        assert_eq!(HeaderText::of(text), HeaderText { entries: vec![entry], ..HeaderText::default() });
    }
}
