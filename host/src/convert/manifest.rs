//! `--manifest`: what came from where, with sums.

use super::done::tied;
use super::input::Input;
use super::plan::{Plan, Planned};
use crate::context::Context;
use crate::error::Error;
use crate::json::{Object, array};
use crate::output::file::Product;
use crate::pack::Renames;
use crate::tensor::sums::sum_at;
use crate::text::number::digits;
use std::path::{Path, PathBuf};

/// The path, the length and the SHA-256 of each file of each input.
pub type Sums = Vec<Vec<(PathBuf, u64, String)>>;

/// A manifest that is being written. It appears only when complete.
pub struct Manifest {
    product: Product,
    outputs: u64,
}

/// A finished output and what it was made of.
pub struct Made<'m> {
    pub output: &'m Path,
    pub input: &'m Input,
    pub plan: &'m Plan,
    pub renames: &'m Renames,
    pub files: &'m Sums,
    /// The SHA-256 of each tensor of the output.
    pub tensors: &'m [[u8; 32]],
}

impl Manifest {
    /// # Errors
    /// As [`Product::create`].
    pub fn create(context: &Context, path: &Path, force: bool) -> Result<Self, Error> {
        let mut product = Product::create(context, path, force)?;
        product.put(b"{\"outputs\":[")?;
        Ok(Self { product, outputs: 0 })
    }

    /// Adds an output, whose file is read again.
    ///
    /// # Errors
    /// It cannot be read; those of writing; interruption by the user.
    pub fn add(&mut self, context: &Context, made: &Made<'_>) -> Result<(), Error> {
        let work = context.work("summing", 0);
        let (len, sum) = sum_at(context, made.output, &work)?;
        let inputs = made.files.iter().flatten().map(|(path, len, sum)| file(path, *len, sum).end());
        let object = file(made.output, len, &sum).raw("inputs", &array(inputs)).end();
        let separator = if self.outputs > 0 { ",\n" } else { "\n" };
        // The lists of tensors are the last members, so that they can be written piece by piece.
        let head = object.strip_suffix('}').unwrap_or(&object);
        self.product.put(format!("{separator}{head},\"tied\":[").as_bytes())?;
        for (index, tie) in tied(made.input, made.renames).enumerate() {
            let separator = if index > 0 { "," } else { "" };
            self.product.put(format!("{separator}{tie}").as_bytes())?;
        }
        self.product.put(b"],\"tensors\":[")?;
        for (index, (planned, sum)) in made.plan.tensors.iter().zip(made.tensors).enumerate() {
            let separator = if index > 0 { ",\n" } else { "\n" };
            let line = made.tensor(planned, sum);
            self.product.put(format!("{separator}{line}").as_bytes())?;
        }
        self.outputs += 1;
        self.product.put(b"]}")
    }

    /// Puts the manifest in place.
    ///
    /// # Errors
    /// As [`Product::finish`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.product.put(b"]}\n")?;
        self.product.finish()
    }
}

impl Made<'_> {
    fn tensor(&self, planned: &Planned, sum: &[u8; 32]) -> String {
        let (array, source) = (planned.array(self.input), planned.source());
        let number = self.input.number_of_file(source);
        let before: usize = self.files.iter().take(number).map(Vec::len).sum();
        let input = before + self.input.number_in_file(source);
        Object::new()
            .text("name", array.name)
            .text("dtype", array.dtype.name())
            .raw("shape", &super::shape(array.dims))
            .text("sha256", &digits(sum))
            .number("input", input as u64)
            .text("was", self.input.own_name(source))
            .text("from", self.input.own_type(source))
            .end()
    }
}

fn file(path: &Path, len: u64, sum: &str) -> Object {
    Object::new().text("file", &path.to_string_lossy()).number("bytes", len).text("sha256", sum)
}
