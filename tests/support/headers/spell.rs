//! From a model to the tokens of a JSON text, in one of many spellings.

use crate::random::Random;

use crate::headers::model::{Member, Model, Tensor};

/// One token: a bracket, a comma, a string, a number, a run of whitespace.
pub type Token = Vec<u8>;

/// How often the spelling is not canonical, in percent.
struct Odds {
    whitespace: u64,
    escapes: u64,
    unknown_fields: u64,
    oddities: u64,
}

struct Speller<'r> {
    random: &'r mut Random,
    odds: Odds,
    tokens: Vec<Token>,
}

/// Numbers for unknown fields: all of the grammar, and one too large for a double.
const NUMBERS: [&str; 12] = [
    "0",
    "-0",
    "7",
    "-1.5",
    "1e5",
    "1E-400",
    "0.0e+0",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e999",
    "123456789012345678901234567890.5",
];

/// Returns the tokens of the header.
pub fn spell(random: &mut Random, model: &Model) -> Vec<Token> {
    let odds = Odds {
        whitespace: random.pick(&[0, 0, 3, 40]),
        escapes: random.pick(&[0, 0, 5, 60]),
        unknown_fields: random.pick(&[0, 0, 10, 50]),
        oddities: random.pick(&[0, 0, 0, 0, 0, 0, 0, 20]),
    };
    let mut speller = Speller { random, odds, tokens: vec![] };
    speller.header(model);
    speller.tokens
}

impl Speller<'_> {
    fn token(&mut self, text: &str) {
        self.whitespace();
        self.tokens.push(text.as_bytes().to_vec());
    }

    fn whitespace(&mut self) {
        if self.random.percent(self.odds.whitespace) {
            let space = self.random.pick(&[" ", "\t", "\n", "\r", "    "]);
            self.tokens.push(space.as_bytes().to_vec());
        }
    }

    /// Writes members or items with brackets and commas.
    fn list<T>(&mut self, brackets: [&str; 2], items: &[T], mut spell: impl FnMut(&mut Self, &T)) {
        self.token(brackets[0]);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.token(",");
            }
            spell(self, item);
        }
        self.token(brackets[1]);
    }

    fn header(&mut self, model: &Model) {
        self.list(["{", "}"], &model.members, |speller, member| match member {
            Member::Tensor(tensor) => speller.tensor(tensor),
            Member::Metadata(pairs) => speller.metadata(pairs.as_deref()),
        });
        self.whitespace();
    }

    fn key(&mut self, text: &str) {
        self.string(text);
        self.token(":");
    }

    fn metadata(&mut self, pairs: Option<&[(String, String)]>) {
        self.key("__metadata__");
        match pairs {
            None => self.token("null"),
            Some(pairs) => self.list(["{", "}"], pairs, |speller, (key, value)| {
                speller.key(key);
                speller.string(value);
            }),
        }
    }

    fn tensor(&mut self, tensor: &Tensor) {
        self.key(&tensor.name);
        let mut fields = vec!["dtype", "shape", "data_offsets"];
        if self.random.percent(self.odds.oddities) {
            return self.list(["[", "]"], &fields, |speller, field| speller.field(tensor, field));
        }
        while self.random.percent(self.odds.unknown_fields) {
            fields.push(self.random.pick(&["x", "", "Dtype", "offsets", "shap\u{e9}"]));
        }
        if self.random.percent(50) {
            self.random.shuffle(&mut fields);
        }
        self.list(["{", "}"], &fields, |speller, field| {
            speller.key(field);
            speller.field(tensor, field);
        });
    }

    fn field(&mut self, tensor: &Tensor, field: &str) {
        match field {
            "dtype" => self.dtype(tensor.dtype.name()),
            "shape" => self.numbers(&tensor.shape),
            "data_offsets" => self.numbers(&tensor.offsets),
            _ if self.random.percent(2) => self.deep(),
            _ => self.anything(4),
        }
    }

    fn dtype(&mut self, name: &str) {
        if self.random.percent(self.odds.oddities) {
            return self.list(["{", "}"], &[name], |speller, name| {
                speller.key(name);
                speller.token("null");
            });
        }
        self.string(name);
    }

    fn numbers(&mut self, numbers: &[u64]) {
        self.list(["[", "]"], numbers, |speller, number| speller.token(&number.to_string()));
    }

    /// Writes nested brackets about as deep as allowed.
    fn deep(&mut self) {
        let depth = 120 + self.random.below(10);
        let (open, close) = self.random.pick(&[("[", "]"), ("{\"\":", "}")]);
        let bottom = if open == "[" { "" } else { "0" };
        self.token(&format!("{}{bottom}{}", open.repeat(depth), close.repeat(depth)));
    }

    fn anything(&mut self, depth: u32) {
        let items = vec![(); self.random.below(3)];
        match self.random.below(if depth == 0 { 3 } else { 5 }) {
            0 => {
                let number = self.random.pick(&NUMBERS);
                self.token(number);
            }
            1 => self.string("some \u{e9} text"),
            2 => {
                let literal = self.random.pick(&["null", "true", "false"]);
                self.token(literal);
            }
            3 => self.list(["[", "]"], &items, |speller, ()| speller.anything(depth - 1)),
            _ => self.list(["{", "}"], &items, |speller, ()| {
                speller.key("k");
                speller.anything(depth - 1);
            }),
        }
    }

    fn string(&mut self, text: &str) {
        let mut token = String::from("\"");
        for character in text.chars() {
            self.character(&mut token, character);
        }
        token.push('"');
        self.token(&token);
    }

    fn character(&mut self, token: &mut String, character: char) {
        if self.random.percent(self.odds.escapes) {
            return hexadecimal(token, character);
        }
        match character {
            '"' | '\\' => token.extend(['\\', character]),
            '/' if self.random.percent(50) => token.push_str("\\/"),
            '\n' if self.random.percent(50) => token.push_str("\\n"),
            '\0'..'\u{20}' => hexadecimal(token, character),
            _ => token.push(character),
        }
    }
}

fn hexadecimal(token: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        token.push_str(&format!("\\u{unit:04x}"));
    }
}
