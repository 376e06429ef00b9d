//! Parses the header of a `.npy` file: a dictionary in Python's syntax, which is never evaluated.

use crate::text::quoted;

/// The three members of the dictionary.
pub struct Dict<'t> {
    pub descr: &'t str,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

/// The largest number of dimensions that any version of numpy has had.
const MOST_DIMS: usize = 64;

/// # Errors
/// Describes the error, as the end of a sentence.
pub fn parse(text: &str) -> Result<Dict<'_>, String> {
    let mut rest = Rest(text);
    let (mut descr, mut order, mut shape) = (None, None, None);
    rest.expect("{")?;
    while !rest.takes("}") {
        let key = rest.string()?;
        rest.expect(":")?;
        let is_new = match key {
            "descr" => descr.replace(rest.descr()?).is_none(),
            "fortran_order" => order.replace(rest.boolean()?).is_none(),
            "shape" => shape.replace(rest.shape()?).is_none(),
            _ => return Err(format!("has an unknown member {}", quoted(key))),
        };
        if !is_new {
            return Err(format!("has a duplicate member {}", quoted(key)));
        }
        if !rest.takes(",") {
            rest.expect("}")?;
            break;
        }
    }
    if let Some(next) = rest.next() {
        return Err(format!("continues after its dictionary with {next}"));
    }
    Ok(Dict {
        descr: descr.ok_or("has no \"descr\"")?,
        fortran_order: order.ok_or("has no \"fortran_order\"")?,
        shape: shape.ok_or("has no \"shape\"")?,
    })
}

/// The text that has not been parsed.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Returns the next character, after spaces, for a message.
    fn next(&mut self) -> Option<String> {
        self.takes("");
        self.0.chars().next().map(|character| quoted(&character.to_string()))
    }

    fn takes(&mut self, token: &str) -> bool {
        self.0 = self.0.trim_start_matches([' ', '\t', '\r', '\n']);
        self.0.strip_prefix(token).map(|rest| self.0 = rest).is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(self.misplaced(&quoted(token))) }
    }

    /// Describes what is there instead of this.
    fn misplaced(&mut self, expected: &str) -> String {
        match self.next() {
            None => format!("ends where {expected} belongs"),
            Some(next) => format!("has {next} where {expected} belongs"),
        }
    }

    /// Parses a string without escapes; no header needs one.
    fn string(&mut self) -> Result<&'t str, String> {
        let quote = ["'", "\""].into_iter().find(|quote| self.takes(quote));
        let quote = quote.ok_or_else(|| self.misplaced("a string"))?;
        let (text, rest) = self.0.split_once(quote).ok_or("has a string that does not end")?;
        self.0 = rest;
        if text.contains('\\') { Err("has an escape in a string".into()) } else { Ok(text) }
    }

    fn descr(&mut self) -> Result<&'t str, String> {
        self.takes("");
        if self.0.starts_with(['[', '(', '{']) {
            let fields = quoted(&self.0.chars().take(40).collect::<String>());
            return Err(format!("describes records, which safetensors does not support: {fields}…"));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let found = [("True", true), ("False", false)].into_iter().find(|(word, _)| self.takes(word));
        found.map(|(_, value)| value).ok_or_else(|| self.misplaced("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut dims = Vec::new();
        self.expect("(")?;
        while !self.takes(")") {
            if dims.len() == MOST_DIMS {
                return Err(format!("has more than {MOST_DIMS} dimensions"));
            }
            dims.push(self.number()?);
            match self.takes(",") {
                true => {}
                false if dims.len() == 1 => return Err("has a shape that is not a tuple".into()),
                false => return self.expect(")").map(|()| dims),
            }
        }
        Ok(dims)
    }

    /// Parses a number; Python 2 wrote an `L` after long ones.
    fn number(&mut self) -> Result<u64, String> {
        self.takes("");
        let len = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(len);
        if digits.is_empty() {
            return Err(self.misplaced("a dimension"));
        }
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().map_err(|_| "has a dimension that does not fit into 64 bits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn headers_are_parsed_or_rejected() {
        let with_shape = |shape: &str| format!("{{'descr':'<f4','fortran_order':False,'shape':{shape}}}");
        for (text, expected) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", "<f4 false [3, 4]"),
            ("{\"shape\":(),\"descr\":\"|b1\",\"fortran_order\":True}", "|b1 true []"),
            ("{ 'descr' : '>i8' , 'fortran_order' : False , 'shape' : (10L,) , } ", ">i8 false [10]"),
            (&with_shape("(18446744073709551615, 0)"), "<f4 false [18446744073709551615, 0]"),
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
            ("{'descr': __import__('os')}", "has \"_\" where a string belongs"),
            (&with_shape("(3)"), "has a shape that is not a tuple"),
            (&with_shape("(-3,)"), "has \"-\" where a dimension belongs"),
            (&with_shape("(3,,)"), "has \",\" where a dimension belongs"),
            (&with_shape("(99999999999999999999,)"), "has a dimension that does not fit into 64 bits"),
            (&with_shape(&format!("({})", "1,".repeat(65))), "has more than 64 dimensions"),
            (&with_shape("3"), "has \"3\" where \"(\" belongs"),
        ] {
            let found =
                parse(text).map(|dict| format!("{} {} {:?}", dict.descr, dict.fortran_order, dict.shape));
            assert_eq!(found.unwrap_or_else(|error| error), expected, "{text}");
        }
    }
}
