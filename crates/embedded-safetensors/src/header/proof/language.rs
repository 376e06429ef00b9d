//! The language of headers, written a second time: RFC 8259 for JSON, RFC 3629 for UTF-8, the schema of
//! safetensors, the limits, and where each error is reported. It has nothing in common with the scanner, not
//! even imports: an LL(1) grammar as text, and a pushdown automaton that reads it.
//!
//! * `name := …` allows white space before the name, `name = …` does not. The next character selects the
//!   first alternative that begins with it or with its class; one that begins with `nothing` or a name takes
//!   no character.
//! * `name ? …` selects an alternative by the string that has just ended.
//! * `!code` is an error at the character before it, `!code@` at the start of the token, `!code-5` five bytes
//!   earlier. A character that no alternative begins with is `json.syntax`.
//! * `once`, `have` and `fits` are conditions: if they hold, the error after them is skipped.
//! * The header may end where only `tail` is left.

extern crate std;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::string::String;
use std::vec::Vec;

const GRAMMAR: &str = r#"
header        := { first_name tail | value !header.type
first_name    := " begin string name | }
next_name     := " begin string name
more_names    := , next_name | }
name           ? __metadata__ once:8 !metadata.twice@ colon metadata | else colon entry
tail          := any !json.trailing
colon         := :
entry         := { clear:7 first_field | [ !entry.array | value !entry.type
first_field   := " begin string field | } have:7 !entry.missing more_names
next_field    := " begin string field
more_fields   := , next_field | } have:7 !entry.missing more_names
field          ? dtype once:1 !entry.repeated@ colon dtype_value more_fields |
                 shape once:2 !entry.repeated@ colon shape more_fields |
                 data_offsets once:4 !entry.repeated@ colon offsets more_fields |
                 else colon skipped more_fields
dtype_value   := " begin string dtype | { !dtype.object | value !dtype.type
dtype          ? BOOL | F4 | F6_E2M3 | F6_E3M2 | U8 | I8 | F8_E5M2 | F8_E4M3 | F8_E8M0 | F8_E4M3FNUZ |
                 F8_E5M2FNUZ | I16 | U16 | F16 | BF16 | I32 | U32 | F32 | C64 | F64 | I64 | U64 |
                 else !dtype.unknown@
shape         := [ first_dim | value !shape.type
first_dim     := ] | dim more_dims
more_dims     := , dim more_dims | ]
dim           := 0 begin dim_zero end | nonzero begin dim_digits end | value !shape.integer
dim_zero       = digit !json.number | .eE !shape.integer | nothing
dim_digits     = digit fits !shape.range@ dim_digits | .eE !shape.integer | nothing
offsets       := [ first_offset | value !offsets.type
first_offset  := ] !offsets.count | offset second
second        := , offset offsets_end | ] !offsets.count
offsets_end   := ] | , !offsets.count
offset        := 0 begin offset_zero end | nonzero begin offset_digits end | value !offsets.integer
offset_zero    = digit !json.number | .eE !offsets.integer | nothing
offset_digits  = digit fits !offsets.range@ offset_digits | .eE !offsets.integer | nothing
metadata      := { first_key | n u l l more_names | value !metadata.type
first_key     := " begin string colon text more_keys | } more_names
next_key      := " begin string colon text more_keys
more_keys     := , next_key | } more_names
text          := " begin string | value !metadata.value
skipped       := " begin string | { first_member | [ first_item | t r u e | f a l s e | n u l l |
                 - minus | 0 zero | nonzero integer
first_item    := ] | skipped more_items
more_items    := , skipped more_items | ]
first_member  := " begin string colon skipped more_members | }
next_member   := " begin string colon skipped more_members
more_members  := , next_member | }
minus          = 0 zero | nonzero integer | any !json.number
zero           = digit !json.number | . point_digits | eE exponent | nothing
integer        = digit integer | . point_digits | eE exponent | nothing
point_digits   = digit fraction | any !json.number
fraction       = digit fraction | eE exponent | nothing
exponent       = +- power | digit more_power | any !json.number
power          = digit more_power | any !json.number
more_power     = digit more_power | nothing
string         = " | \ escape string | control !json.control | any text_char string
escape         = "\/bfnrt other | u unit | any !json.escape
unit           = 0 unit_0 | dD unit_d | hex hex_3 other | any !json.escape
unit_0         = 0 unit_00 | hex hex_2 other | any !json.escape
unit_00        = 01234567 code ascii | hex hex_1 other | any !json.escape
ascii          = hex coded | any !json.escape
unit_d         = 01234567 hex_2 other | 89abAB hex_2 high | cdefCDEF hex_2 !json.surrogate-5 |
                 any !json.escape
high           = \ high_u | any !json.surrogate-6
high_u         = u low | any !json.surrogate-7
low            = dD low_d | hex hex_3 !json.surrogate-11 | any !json.escape
low_d          = cdefCDEF hex_2 other | hex hex_2 !json.surrogate-11 | any !json.escape
hex_3          = hex hex_2 | any !json.escape
hex_2          = hex hex_1 | any !json.escape
hex_1          = hex | any !json.escape
"#;

