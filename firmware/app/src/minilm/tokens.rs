//! A text as tokens of a vocabulary: lower case without accents, words and punctuation, and the longest
//! tokens that a word consists of (WordPiece). A character for which this would not be certain to give the
//! tokens of the original is an error.

use super::{Failure, Unusable};
use embedded_safetensors::ReadAt;
use embedded_safetensors::integrity::{Sha256, Sum};

/// The largest number of tokens of a text, with `[CLS]` and `[SEP]`.
pub const MAX_TOKENS: usize = 16;

/// The largest number of bytes of a text.
pub const MAX_TEXT: usize = 256;

/// A longer word is unknown.
const MAX_WORD: usize = 100;

/// A sector of a card. A line is shorter.
const WINDOW: usize = 512;

const UNKNOWN: u16 = 100;
const FIRST: u16 = 101;
const LAST: u16 = 102;

/// The original takes these names for the tokens, wherever they are in a text.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The characters from U+00C0 to U+017F in lower case and without accents.
const LATIN: &str = "aaaaaaæceeeeiiiiðnooooo×øuuuuyþßaaaaaaæceeeeiiiiðnooooo÷øuuuuyþyaaaaaaccccccccddđđeeeeeeeeee\
    gggggggghhħħiiiiiiiiiıĳĳjjkkĸllllllŀŀłłnnnnnnŉŋŋooooooœœrrrrrrssssssssttttŧŧuuuuuuuuuuuuwwyyyzzzzzzſ";

/// A file with a token in each line. The number of a token is the number of its line, counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// The length of the file. A storage may be longer: nothing after these bytes is read.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    pub sum: [u8; 32],
}

impl Vocabulary {
    /// The `vocab.txt` of all-MiniLM-L6-v2.
    pub const MINILM: Self = Self {
        bytes: 231_508,
        sum: [
            0x07, 0xEC, 0xED, 0x37, 0x5C, 0xEC, 0x14, 0x4D, 0x27, 0xC9, 0x00, 0x24, 0x1F, 0x3E, 0x33, 0x94,
            0x78, 0xDE, 0xC9, 0x58, 0xF9, 0x2F, 0xDD, 0xBC, 0x55, 0x1F, 0x29, 0x5C, 0x99, 0x20, 0x38, 0xA3,
        ],
    };

    /// Divides a text into tokens, in one pass over the file, which is not sorted: each line is compared with
    /// the text at all positions, and the longest token at each position is kept.
    ///
    /// *Memory*: 512 bytes of the file and 1,280 for the text, on the stack during the call.
    ///
    /// # Errors
    /// The text cannot be used; the file is another one, or cannot be read.
    #[inline(never)] // its stack is free again when it returns
    pub fn tokenise<V: ReadAt>(&self, file: V, text: &[u8]) -> Result<Tokens, Failure<V::Error>> {
        let mut words = Words::new(text).map_err(Failure::Text)?;
        self.match_all(file, &mut words)?;
        words.tokens().map_err(Failure::Text)
    }

    fn match_all<V: ReadAt>(&self, mut file: V, words: &mut Words) -> Result<(), Failure<V::Error>> {
        let (mut window, mut filled, mut sum) = ([0; WINDOW], 0, Sha256::new());
        let (mut at, mut id) = (0, 0);
        while at < self.bytes {
            let rest = usize::try_from(self.bytes - at).unwrap_or(WINDOW).min(WINDOW);
            let room = window.get_mut(filled..WINDOW.min(filled + rest)).unwrap_or_default();
            let read = file.read_at(at, room).map_err(|error| Failure::Unread("vocabulary", at, error))?;
            let Some(new @ [_, ..]) = room.get(..read) else { break };
            sum.update(new);
            at += read as u64;
            filled += read;
            let mut lines = window.get(..filled).unwrap_or_default().split_inclusive(|byte| *byte == b'\n');
            let mut used = 0;
            while let Some([line @ .., b'\n']) = lines.next() {
                words.match_token(line, id);
                id = id.wrapping_add(1);
                used += line.len() + 1;
            }
            window.copy_within(used..filled, 0);
            filled -= used;
        }
        if sum.finish() == self.sum { Ok(()) } else { Err(Failure::OtherVocabulary(at)) }
    }
}

/// The tokens of a text, as their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    ids: [u16; MAX_TOKENS],
    len: usize,
}

impl Tokens {
    /// Returns the numbers.
    pub fn ids(&self) -> &[u16] {
        self.ids.get(..self.len).unwrap_or_default()
    }

    /// Appends a number, or only counts it if there is no space.
    fn push(&mut self, id: u16) {
        if let Some(slot) = self.ids.get_mut(self.len) {
            *slot = id;
        }
        self.len += 1;
    }
}

