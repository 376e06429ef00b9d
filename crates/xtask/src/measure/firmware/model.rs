//! The models that the job is done with.

use crate::model::{self, ModelFile};

/// How a header is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As the reference does.
    Usual,
    /// With spaces, as the JSON libraries of some languages put them.
    Spaced,
    /// As nobody does for whom the parser has a shortcut: in lines that are indented by two spaces for each bracket, with escapes
    /// and UTF-8 in names, the fields of an entry in another order, and one among them that means nothing to a reader.
    Foreign,
}

impl Spelling {
    pub const ALL: [Self; 3] = [Self::Usual, Self::Spaced, Self::Foreign];

    /// As figures are named.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Spaced => "spaced",
            Self::Foreign => "foreign",
        }
    }
}

/// Tensors of F16, all of a length but the one in the middle, which is the one to find.
#[derive(Clone, Copy)]
pub struct Content {
    pub tensors: usize,
    /// Of a tensor, in bytes: a multiple of 16.
    pub len: usize,
    pub middle_len: usize,
    pub spelling: Spelling,
}

impl Content {
    /// Tensors of 128 bytes, spelled as the reference does.
    pub const fn of(tensors: usize) -> Self {
        Self { tensors, len: 128, middle_len: 128, spelling: Spelling::Usual }
    }

    fn len(self, ordinal: usize) -> usize {
        if ordinal == self.tensors / 2 { self.middle_len } else { self.len }
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
    let file = (0..content.tensors).fold(ModelFile::default(), |file, ordinal| {
        let len = content.len(ordinal);
        file.with(&plain(ordinal), "F16", &format!("[8,{}]", len / 16), std::iter::repeat_n(0, len))
    });
    let middle = content.tensors / 2;
    let (file, name) = match content.spelling {
        Spelling::Usual => (file.bytes(), plain(middle)),
        Spelling::Spaced => (file.bytes_with_header(&model::spaced(&file.header())), plain(middle)),
        Spelling::Foreign => (file.bytes_with_header(&foreign(content)), meant(middle)),
    };
    let header_len = model::data_start(&file).unwrap_or(0);
    Model { file, name, header_len }
}

fn plain(ordinal: usize) -> String {
    format!("model.layers.{ordinal}.mlp.up_proj.weight")
}

/// What [`entry`] spells with escapes.
fn meant(ordinal: usize) -> String {
    format!("modèle.couches.{ordinal}.réseau\n.weight")
}

fn foreign(content: Content) -> String {
    let mut begin = 0;
    let entries = (0..content.tensors).map(|ordinal| {
        let range = begin..begin + content.len(ordinal);
        begin = range.end;
        entry(ordinal, range)
    });
    model::filled(format!("{{\n{}\n}}", entries.collect::<Vec<_>>().join(",\n")))
}

fn entry(ordinal: usize, std::ops::Range { start, end }: std::ops::Range<usize>) -> String {
    let columns = (end - start) / 16;
    format!(
        r#"  "mod\u00e8le.couches.{ordinal}.réseau\n.weight": {{
    "data_offsets": [
      {start},
      {end}
    ],
    "shape": [
      8,
      {columns}
    ],
    "from": {{
      "step": 1.5e3,
      "parts": [
        null,
        "caf\u00e9"
      ]
    }},
    "dtype": "F16"
  }}"#
    )
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
        let header = header(Content { spelling: Spelling::Spaced, ..Content::of(2) });
        assert!(header.starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight": {"dtype": "F16", "shape": [8, 8], "data_offsets": [0, 128]}, "#
        ));
        assert_eq!(header.len() % 8, 0);
    }

    #[test]
    fn every_line_of_a_foreign_header_is_indented_and_its_ranges_follow_each_other() {
        let content = Content { spelling: Spelling::Foreign, middle_len: 256, ..Content::of(3) };
        let (header, model) = (header(content), make(content));
        assert!(
            header.starts_with(
                "{\n  \"mod\\u00e8le.couches.0.réseau\\n.weight\": {\n    \"data_offsets\": [\n"
            )
        );
        assert!(
            header.contains("[\n      128,\n      384\n    ],\n    \"shape\": [\n      8,\n      16\n    ],")
        );
        assert_eq!((header.len() % 8, model.file.len() - model.header_len), (0, 128 + 256 + 128));
        assert_eq!(model.name, "modèle.couches.1.réseau\n.weight");
    }
}
