//! Gathers the header parser's events into a table.

use std::collections::BTreeMap;
use std::mem::take;

use embedded_safetensors::{
    Error,
    header::{Entry, Event, HeaderParser},
};

use crate::split::Split;
use vectors::table::{Table, Tensor};

/// Returns the tensors and the metadata of a file that arrives like this. Of equal names the last one is
/// kept.
///
/// # Errors
/// The first error of the header; the layout of the tensors is not checked here.
pub fn contents(file: &[u8], split: Split) -> Result<Table, Error> {
    let mut parser = HeaderParser::new();
    let mut gathered = Gathered::default();
    split.pieces(file).try_for_each(|piece| gathered.read(&mut parser, piece))?;
    parser.end_of_input()?;
    let tensors = gathered.tensors.into_values().collect();
    Ok(Table { tensors, metadata: gathered.metadata }.sorted())
}

/// Returns the tensor of an entry.
pub fn tensor_of(entry: &Entry<'_>) -> Tensor {
    Tensor {
        data_offsets: [entry.info.begin(), entry.info.end()],
        name: entry.name().to_owned(),
        dtype: entry.info.dtype().to_string(),
        shape: entry.info.shape().dims().to_vec(),
    }
}

#[derive(Default)]
struct Gathered {
    tensors: BTreeMap<String, Tensor>,
    metadata: Option<BTreeMap<String, String>>,
    tensor: Tensor,
    key: String,
    text: Vec<u8>,
}

impl Gathered {
    fn read(&mut self, parser: &mut HeaderParser, mut piece: &[u8]) -> Result<(), Error> {
        loop {
            match parser.next(&mut piece)? {
                Event::NeedInput | Event::HeaderEnd => return Ok(()),
                Event::Name(text) | Event::Key(text) | Event::Value(text) => {
                    self.text.extend(text.as_bytes());
                }
                event => self.take(event),
            }
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Tensor => self.tensor.name = self.take_text(),
            Event::Dtype(dtype) => self.tensor.dtype = dtype.to_string(),
            Event::Dim(dim) => self.tensor.shape.push(dim),
            Event::Begin(begin) => self.tensor.data_offsets[0] = begin,
            Event::End(end) => self.tensor.data_offsets[1] = end,
            Event::TensorEnd => self.end_tensor(),
            _ => self.take_metadata(event),
        }
    }

    fn take_metadata(&mut self, event: Event<'_>) {
        match event {
            Event::Metadata => {
                self.text.clear();
                self.metadata = Some(BTreeMap::new());
            }
            Event::MetadataNull => self.metadata = None,
            Event::KeyEnd => self.key = self.take_text(),
            Event::ValueEnd => {
                let value = self.take_text();
                self.metadata.get_or_insert_default().insert(take(&mut self.key), value);
            }
            _ => {}
        }
    }

    fn end_tensor(&mut self) {
        let tensor = take(&mut self.tensor);
        self.tensors.insert(tensor.name.clone(), tensor);
    }

    fn take_text(&mut self) -> String {
        String::from_utf8(take(&mut self.text)).expect("the parser checks that text is UTF-8")
    }
}
