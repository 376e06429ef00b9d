//! The models that are measured with.

use crate::model::{self, ModelFile};

/// How a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As the reference writes it.
    Canonical,
    /// With spaces, as the JSON libraries of some languages put them.
    Spaced,
    /// In a form that no shortcut of the parser covers: indented lines, escapes and UTF-8 in names, the
    /// fields of an entry in another order, and an unknown field among them.
    NonCanonical,
}

impl Spelling {
    pub const ALL: [Self; 3] = [Self::Canonical, Self::Spaced, Self::NonCanonical];

    /// Returns its word in the names of figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "usual",
            Self::Spaced => "spaced",
            Self::NonCanonical => "foreign",
        }
    }
}

/// Tensors of F32, all of one length except for `long`. The one in the middle is the one to find.
#[derive(Clone, Copy)]
pub struct Content {
    pub tensors: usize,
    /// The length of a tensor in bytes, a multiple of 16.
    pub len: usize,
    /// The index of a tensor with another length, and that length.
    pub long: Option<(usize, usize)>,
    pub spelling: Spelling,
    /// Whether the header lists the last tensor first.
    pub reversed: bool,
}

impl Content {
    /// Tensors of 128 bytes with a canonical header.
    pub const fn of(tensors: usize) -> Self {
        Self { tensors, len: 128, long: None, spelling: Spelling::Canonical, reversed: false }
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
    /// The number of bytes before the data, including the header's length.
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
        Spelling::Canonical => Model::new(file.bytes(), plain(middle)),
        Spelling::Spaced => Model::new(file.bytes_with_header(&model::spaced(&file.header())), plain(middle)),
        Spelling::NonCanonical => {
            Model::new(file.bytes_with_header(&non_canonical(content)), unescaped(middle))
        }
    }
}

/// Returns the same model with another shape of the first tensor, which does not match its range.
pub fn damaged(model: &Model) -> Result<Model, String> {
    let shape = br#""shape":[4,"#;
    let mut file = model.file.clone();
    let at = file.windows(shape.len()).position(|bytes| bytes == shape);
    let rows = at.and_then(|at| file.get_mut(at + shape.len() - 2));
    *rows.ok_or("the header has no shape to change")? = b'3';
    Ok(Model::new(file, model.name.clone()))
}

/// Returns a matrix whose values are all ordinary.
pub fn matrix(dtype: &str, width: usize, [rows, columns]: [usize; 2]) -> Model {
    let values = (0..rows * columns * width).map(|index| [0x12, 0x34][index % 2]);
    let file = ModelFile::default().with(&plain(0), dtype, &format!("[{rows},{columns}]"), values);
    Model::new(file.bytes(), plain(0))
}

/// Returns a file of 64 KiB of zeros that contains its own sum, which Python's `hashlib` has computed.
pub fn with_sum() -> Model {
    const SUM: &str = "1e002e02f1de9acbef6c66dd261d7cdc3b89f6c1504cf18e1a9e646f68b0520e";
    let file = ModelFile::default().with(&plain(0), "U8", "[65536]", std::iter::repeat_n(0, 1 << 16));
    let metadata = format!(r#"{{"__metadata__":{{"safetensors.sha256":"{SUM}"}},"#);
    let header = model::padded(metadata + file.header().trim_start_matches('{'));
    Model::new(file.bytes_with_header(&header), plain(0))
}

/// Returns a quantised matrix: weights with this dtype, and scales with the size of a row.
pub fn quantised(weights: (&str, usize), scales: (&str, &str, &[u8]), rows: usize) -> Model {
    let ((dtype, width), (scale, scale_dims, row)) = (weights, scales);
    let len = if dtype == "F4" { width / 2 } else { width };
    let values = (0..rows * len).map(|index| [0x12, 0x34, 0xA7][index % 3]);
    let file = ModelFile::default().with(&plain(0), dtype, &format!("[{rows},{width}]"), values);
    let factors = row.iter().copied().cycle().take(rows * row.len());
    Model::new(
        file.with(&plain(1), scale, &scale_dims.replace("ROWS", &rows.to_string()), factors).bytes(),
        plain(0),
    )
}

/// The dtypes of `firmware/measure`'s description in the order in which the reference writes them, with the
/// bits of an element.
const DTYPES: [(&str, usize); 6] =
    [("F64", 64), ("F32", 32), ("F16", 16), ("U8", 8), ("F6_E2M3", 6), ("F4", 4)];

/// Returns the file that `firmware/measure` describes, with the header and the order of the reference; and
/// its length.
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
    let file = file.bytes_with_header(&model::padded(header));
    let len = file.len();
    (Model::new(file, String::new()), len)
}

fn plain(ordinal: usize) -> String {
    format!("model.layers.{ordinal}.mlp.up_proj.weight")
}

/// Returns the name that [`entry`] writes with escapes.
fn unescaped(ordinal: usize) -> String {
    format!("modèle.couches.{ordinal}.réseau\n.weight")
}

fn non_canonical(content: Content) -> String {
    let mut begin = 0;
    let entries = (0..content.tensors).map(|ordinal| {
        let range = begin..begin + content.len(ordinal);
        begin = range.end;
        entry(ordinal, range)
    });
    model::padded(format!("{{\n{}\n}}", entries.collect::<Vec<_>>().join(",\n")))
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
    fn the_tensor_in_the_middle_is_the_long_one() {
        let content = Content { long: Some((1, 1024)), ..Content::of(3) };
        let model = make(content);
        assert_eq!(model::range(&model.file, &model.name).unwrap().len(), 1024);
        assert_eq!(model.file.len(), model.header_len + 128 + 1024 + 128);
        assert!(header(content).starts_with(
            r#"{"model.layers.0.mlp.up_proj.weight":{"dtype":"F32","shape":[4,8],"data_offsets":[0,128]},"#
        ));
    }

    #[test]
    fn spaced_header_has_spaces_after_colons_and_commas() {
        let start = concat!(
            r#"{"model.layers.0.mlp.up_proj.weight": {"dtype": "F32", "#,
            r#""shape": [4, 8], "data_offsets": [0, 128]}, "#
        );
        let header = header(Content { spelling: Spelling::Spaced, ..Content::of(2) });
        assert!(header.starts_with(start));
        assert_eq!(header.len() % 8, 0);
    }

    #[test]
    fn non_canonical_header_is_indented_and_has_contiguous_ranges() {
        let content = Content { spelling: Spelling::NonCanonical, long: Some((1, 256)), ..Content::of(3) };
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