/// A text without spaces, and for each of its bytes whether a word begins there, and the longest token that
/// does.
struct Words {
    bytes: [u8; MAX_TEXT],
    places: [Place; MAX_TEXT],
    len: usize,
    /// Whether a word begins with the next character.
    begins: bool,
}

#[derive(Clone, Copy)]
struct Place {
    begins: bool,
    /// The length of the token without `##`; 0 if there is none.
    len: u8,
    id: u16,
}

impl Words {
    fn new(text: &[u8]) -> Result<Self, Unusable> {
        if text.len() > MAX_TEXT {
            return Err(Unusable::Long(text.len()));
        }
        let text = str::from_utf8(text).map_err(|error| Unusable::NotUtf8(error.valid_up_to()))?;
        if let Some(at) = SPECIAL.iter().filter_map(|name| text.find(name)).min() {
            return Err(Unusable::Special(at));
        }
        let place = Place { begins: false, len: 0, id: 0 };
        let mut words = Self { bytes: [0; MAX_TEXT], places: [place; MAX_TEXT], len: 0, begins: true };
        for (at, character) in text.char_indices() {
            if !words.take(character) {
                return Err(Unusable::Character(at, character));
            }
        }
        Ok(words)
    }

    /// Appends a character as the original changes it. Returns `false` if that is not known.
    fn take(&mut self, character: char) -> bool {
        match character {
            '\t' | '\n' | '\r' | ' ' | '\u{A0}' => self.begins = true,
            // Control characters, the soft hyphen, and accents after their letters.
            '\0'..='\x1F' | '\x7F'..='\u{9F}' | '\u{AD}' | '\u{300}'..='\u{36F}' => {}
            '!'..='/' | ':'..='@' | '['..='`' | '{'..='~' => self.push_alone(character),
            '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}' => {
                self.push_alone(character)
            }
            '0'..='9' | 'A'..='Z' | 'a'..='z' => self.push(character.to_ascii_lowercase()),
            '\u{A1}'..='\u{BF}' => self.push(character),
            '\u{C0}'..='\u{17F}' => {
                let known = LATIN.chars().zip('\u{C0}'..).find(|(_, latin)| *latin == character);
                self.push(known.map_or(character, |(changed, _)| changed));
            }
            _ => return false,
        }
        true
    }

    fn push_alone(&mut self, character: char) {
        self.begins = true;
        self.push(character);
        self.begins = true;
    }

    /// Appends a character, which takes at most as many bytes as the one in the text.
    fn push(&mut self, character: char) {
        if let Some(place) = self.places.get_mut(self.len) {
            place.begins = self.begins;
        }
        let end = self.len + character.len_utf8();
        if let Some(bytes) = self.bytes.get_mut(self.len..end) {
            character.encode_utf8(bytes);
        }
        (self.len, self.begins) = (end, false);
    }

    /// Keeps a token wherever the text has it, and no longer one.
    fn match_token(&mut self, token: &[u8], id: u16) {
        let (begins, token) = match token.strip_prefix(b"##") {
            Some(rest @ [_, ..]) => (false, rest),
            _ => (true, token),
        };
        let Ok(len @ 1..) = u8::try_from(token.len()) else { return };
        let text = self.bytes.get(..self.len).unwrap_or_default();
        for at in 0..text.len() {
            let found = text.get(at..).is_some_and(|rest| rest.starts_with(token));
            let Some([place, rest @ ..]) = self.places.get_mut(at..) else { return };
            let is_in_word = || rest.iter().take(token.len() - 1).all(|place| !place.begins);
            if found && place.begins == begins && len > place.len && is_in_word() {
                (place.len, place.id) = (len, id);
            }
        }
    }

    fn tokens(&self) -> Result<Tokens, Unusable> {
        let mut tokens = Tokens { ids: [0; MAX_TOKENS], len: 0 };
        tokens.push(FIRST);
        let mut begin = 0;
        while begin < self.len {
            let rest = self.places.get(begin + 1..self.len).unwrap_or_default();
            let end = begin + 1 + rest.iter().take_while(|place| !place.begins).count();
            let before = tokens.len;
            if !self.push_word(begin, end, &mut tokens) {
                tokens.len = before;
                tokens.push(UNKNOWN);
            }
            begin = end;
        }
        tokens.push(LAST);
        if tokens.len > MAX_TOKENS { Err(Unusable::ManyTokens(tokens.len)) } else { Ok(tokens) }
    }

    /// Appends the tokens of a word. Returns whether it has any.
    fn push_word(&self, begin: usize, end: usize, tokens: &mut Tokens) -> bool {
        let bytes = self.bytes.get(begin..end).unwrap_or_default();
        // All bytes of a character but the first one are 0b10xx_xxxx.
        let characters = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let mut at = begin;
        while at < end && characters <= MAX_WORD {
            let Some(&Place { len: len @ 1.., id, .. }) = self.places.get(at) else { return false };
            tokens.push(id);
            at += usize::from(len);
        }
        at == end
    }
}
