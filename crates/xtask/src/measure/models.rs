//! The models that are measured with.

use crate::model::{self, ModelFile};

pub struct Model {
    pub file: Vec<u8>,
    /// The tensor to find and to read.
    pub name: String,
    /// The number of bytes before the data.
    pub header_len: usize,
}

impl Model {
    pub fn new(file: Vec<u8>, name: String) -> Self {
        let header_len = model::data_start(&file).unwrap_or(0);
        Self { file, name, header_len }
    }
}

fn name(ordinal: usize) -> String {
    format!("model.layers.{ordinal}.mlp.up_proj.weight")
}

/// Makes tensors of F32 with this many bytes, a multiple of 16. The one in the middle has `middle` bytes, and
/// is the one to read. The header is as the reference writes it, and as the JSON libraries of some languages
/// do, with spaces.
pub fn models(tensors: usize, len: usize, middle: usize) -> [Model; 2] {
    let file = (0..tensors).fold(ModelFile::default(), |file, ordinal| {
        let len = if ordinal == tensors / 2 { middle } else { len };
        file.with(&name(ordinal), "F32", &format!("[4,{}]", len / 16), std::iter::repeat_n(0, len))
    });
    let spaced = file.bytes_with_header(&model::spaced(&file.header()));
    [file.bytes(), spaced].map(|file| Model::new(file, name(tensors / 2)))
}

/// Returns a matrix with 512 rows of 64 values for each quantised layout.
pub fn quantised() -> [(&'static str, Model); 5] {
    let make = |dtype: &str, [columns, len, scales]: [usize; 3], scale: &str, shape: &str, factors: &[u8]| {
        let values = (0..512 * len).map(|index| [0x12, 0x34, 0xA7][index % 3]);
        let file = ModelFile::default().with(&name(0), dtype, &format!("[512,{columns}]"), values);
        let factors = factors.iter().copied().cycle().take(scales);
        let file = file.with("scales", scale, shape, factors);
        let global = |file: ModelFile| file.with("global", "F32", "[]", [0, 0, 0, 0x3F]);
        Model::new(if scale == "F8_E4M3" { global(file) } else { file }.bytes(), name(0))
    };
    [
        ("8-bit", make("I8", [64, 64, 1024], "F16", "[512]", &[0x12, 0x21])),
        ("4-bit in groups of 32", make("U8", [32, 32, 2048], "F16", "[512,2]", &[0x12, 0x21, 0x34, 0x22])),
        ("MXFP4", make("F4", [64, 32, 1024], "F8_E8M0", "[512,2]", &[120, 121])),
        ("NVFP4", make("F4", [64, 32, 2048], "F8_E4M3", "[512,4]", &[0x31, 0x42])),
        ("FP8 in blocks", make("F8_E4M3", [64, 64, 16], "F32", "[4,1]", &[0, 0, 0, 0x3C])),
    ]
}
