//! What is said about a file that is not sound.

use crate::excerpt::Excerpt;
use crate::failure::NotRead;
use crate::json::Object;
use crate::locate::tensor_at;
use crate::source::Source;
use crate::text::quoted;
use embedded_safetensors::Error;
use std::fmt;

/// A fault, with the tensor it concerns and the text around it, where there are any.
#[derive(Debug)]
pub struct Report {
    error: Error,
    tensor: Option<String>,
    excerpt: Option<Excerpt>,
}

impl Report {
    /// Looks up what the error does not carry with it.
    pub fn new(source: &mut Source, error: Error) -> Result<Self, NotRead> {
        let excerpt = Excerpt::of(source, &error)?;
        let tensor = if excerpt.is_some() { tensor_at(source, error.at)? } else { None };
        source.check_unchanged()?;
        Ok(Self { error, tensor, excerpt })
    }

    /// The stable text code.
    pub fn code(&self) -> &'static str {
        self.error.kind.code()
    }

    /// The byte of the file where the fault shows.
    pub fn at(&self) -> u64 {
        self.error.at
    }

    /// The tensor that is concerned.
    pub fn tensor(&self) -> Option<&str> {
        self.tensor.as_deref()
    }

    /// The same as members of a JSON object.
    pub fn members(&self, object: Object) -> Object {
        let object =
            object.text("code", self.code()).number("at", self.at()).text("message", &self.message());
        match self.tensor() {
            Some(name) => object.text("tensor", name),
            None => object,
        }
    }

    /// One sentence, with the tensor's name and the numbers.
    pub fn message(&self) -> String {
        let kind = self.error.kind;
        match &self.tensor {
            None => kind.to_string(),
            Some(name) => format!("tensor {}: {kind}", quoted(name)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}] at byte {}: {}", self.code(), self.at(), self.message())?;
        match &self.excerpt {
            Some(excerpt) => write!(f, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}
