//! Outputs of a conversion: a model, an array, an archive or a GGUF.

use super::change::Changer;
use super::plan::{Plan, Planned};
use crate::args::kind::Kind;
use crate::error::Error;
use crate::output::file::Product;
use crate::output::writer::{Take, begin, fill, planned};
use embedded_safetensors::write::{FileSpec, TensorSpec};
use safetensors_convert::gguf;
use safetensors_convert::numpy::Header;
use safetensors_convert::zip::Archive;

impl Plan<'_> {
    /// The length of the file that would be written, if it is known before.
    ///
    /// # Errors
    /// The file is impossible.
    pub fn len(&self) -> Result<Option<u64>, Error> {
        match (self.kind, &self.tensors[..]) {
            (Kind::Model, _) => {
                let (specs, pairs) = (self.specs(), self.pairs());
                planned(spec(&specs, pairs.as_deref()), true, self.output, |plan| Ok(Some(plan.file_len())))
            }
            (Kind::Array, [only]) => Ok(Some(header(only).len() as u64 + only.byte_len())),
            (Kind::Gguf, _) => Ok(Some(self.gguf()?.file_len())),
            _ => Ok(None),
        }
    }

    /// The number of keys of metadata that the output cannot hold.
    pub fn lost(&self) -> usize {
        let pairs = self.metadata.as_deref().unwrap_or_default();
        // A plan of a GGUF without tensors knows no raw types.
        let is_kept = |key: &str| match self.kind {
            Kind::Model => true,
            Kind::Gguf => key.starts_with("gguf.") || [gguf::TYPES, gguf::KEYS].contains(&key),
            Kind::Array | Kind::Archive => false,
        };
        pairs.iter().filter(|(key, _)| !is_kept(key)).count()
    }

    /// Writes the file with the bytes that `changer` makes, which is not yet in place then.
    ///
    /// # Errors
    /// Those of the input and the output; an error of a write may lack the name of the file.
    pub fn write<'i>(
        &'i self,
        mut product: Product,
        is_compressed: bool,
        changer: &mut Changer<'i>,
    ) -> Result<Product, Error> {
        match self.kind {
            Kind::Model => {
                let (specs, pairs) = (self.specs(), self.pairs());
                let (_, mut places) = begin(spec(&specs, pairs.as_deref()), (&mut product, self.output))?;
                drop(specs);
                // In plan order, so that the scales of a tensor follow it.
                places.sort_unstable_by_key(|(index, _)| *index);
                let make = |index: usize, take: Take<'_>| changer.make(&self.tensors[index], take);
                fill(places, (&mut product, self.output), make)?;
                Ok(product)
            }
            Kind::Array => {
                for planned in &self.tensors {
                    product.put(&header(planned))?;
                    changer.make(planned, &mut |bytes| product.put(bytes))?;
                }
                Ok(product)
            }
            Kind::Archive => {
                let mut archive = Archive::new(product, is_compressed);
                for planned in &self.tensors {
                    archive.add(&format!("{}.npy", planned.name), |out| {
                        out.write_all(&header(planned))?;
                        changer.make(planned, &mut |bytes| Ok(out.write_all(bytes)?))
                    })?;
                }
                Ok(archive.finish()?)
            }
            Kind::Gguf => {
                let layout = self.gguf()?;
                product.expect(layout.file_len());
                let mut writer = layout.begin(product)?;
                for planned in &self.tensors {
                    writer.write_with(|out| changer.make(planned, &mut |bytes| Ok(out.write_all(bytes)?)))?;
                }
                Ok(writer.finish()?)
            }
        }
    }

    /// The tensors, as a writer of models needs them.
    fn specs(&self) -> Vec<TensorSpec<'_>> {
        self.tensors.iter().map(|one| TensorSpec::new(&one.name, one.dtype, one.dims)).collect()
    }

    fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let pairs = self.metadata.as_ref()?;
        Some(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
    }

    fn gguf(&self) -> Result<gguf::Plan<'_>, Error> {
        let pairs = self.metadata.as_deref().unwrap_or_default();
        gguf::Plan::of(self.specs(), pairs).map_err(|error| self.input.about(error.to_string()))
    }
}

fn spec<'s>(tensors: &'s [TensorSpec<'s>], pairs: Option<&'s [(&'s str, &'s str)]>) -> FileSpec<'s> {
    let spec = FileSpec::new(tensors);
    pairs.map_or(spec, |pairs| spec.with_metadata(pairs))
}

/// The plan has only dtypes that numpy has.
fn header(planned: &Planned<'_>) -> Vec<u8> {
    Header::spelled(planned.dtype, planned.dims).unwrap_or_default()
}
