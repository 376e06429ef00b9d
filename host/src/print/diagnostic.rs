//! Reports about invalid files.

use crate::error::not_read::NotRead;
use crate::input::foreign::{hint, seen_format};
use crate::input::locate::tensor_at;
use crate::input::source::Source;
use crate::json::Object;
use crate::print::excerpt::Excerpt;
use crate::text::quoted;
use embedded_safetensors::Error;
use std::fmt;

/// An error, with the tensor concerned and the text around it, if any.
#[derive(Debug)]
pub struct Report {
    error: Error,
    tensor: Option<String>,
    excerpt: Option<Excerpt>,
    /// The format that the file seems to have instead.
    hint: Option<String>,
    /// Its name, if `convert` reads it.
    pub seen: Option<&'static str>,
}

impl Report {
    /// Looks up the details that the error does not contain.
    pub fn new(source: &mut Source, error: Error) -> Result<Self, NotRead> {
        let excerpt = Excerpt::of(source, &error)?;
        let tensor = if excerpt.is_some() { tensor_at(source, error.at)? } else { None };
        let (hint, seen) = (hint(source), seen_format(source));
        source.check_unchanged()?;
        Ok(Self { error, tensor, excerpt, hint, seen })
    }

    /// The stable error code.
    pub fn code(&self) -> &'static str {
        self.error.kind.code()
    }

    /// The byte offset of the error in the file.
    pub fn at(&self) -> u64 {
        self.error.at
    }

    /// The tensor concerned.
    pub fn tensor(&self) -> Option<&str> {
        self.tensor.as_deref()
    }

    /// The report as members of a JSON object.
    pub fn members(&self, object: Object) -> Object {
        let object =
            object.text("code", self.code()).number("at", self.at()).text("message", &self.message());
        let named = [("tensor", self.tensor()), ("hint", self.hint.as_deref())];
        named.iter().fold(object, |object, (name, text)| match text {
            Some(text) => object.text(name, text),
            None => object,
        })
    }

    /// One sentence, with the tensor's name and the numbers.
    pub fn message(&self) -> String {
        match &self.tensor {
            // The text of an error can say more than that of its kind: `error[CODE] at byte N: SENTENCE`.
            None => self.error.to_string().splitn(2, ": ").last().unwrap_or_default().to_owned(),
            Some(name) => format!("tensor {}: {}", quoted(name), self.error.kind),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, at) = (self.code(), self.at());
        // What is wrong with a header that is none is no help.
        if let Some(hint) = &self.hint {
            return write!(f, "error[{code}] at byte {at}: {hint}");
        }
        write!(f, "error[{code}] at byte {at}: {}", self.message())?;
        self.excerpt.as_ref().map_or(Ok(()), |excerpt| write!(f, "\n{excerpt}"))
    }
}
