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

/// Tensors of F32, all of a length but one. The one in the middle is the one to find.
#[derive(Clone, Copy)]
pub struct Content {
    pub tensors: usize,
    /// Of a tensor, in bytes: a multiple of 16.
    pub len: usize,
    /// The ordinal of a tensor of another length.
    pub long: Option<(usize, usize)>,
    pub spelling: Spelling,
    /// Whether they are listed the last one first.
    pub reversed: bool,
}

impl Content {
    /// Tensors of 128 bytes, spelled as the reference does.
    pub const fn of(tensors: usize) -> Self {
        Self { tensors, len: 128, long: None, spelling: Spelling::Usual, reversed: false }
    }

    /// Tensors of 16 bytes.
    pub const fn small(tensors: usize) -> Self {
        Self { len: 16, ..Self::of(tensors) }
    }

    fn len(self, ordinal: usize) -> usize {
        self.long.filter(|(long, _)| *long == ordinal).map_or(self.len, |(_, len)| len)
    }
}

pub struct Model {
    pub file: Vec<u8>,
    /// The name of the tensor in the middle.
    pub name: String,
    /// In front of the data, the length of the header included.
    pub header_len: usize,
}

impl Model {
    fn new(file: Vec<u8>, name: String) -> Self {
        let header_len = model::data_start(&file).unwrap_or(0);
        Self { file, name, header_len }
    }
}

pub fn make(content: Content) -> Model {
    let file = (0..content.tensors).fold(ModelFile::default(), |file, ordinal| {
        let len = content.len(ordinal);
        file.with(&plain(ordinal), "F32", &format!("[4,{}]", len / 16), std::iter::repeat_n(0, len))
    });
    let file = if content.reversed { file.reversed() } else { file };
    let middle = content.tensors / 2;
    match content.spelling {
        Spelling::Usual => Model::new(file.bytes(), plain(middle)),
        Spelling::Spaced => Model::new(file.bytes_with_header(&model::spaced(&file.header())), plain(middle)),
        Spelling::Foreign => Model::new(file.bytes_with_header(&foreign(content)), meant(middle)),
    }
}

/// The same with another shape of the first tensor, which does not agree with its range.
pub fn spoilt(model: &Model) -> Result<Model, String> {
    let shape = br#""shape":[4,"#;
    let mut file = model.file.clone();
    let at = file.windows(shape.len()).position(|bytes| bytes == shape);
    let rows = at.and_then(|at| file.get_mut(at + shape.len() - 2));
    *rows.ok_or("the header has no shape to spoil")? = b'3';
    Ok(Model::new(file, model.name.clone()))
}

/// A matrix of values of which none is special.
pub fn matrix(dtype: &str, width: usize, [rows, columns]: [usize; 2]) -> Model {
    let values = (0..rows * columns * width).map(|index| [0x12, 0x34][index % 2]);
    let file = ModelFile::default().with(&plain(0), dtype, &format!("[{rows},{columns}]"), values);
    Model::new(file.bytes(), plain(0))
}

/// The dtypes of `firmware/measure`'s description in the order in which the reference writes them, with the bits of an element.
const DTYPES: [(&str, usize); 6] =
    [("F64", 64), ("F32", 32), ("F16", 16), ("U8", 8), ("F6_E2M3", 6), ("F4", 4)];

/// The file that `firmware/measure` describes, in the order and the spelling of the reference; and its length.
pub fn described() -> (Model, usize) {
    const TENSORS: usize = 44;
    const KEYS: usize = 50;
    let keys: Vec<String> = (0..KEYS).map(|number| format!(r#""k{number:02}":"\n\u0001é\"\\""#)).collect();
    let mut file = ModelFile::default();
    for (rank, (dtype, bits)) in DTYPES.into_iter().enumerate() {
        for number in (0..TENSORS).filter(|number| number * 5 % DTYPES.len() == DTYPES.len() - 1 - rank) {
            let begin = file.data_len();
            let bytes = (begin..begin + number * bits).map(|index| u8::try_from(index % 251).unwrap_or(0));
            file = file.with(&format!("t{number:02}"), dtype, &format!("[8,{number}]"), bytes);
        }
    }
    let tensors = file.header();
    let header = format!(r#"{{"__metadata__":{{{}}},{}"#, keys.join(","), tensors.trim_start_matches('{'));
    let file = file.bytes_with_header(&model::filled(header));
    let len = file.len();
    (Model::new(file, String::new()), len)
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
      4,
      {columns}
    ],
    "from": {{
      "step": 1.5e3,
      "parts": [
        null,
        "caf\u00e9"
      ]
    }},
    "dtype": "F32"
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
        let content = Content { long: Some((1, 1024)), ..Content::of(3) };
        let model = make(content);
        assert_eq!(model::range(&model.file, &model.name).unwrap().len(), 1024);
        assert_eq!(model.file.len(), model.header_len + 128 + 1024 + 128);
        assert!(header(content).starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight":{"dtype":"F32","shape":[4,8],"data_offsets":[0,128]},"#
        ));
    }

    #[test]
    fn spaces_stand_behind_colons_and_commas() {
        let header = header(Content { spelling: Spelling::Spaced, ..Content::of(2) });
        assert!(header.starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight": {"dtype": "F32", "shape": [4, 8], "data_offsets": [0, 128]}, "#
        ));
        assert_eq!(header.len() % 8, 0);
    }

    #[test]
    fn every_line_of_a_foreign_header_is_indented_and_its_ranges_follow_each_other() {
        let content = Content { spelling: Spelling::Foreign, long: Some((1, 256)), ..Content::of(3) };
        let (header, model) = (header(content), make(content));
        assert!(
            header.starts_with(
                "{\n  \"mod\\u00e8le.couches.0.réseau\\n.weight\": {\n    \"data_offsets\": [\n"
            )
        );
        assert!(
            header.contains("[\n      128,\n      384\n    ],\n    \"shape\": [\n      4,\n      16\n    ],")
        );
        assert_eq!((header.len() % 8, model.file.len() - model.header_len), (0, 128 + 256 + 128));
        assert_eq!(model.name, "modèle.couches.1.réseau\n.weight");
    }
}