/// Classes of characters. Any other text is a class of its own characters; [`matches`] has the exceptions.
const CLASSES: [(&str, &str); 5] = [
    ("space", " \t\n\r"),
    ("value", "{[\"-0123456789tfn"),
    ("digit", "0123456789"),
    ("nonzero", "123456789"),
    ("hex", "0123456789abcdefABCDEF"),
];

/// RFC 3629: the first bytes of characters, how many follow, and the range of the second byte.
const CHARACTERS: [(u8, u8, u8, u8, u8); 8] = [
    (0xC2, 0xDF, 1, 0x80, 0xBF),
    (0xE0, 0xE0, 2, 0xA0, 0xBF),
    (0xE1, 0xEC, 2, 0x80, 0xBF),
    (0xED, 0xED, 2, 0x80, 0x9F),
    (0xEE, 0xEF, 2, 0x80, 0xBF),
    (0xF0, 0xF0, 3, 0x90, 0xBF),
    (0xF1, 0xF3, 3, 0x80, 0xBF),
    (0xF4, 0xF4, 3, 0x80, 0x8F),
];

/// One more open bracket is an error.
pub(super) const MAX_DEPTH: u8 = 127;

/// The largest number of shapes and offsets.
const LARGEST: &[u8; 20] = b"18446744073709551615";

/// Stands for every character outside ASCII.
const NON_ASCII: u8 = 0x80;

/// A symbol or a word of the grammar.
type Word = &'static str;

/// The code of an error, and how many bytes it is before the byte that was read last; nothing if it is at the
/// start of the token.
pub(super) type Failure = (Word, Option<u64>);

/// The alternatives of a name.
enum Rule {
    /// For each character.
    ByCharacter(Vec<Option<Vec<Word>>>),
    ByString(Vec<Vec<Word>>),
}

pub(super) struct Language(HashMap<Word, Rule>);

/// All that the automaton knows between two bytes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Configuration {
    stack: Vec<Word>,
    /// How many brackets are open.
    pub(super) depth: u8,
    /// The bits of `once`.
    seen: u8,
    /// The string so far, if it may still select an alternative.
    string: Option<Word>,
    /// The third digit of an escape of an ASCII character.
    code: u8,
    /// How many digits a number has, and how they compare with as many of the largest number.
    digits: (usize, Option<Ordering>),
    /// Of a character: the bytes so far, how many are missing, and the range of the next.
    character: (u64, u8, u8, u8),
    /// The error if that character is valid.
    pending: Option<(Word, u64)>,
}

/// Whether a character is in a class.
fn matches(class: Word, character: u8) -> bool {
    let members = CLASSES.iter().find(|(name, _)| *name == class).map_or(class, |(_, members)| members);
    match class {
        "any" | "nothing" => true,
        "control" => character < 0x20,
        _ => members.as_bytes().contains(&character),
    }
}

impl Language {
    pub(super) fn new() -> Self {
        let text: Word = String::leak(GRAMMAR.replace("|\n", "| "));
        let names: Vec<Word> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        let rule = |line: Word| {
            let (name, rest) = line.split_once(' ')?;
            let (operator, alternatives) = rest.trim_start().split_once(' ')?;
            let words = |words: Word| words.split_whitespace().collect::<Vec<_>>();
            let mut all: Vec<_> = alternatives.split(" | ").map(words).collect();
            if operator == "?" {
                return Some((name, Rule::ByString(all)));
            }
            all.iter_mut()
                .filter(|words| names.contains(&words[0]))
                .for_each(|words| words.insert(0, "nothing"));
            if operator == ":=" {
                all.insert(0, std::vec!["space", name]);
            }
            let select = |character| all.iter().find(|words| matches(words[0], character)).cloned();
            Some((name, Rule::ByCharacter((0..=NON_ASCII).map(select).collect())))
        };
        Self(text.lines().filter_map(rule).collect())
    }

    /// Returns the configuration before the first byte of a header.
    pub(super) fn start() -> Configuration {
        Configuration { stack: std::vec!["header"], ..Configuration::default() }
    }

    /// Takes a byte. Returns whether it begins a string or a number.
    pub(super) fn take(&self, now: &mut Configuration, byte: u8) -> Result<bool, Failure> {
        let (taken, missing, low, high) = now.character;
        match CHARACTERS.iter().find(|row| (row.0..=row.1).contains(&byte)) {
            _ if missing > 0 && !(low..=high).contains(&byte) => return Err(("text.utf8", Some(taken))),
            _ if missing > 1 => now.character = (taken + 1, missing - 1, 0x80, 0xBF),
            _ if missing > 0 => {
                now.character = (0, 0, 0, 0);
                return now.pending.map_or(Ok(false), |(code, back)| Err((code, Some(taken + back))));
            }
            _ if byte < NON_ASCII => return self.take_character(now, byte),
            None => return Err(("text.utf8", Some(0))),
            Some(&(_, _, missing, low, high)) => {
                // An error is reported when the character is complete, if it is UTF-8.
                if let Err((code, back)) = self.take_character(now, NON_ASCII) {
                    *now = Configuration { pending: Some((code, back.expect("inside"))), ..Self::start() };
                }
                now.character = (1, missing, low, high);
            }
        }
        Ok(false)
    }

