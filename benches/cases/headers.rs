//! Files of many tensors. Their data are zeros that are never read.

use std::fmt;

use safetensors_0_8::SafeTensors;
use support::random::Random;

/// The form and the contents of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// As the reference writes the header of a large language model: similar names, matrices of one dtype.
    Canonical,
    /// The same, as Python's `json.dumps` writes it.
    Spaced,
    /// Canonical, but with different names, dtypes and shapes, so that branch predictors cannot learn them.
    Diverse,
    /// Valid, but unlike the output of any writer: line breaks, escaped names, reordered members, an
    /// unknown member.
    NonCanonical,
}

impl Header {
    pub const ALL: [Self; 4] = [Self::Canonical, Self::Spaced, Self::Diverse, Self::NonCanonical];
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Canonical => "canonical",
            Self::Spaced => "spaced",
            Self::Diverse => "diverse",
            Self::NonCanonical => "foreign",
        })
    }
}

/// A file in memory.
pub struct Model {
    pub bytes: Vec<u8>,
    pub data_start: usize,
    /// The names in the order of the header.
    pub names: Vec<String>,
}

impl Model {
    pub fn new(header: Header, tensors: usize) -> Self {
        let mut random = Random::new(8);
        let mut text = Text::new(header);
        let mut names = Vec::with_capacity(tensors);
        for number in 0..tensors {
            let tensor = match header {
                Header::Diverse => Tensor::any(number, &mut random),
                _ => Tensor::of_network(number),
            };
            text.push(&tensor);
            names.push(match header {
                Header::NonCanonical => format!("é\n{}", tensor.name),
                _ => tensor.name,
            });
        }
        let (header, data_len) = text.finish();
        Self { data_start: 8 + header.len(), bytes: file(&header, data_len), names }
    }

    /// Returns everything before the data.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..self.data_start]
    }

    /// Opens the file with the reference.
    pub fn reference(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.bytes).expect("valid file")
    }

    /// Returns some of the names in random order.
    pub fn some_names(&self, count: usize) -> Vec<&str> {
        let mut random = Random::new(1);
        (0..count).map(|_| self.names[random.below(self.names.len())].as_str()).collect()
    }
}

/// Returns a file with zeros as data; the system provides such memory only when it is touched.
fn file(header: &str, data_len: usize) -> Vec<u8> {
    let mut bytes = vec![0; 8 + header.len() + data_len];
    bytes[..8].copy_from_slice(&(header.len() as u64).to_le_bytes());
    bytes[8..][..header.len()].copy_from_slice(header.as_bytes());
    bytes
}

struct Tensor {
    name: String,
    dtype: &'static str,
    bits: usize,
    shape: Vec<usize>,
}

/// The tensors of a layer.
const PARTS: [&str; 10] = [
    "input_layernorm.weight",
    "mlp.down_proj.weight",
    "mlp.gate_proj.weight",
    "mlp.up_proj.weight",
    "post_attention_layernorm.weight",
    "self_attn.k_proj.weight",
    "self_attn.o_proj.weight",
    "self_attn.q_proj.weight",
    "self_attn.rotary_emb.inv_freq",
    "self_attn.v_proj.weight",
];

const DTYPES: [(&str, usize); 10] = [
    ("F32", 32),
    ("F16", 16),
    ("BF16", 16),
    ("I8", 8),
    ("U8", 8),
    ("I64", 64),
    ("I32", 32),
    ("F64", 64),
    ("BOOL", 8),
    ("F8_E4M3", 8),
];

const LETTERS: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
    'w', 'x', '0', '1', '2', '3', '4', '5', '.', '.', '_',
];

impl Tensor {
    fn of_network(number: usize) -> Self {
        let (layer, part) = (number / PARTS.len(), PARTS[number % PARTS.len()]);
        let name = format!("language_model.model.layers.{layer}.{part}");
        Self { name, dtype: "F32", bits: 32, shape: vec![16, 64] }
    }

    fn any(number: usize, random: &mut Random) -> Self {
        let letters: String = (0..random.below(56)).map(|_| random.pick(&LETTERS)).collect();
        let (dtype, bits) = random.pick(&DTYPES);
        let shape = (0..random.below(5)).map(|_| 1 + random.below(12)).collect();
        // The number makes the name unique.
        Self { name: format!("{letters}{number}"), dtype, bits, shape }
    }

    fn byte_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.bits / 8
    }
}

/// A header under construction.
struct Text {
    text: String,
    data_len: usize,
    comma: &'static str,
    colon: &'static str,
    is_non_canonical: bool,
}

impl Text {
    fn new(header: Header) -> Self {
        let (comma, colon) = match header {
            Header::Spaced => (", ", ": "),
            Header::NonCanonical => (",\n  ", ": "),
            Header::Canonical | Header::Diverse => (",", ":"),
        };
        let text = format!(r#"{{"__metadata__"{colon}{{"format"{colon}"pt"}}"#);
        Self { text, data_len: 0, comma, colon, is_non_canonical: header == Header::NonCanonical }
    }

    fn push(&mut self, tensor: &Tensor) {
        let (comma, colon) = (self.comma, self.colon);
        let (begin, end) = (self.data_len, self.data_len + tensor.byte_len());
        let shape: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
        let shape = shape.join(comma);
        let Tensor { name, dtype, .. } = tensor;
        if self.is_non_canonical {
            self.text +=
                &format!(r#"{comma}"\u00e9\n{name}"{colon}{{"data_offsets"{colon}[{begin}{comma}{end}]"#);
            self.text +=
                &format!(r#"{comma}"shape"{colon}[{shape}]{comma}"from"{colon}{{"step"{colon}1.5e3"#);
            self.text += &format!(r#"{comma}"parts"{colon}[null]}}{comma}"dtype"{colon}"{dtype}"}}"#);
        } else {
            self.text +=
                &format!(r#"{comma}"{name}"{colon}{{"dtype"{colon}"{dtype}"{comma}"shape"{colon}[{shape}]"#);
            self.text += &format!(r#"{comma}"data_offsets"{colon}[{begin}{comma}{end}]}}"#);
        }
        self.data_len = end;
    }

    /// Returns the header, padded to a multiple of 8 bytes like the reference's, and the length of the
    /// data.
    fn finish(mut self) -> (String, usize) {
        self.text.push('}');
        let len = self.text.len();
        self.text += &" ".repeat(len.next_multiple_of(8) - len);
        (self.text, self.data_len)
    }
}
