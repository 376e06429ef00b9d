//! The models that the job is done with.

use crate::model::{self, ModelFile};

/// Tensors of F16, all of a length but the one in the middle, which is the one to find.
#[derive(Clone, Copy)]
pub struct Content {
    pub tensors: usize,
    /// Of a tensor, in bytes: a multiple of 16.
    pub len: usize,
    pub middle_len: usize,
    /// Whether there are spaces in the header, as the JSON libraries of some languages put them; else it is spelled as the
    /// reference does.
    pub spaced: bool,
}

impl Content {
    /// Tensors of 128 bytes, spelled as the reference does.
    pub const fn of(tensors: usize) -> Self {
        Self { tensors, len: 128, middle_len: 128, spaced: false }
    }
}

pub struct Model {
    pub file: Vec<u8>,
    /// The name of the tensor in the middle.
    pub name: String,
    /// In front of the data, the length of the header included.
    pub header_len: usize,
}

pub fn make(content: Content) -> Model {
    let middle = content.tensors / 2;
    let file = (0..content.tensors).fold(ModelFile::default(), |file, ordinal| {
        let len = if ordinal == middle { content.middle_len } else { content.len };
        file.with(&name(ordinal), "F16", &format!("[8,{}]", len / 16), std::iter::repeat_n(0, len))
    });
    let file = if content.spaced { spaced(&file) } else { file.bytes() };
    let header_len = model::data_start(&file).unwrap_or(0);
    Model { file, name: name(middle), header_len }
}

fn name(ordinal: usize) -> String {
    format!("model.layers.{ordinal}.mlp.up_proj.weight")
}

/// Filled up as other writers do.
fn spaced(file: &ModelFile) -> Vec<u8> {
    let mut header = file.header().replace(':', ": ").replace(',', ", ");
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    file.bytes_with_header(&header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(content: Content) -> String {
        let model = make(content);
        String::from_utf8(model.file[8..model.header_len].to_vec()).unwrap()
    }

    #[test]
    fn the_middle_is_the_long_one() {
        let content = Content { middle_len: 1024, ..Content::of(3) };
        let model = make(content);
        assert_eq!(model::range(&model.file, &model.name).unwrap().len(), 1024);
        assert_eq!(model.file.len(), model.header_len + 128 + 1024 + 128);
        assert!(header(content).starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight":{"dtype":"F16","shape":[8,8],"data_offsets":[0,128]},"#
        ));
    }

    #[test]
    fn spaces_stand_behind_colons_and_commas() {
        let header = header(Content { spaced: true, ..Content::of(2) });
        assert!(header.starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight": {"dtype": "F16", "shape": [8, 8], "data_offsets": [0, 128]}, "#
        ));
        assert_eq!(header.len() % 8, 0);
    }
}
