//! `__metadata__` of a model in memory.

use super::View;
use super::json_str::JsonStr;
use super::walk::Walk;
use crate::error::{Error, ErrorKind};
use crate::util::bytes::low_u32;
use crate::util::text::{after_escapes, after_plain};

/// The keys and values of `__metadata__`, in the header's order, in place.
///
/// *Memory*: at most 24 bytes.
pub struct MetadataView<'a> {
    /// The bytes from the next key, or the separators before it, on. Empty after the last pair.
    left: &'a [u8],
    /// The offset of `left` in the file.
    at: u32,
}

impl<'a> View<'a> {
    /// Returns the keys and values of `__metadata__`, if any. Duplicate keys are returned twice. Takes a pass
    /// over the header up to `__metadata__`.
    pub const fn metadata(&self) -> MetadataView<'a> {
        let mut walk = Walk::<false>::new(self.file());
        let value = walk.find_metadata();
        let left = opened(value);
        let before = (value.len() - left.len()) as u64;
        MetadataView { left, at: low_u32(walk.position() + before) }
    }

    /// Returns the value of one key of `__metadata__`.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateKey`] when the key is a duplicate.
    pub const fn metadata_value(&self, key: &str) -> Result<Option<JsonStr<'a>>, Error> {
        let (mut pairs, mut found) = (self.metadata(), None);
        while let Some((name, value)) = pairs.next_pair() {
            if !name.is(key) {
                continue;
            }
            if found.is_some() {
                return Err(ErrorKind::DuplicateKey.at(name.at()));
            }
            found = Some(value);
        }
        Ok(found)
    }
}

impl<'a> MetadataView<'a> {
    /// [`Iterator::next`], but const.
    pub const fn next_pair(&mut self) -> Option<(JsonStr<'a>, JsonStr<'a>)> {
        if let Some(key) = self.next_string() {
            if let Some(value) = self.next_string() {
                return Some((key, value));
            }
        }
        self.left = &[];
        None
    }

    /// Returns the next key or value. A parser has validated the bytes between them.
    const fn next_string(&mut self) -> Option<JsonStr<'a>> {
        let mut left = self.left;
        while let [b',' | b':' | b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = left {
            left = rest;
        }
        let [b'"', text @ ..] = left else { return None };
        let at = self.at + low_u32((self.left.len() - left.len()) as u64);
        let (quote, is_plain) = closing_quote(text);
        let (Some((text, _)), [_, rest @ ..]) = (text.split_at_checked(text.len() - quote.len()), quote)
        else {
            return None;
        };
        self.at = at + low_u32((left.len() - rest.len()) as u64);
        self.left = rest;
        Some(JsonStr::validated(text, at, is_plain))
    }
}

/// Returns the content of the object that follows a name.
const fn opened(mut text: &[u8]) -> &[u8] {
    while let [b':' | b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = text {
        text = rest;
    }
    match text {
        [b'{', rest @ ..] => rest,
        // The value is null.
        _ => &[],
    }
}

/// Returns the text from the closing quote of a string on, and whether there are no escapes before it.
/// Written for const evaluation.
const fn closing_quote(text: &[u8]) -> (&[u8], bool) {
    let (mut left, mut is_plain) = (text, true);
    loop {
        left = match after_plain::<false>(left) {
            end @ ([b'"', ..] | []) => return (end, is_plain),
            [b'\\', _, rest @ ..] => {
                is_plain = false;
                after_escapes(rest)
            }
            [_, rest @ ..] => rest,
        }
    }
}

impl<'a> Iterator for MetadataView<'a> {
    type Item = (JsonStr<'a>, JsonStr<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_pair()
    }
}

impl core::iter::FusedIterator for MetadataView<'_> {}

shown!(MetadataView<'_>, _it => "MetadataView {{ .. }}");