    fn take_character(&self, now: &mut Configuration, character: u8) -> Result<bool, Failure> {
        let (mut taken, mut begins) = (false, false);
        loop {
            let top = *now.stack.last().expect("the end of the header");
            let (head, rest) = match self.0.get(top) {
                Some(Rule::ByString(all)) => {
                    let chosen = all.iter().find(|words| now.string == Some(words[0]) || words[0] == "else");
                    now.string = None;
                    chosen.and_then(|words| words.split_first()).expect("any other string")
                }
                None if top.len() > 1 => {
                    now.stack.pop();
                    begins |= top == "begin";
                    if self.act(now, top, character)? {
                        now.stack.pop();
                    }
                    continue;
                }
                _ if taken => return Ok(begins),
                Some(Rule::ByCharacter(next)) => {
                    let words = next[usize::from(character)].as_ref().ok_or(("json.syntax", Some(0)))?;
                    taken = words[0] != "nothing";
                    words.split_first().expect("a character")
                }
                None if top.as_bytes() != [character] => return Err(("json.syntax", Some(0))),
                None => {
                    taken = true;
                    (&top, &[][..])
                }
            };
            now.stack.pop();
            now.stack.extend(rest.iter().rev());
            match *head {
                "{" | "[" if now.depth == MAX_DEPTH => return Err(("json.depth", Some(0))),
                "{" | "[" => now.depth += 1,
                "}" | "]" => now.depth -= 1,
                _ => {}
            }
        }
    }

    /// Acts after a character. Returns whether the next symbol, an error, must be skipped.
    fn act(&self, now: &mut Configuration, action: Word, character: u8) -> Result<bool, Failure> {
        let (name, bits) = action.split_once(':').unwrap_or((action, "0"));
        let bits: u8 = bits.parse().expect("a number");
        match name {
            "begin" if character == b'"' => now.string = self.selected_by(now).map(|_| ""),
            "begin" => now.digits = (1, Some(character.cmp(&LARGEST[0]))),
            "end" => now.digits = (0, None),
            "fits" => {
                let (digits, order) = now.digits;
                let Some(limit) = LARGEST.get(digits) else { return Ok(false) };
                now.digits = (digits + 1, order.map(|order| order.then(character.cmp(limit))));
                return Ok(now.digits != (LARGEST.len(), Some(Ordering::Greater)));
            }
            "text_char" => now.string = self.longer(now, character),
            "code" => now.code = character - b'0',
            "coded" => {
                let digit = char::from(character).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                now.string = self.longer(now, now.code << 4 | digit.expect("a digit"));
                now.code = 0;
            }
            // No word has such a character.
            "other" => now.string = None,
            "clear" => now.seen &= !bits,
            "have" => return Ok(now.seen & bits == bits),
            "once" => {
                now.seen ^= bits;
                return Ok(now.seen & bits != 0);
            }
            _ => return Err(failure(name)),
        }
        Ok(false)
    }

    /// Returns the alternatives that the string selects.
    fn selected_by(&self, now: &Configuration) -> Option<&Vec<Vec<Word>>> {
        let after = now.stack.iter().rev().nth(1)?;
        if let Some(Rule::ByString(all)) = self.0.get(after) { Some(all) } else { None }
    }

    /// Returns the string with one more character, if it may still select an alternative.
    fn longer(&self, now: &Configuration, character: u8) -> Option<Word> {
        let string = now.string?;
        let mut words = self.selected_by(now)?.iter().map(|words| words[0]).filter(|word| *word != "else");
        let is_next = |word: &Word| word.as_bytes().get(string.len()) == Some(&character);
        words.find(|word| word.starts_with(string) && is_next(word))?.get(..=string.len())
    }

    /// Ends the header.
    pub(super) fn end(now: &Configuration) -> Result<(), Failure> {
        match now.character {
            (taken, 1.., ..) => Err(("text.utf8", Some(taken))),
            _ if now.stack == ["tail"] => Ok(()),
            _ => Err(("json.end", Some(0))),
        }
    }
}

fn failure(symbol: Word) -> Failure {
    let error = symbol.strip_prefix('!').unwrap_or_else(|| panic!("{symbol} has no meaning"));
    match (error.split_once('-'), error.strip_suffix('@')) {
        (Some((code, back)), _) => (code, Some(back.parse().expect("a number"))),
        (_, Some(code)) => (code, None),
        _ => (error, Some(0)),
    }
}
