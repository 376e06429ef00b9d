//! Files of many tensors, with headers in three forms. Their names are shorter than those in
//! `benches/cases`: counts are compared with limits, not with times.

use embedded_safetensors::Dtype;
use support::file::with_header;
use support::random::Random;

/// The number of tensors in each file.
pub const TENSORS: usize = 1000;

/// The form of a header.
#[derive(Clone, Copy)]
pub enum Spelling {
    /// As the reference writes it, with names and shapes like a network's.
    Canonical,
    /// The same, as Python's `json.dumps` writes it, with a space after each comma and colon.
    Spaced,
    /// As the reference writes it, with names of any length, ten dtypes and up to four dimensions.
    Diverse,
}

impl Spelling {
    pub const ALL: [Self; 3] = [Self::Canonical, Self::Spaced, Self::Diverse];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Spaced => "spaced",
            Self::Diverse => "diverse",
        }
    }

    /// Returns a file with this many tensors, whose data are zeros.
    pub fn file(self, tensors: usize) -> Vec<u8> {
        let mut random = Random::new(8);
        let mut end = 0;
        let mut entry = |ordinal| {
            let tensor = match self {
                Self::Canonical | Self::Spaced => Tensor::of_network(ordinal),
                Self::Diverse => Tensor::any(&mut random, ordinal),
            };
            let begin = end;
            end += tensor.byte_len();
            tensor.entry(begin, end)
        };
        let entries: Vec<String> = (0..tensors).map(&mut entry).collect();
        let header = format!("{{{}}}", entries.join(","));
        let header = if matches!(self, Self::Spaced) { spaced(&header) } else { header };
        let padding = header.len().next_multiple_of(8) - header.len();
        with_header(&(header + &" ".repeat(padding)), end)
    }
}

/// Adds the spaces. Names contain no commas or colons.
fn spaced(header: &str) -> String {
    header.replace(',', ", ").replace(':', ": ")
}

struct Tensor {
    name: String,
    dtype: Dtype,
    dims: Vec<usize>,
}

/// Dtypes whose elements are whole bytes.
const DTYPES: [Dtype; 10] = [
    Dtype::F32,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I8,
    Dtype::U8,
    Dtype::I32,
    Dtype::I64,
    Dtype::F64,
    Dtype::F8_E4M3,
    Dtype::BOOL,
];

impl Tensor {
    fn of_network(ordinal: usize) -> Self {
        let (layer, part) =
            (ordinal / 4, ["attn.weight", "attn.bias", "mlp.weight", "mlp.bias"][ordinal % 4]);
        let dims = if part.ends_with("bias") { vec![16] } else { vec![16, 4] };
        Self { name: format!("model.layers.{layer}.{part}"), dtype: Dtype::F32, dims }
    }

    fn any(random: &mut Random, ordinal: usize) -> Self {
        let len = random.below(40);
        let letters = (0..len).map(|_| random.pick(b"abcdefghijklmnopqrstuvwxyz._0123456789").into());
        let name = letters.chain(format!("#{ordinal}").chars()).collect();
        let rank = random.below(5);
        Self { name, dtype: random.pick(&DTYPES), dims: (0..rank).map(|_| 1 + random.below(12)).collect() }
    }

    fn byte_len(&self) -> usize {
        self.dims.iter().product::<usize>() * usize::from(self.dtype.bits()) / 8
    }

    fn entry(&self, begin: usize, end: usize) -> String {
        let dims: Vec<String> = self.dims.iter().map(usize::to_string).collect();
        format!(
            r#""{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{begin},{end}]}}"#,
            self.name,
            self.dtype.name(),
            dims.join(",")
        )
    }
}
