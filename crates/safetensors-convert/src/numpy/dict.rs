//! Parses the header of a `.npy` file: a dictionary in Python's syntax, which is never evaluated.

use crate::text::quoted;

/// The three members of the dictionary.
#[derive(Debug, PartialEq, Eq)]
pub struct Dict {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

/// The largest number of dimensions that any version of numpy has had.
const MOST_DIMS: usize = 64;

/// # Errors
/// Describes the error, as the end of a sentence.
pub fn parse(text: &str) -> Result<Dict, String> {
    let mut parser = Parser { rest: text };
    let (mut descr, mut order, mut shape) = (None, None, None);
    parser.expect('{')?;
    while !parser.takes('}') {
        let key = parser.string()?;
        parser.expect(':')?;
        match key {
            "descr" => once(&mut descr, key, parser.descr()?)?,
            "fortran_order" => once(&mut order, key, parser.boolean()?)?,
            "shape" => once(&mut shape, key, parser.shape()?)?,
            _ => return Err(format!("has an unknown member {}", quoted(key))),
        }
        if !parser.takes(',') {
            parser.expect('}')?;
            break;
        }
    }
    parser.skip_spaces();
    if let Some(character) = parser.rest.chars().next() {
        return Err(format!("continues after its dictionary with {}", quoted(&character.to_string())));
    }
    Ok(Dict {
        descr: descr.ok_or("has no \"descr\"")?,
        fortran_order: order.ok_or("has no \"fortran_order\"")?,
        shape: shape.ok_or("has no \"shape\"")?,
    })
}

fn once<T>(member: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match member.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("has a duplicate member {}", quoted(key))),
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn takes(&mut self, character: char) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(character) {
            Some(rest) => self.rest = rest,
            None => return false,
        }
        true
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        if self.takes(character) {
            return Ok(());
        }
        Err(self.misplaced(&quoted(&character.to_string())))
    }

    /// Describes what is there instead of this.
    fn misplaced(&self, expected: &str) -> String {
        match self.rest.chars().next() {
            None => format!("ends where {expected} belongs"),
            Some(character) => format!("has {} where {expected} belongs", quoted(&character.to_string())),
        }
    }

    /// Parses a string without escapes; no header needs one.
    fn string(&mut self) -> Result<&'t str, String> {
        for quote in ['\'', '"'] {
            if self.takes(quote) {
                let (text, rest) = self.rest.split_once(quote).ok_or("has a string that does not end")?;
                self.rest = rest;
                return if text.contains('\\') { Err("has an escape in a string".into()) } else { Ok(text) };
            }
        }
        Err(self.misplaced("a string"))
    }

    fn descr(&mut self) -> Result<String, String> {
        self.skip_spaces();
        if self.rest.starts_with(['[', '(', '{']) {
            let fields: String = self.rest.chars().take(40).collect();
            return Err(format!(
                "describes records, which safetensors does not support: {}…",
                quoted(&fields)
            ));
        }
        Ok(self.string()?.to_owned())
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.misplaced("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut dims = Vec::new();
        self.expect('(')?;
        while !self.takes(')') {
            if dims.len() == MOST_DIMS {
                return Err(format!("has more than {MOST_DIMS} dimensions"));
            }
            dims.push(self.number()?);
            let has_comma = self.takes(',');
            if !has_comma && dims.len() == 1 {
                return Err("has a shape that is not a tuple".into());
            }
            if !has_comma {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }

    /// Parses a number; Python 2 wrote an `L` after long ones.
    fn number(&mut self) -> Result<u64, String> {
        self.skip_spaces();
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(len);
        if digits.is_empty() {
            return Err(self.misplaced("a dimension"));
        }
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().map_err(|_| "has a dimension that does not fit into 64 bits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn dict(text: &str) -> String {
        match parse(text) {
            Ok(dict) => format!("{} {} {:?}", dict.descr, dict.fortran_order, dict.shape),
            Err(error) => error,
        }
    }

    #[test]
    fn headers_of_writers_are_parsed() {
        for (text, read) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", "<f4 false [3, 4]"),
            ("{\"shape\":(),\"descr\":\"|b1\",\"fortran_order\":True}", "|b1 true []"),
            ("{ 'descr' : '>i8' , 'fortran_order' : False , 'shape' : (10L,) , } ", ">i8 false [10]"),
            (
                "{'descr':'<f8','fortran_order':False,'shape':(18446744073709551615, 0)}",
                "<f8 false [18446744073709551615, 0]",
            ),
        ] {
            assert_eq!(dict(text), read);
        }
    }

    #[test]
    fn invalid_headers_are_errors() {
        let with_shape = |shape: &str| format!("{{'descr':'<f4','fortran_order':False,'shape':{shape}}}");
        for (text, error) in [
            ("", "ends where \"{\" belongs"),
            ("{", "ends where a string belongs"),
            ("{}", "has no \"descr\""),
            ("{'descr'", "ends where \":\" belongs"),
            ("{'descr", "has a string that does not end"),
            ("{'descr': '<f4'}x", "continues after its dictionary with \"x\""),
            ("{'descr': '<f4', 'descr': '<f4'}", "has a duplicate member \"descr\""),
            ("{'de\\x73cr': '<f4'}", "has an escape in a string"),
            ("{'other': 1}", "has an unknown member \"other\""),
            ("{'fortran_order': 0}", "has \"0\" where True or False belongs"),
            (
                "{'descr': [('a', '<f4')]}",
                "describes records, which safetensors does not support: \"[('a', '<f4')]}\"…",
            ),
            ("{'descr': __import__('os')}", "has \"_\" where a string belongs"),
            (&with_shape("(3)"), "has a shape that is not a tuple"),
            (&with_shape("(-3,)"), "has \"-\" where a dimension belongs"),
            (&with_shape("(3,,)"), "has \",\" where a dimension belongs"),
            (&with_shape("(99999999999999999999,)"), "has a dimension that does not fit into 64 bits"),
            (&with_shape(&format!("({})", "1,".repeat(65))), "has more than 64 dimensions"),
            (&with_shape("3"), "has \"3\" where \"(\" belongs"),
        ] {
            assert_eq!(dict(text), error, "{text}");
        }
    }
}
