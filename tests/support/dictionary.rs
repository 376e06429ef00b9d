//! Dictionaries of tensors to write: random ones, and the file that each must become.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use embedded_safetensors::Dtype;

use crate::random::Random;
use crate::texts::{names, text};
use vectors::table::{Table, Tensor};

/// Tensors by name, and the pairs of `__metadata__` if it exists; each in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    /// The tensors.
    pub tensors: Vec<Named>,
    /// The pairs of `__metadata__`.
    pub metadata: Option<Vec<(String, String)>>,
}

/// A tensor of a dictionary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its dtype, as the header spells it.
    pub dtype: String,
    /// Its shape.
    pub dims: Vec<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What random dictionaries may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Everything.
    All,
    /// Two dtypes of each width, where there are two. The resulting files stay the same when a dtype is
    /// added.
    Fixed,
}

impl Named {
    /// Its dtype.
    pub fn dtype(&self) -> Dtype {
        Dtype::from_name(self.dtype.as_bytes()).expect("a dtype")
    }

    /// Returns a tensor of this dtype and shape, with random bytes.
    pub fn random(name: String, dtype: Dtype, dims: Vec<u64>, random: &mut Random) -> Self {
        let bits = dims.iter().fold(u64::from(dtype.bits()), |product, &dim| product.saturating_mul(dim));
        // A zero precedes any dimension that would overflow.
        let len = if dims.contains(&0) { 0 } else { bits / 8 };
        let bytes = (0..len.div_ceil(8)).flat_map(|_| random.number().to_le_bytes());
        let bytes = bytes.take(usize::try_from(len).expect("fits in usize")).collect();
        Self { name, dtype: dtype.to_string(), dims, bytes }
    }
}

impl Dictionary {
    /// Returns a random dictionary with at most one key in its `__metadata__`: with more, the reference
    /// writes one of many files. If it has no tensors, its `__metadata__` is not empty: for that the
    /// reference writes no valid file.
    pub fn random(kinds: Kinds, random: &mut Random) -> Self {
        let count = match random.below(1000) {
            0..50 => 0,
            50..550 => 1 + random.below(4),
            550..998 => 1 + random.below(60),
            _ => 1000,
        };
        let metadata = match random.below(6) {
            0 | 1 => None,
            2 if count == 0 => None,
            2 => Some(vec![]),
            _ => Some(vec![(text(random), text(random))]),
        };
        Self { metadata, ..Self::of(count, kinds, random) }
    }

    /// Returns a dictionary of `count` tensors and no `__metadata__`.
    pub fn of(count: usize, kinds: Kinds, random: &mut Random) -> Self {
        let names = names(count, random);
        let tensors = names.into_iter().map(|name| kinds.tensor(name, random)).collect();
        Self { tensors, metadata: None }
    }

    /// Returns a dictionary of `count` pairs of `__metadata__` and no tensors.
    pub fn of_pairs(count: usize, random: &mut Random) -> Self {
        let pairs = names(count, random).into_iter().map(|key| (key, text(random)));
        Self { tensors: vec![], metadata: Some(pairs.collect()) }
    }

    /// Returns the tensors in the order of the file.
    pub fn in_order(&self) -> Vec<&Named> {
        let mut tensors: Vec<_> = self.tensors.iter().collect();
        tensors.sort_by(|a, b| (Reverse(a.dtype()), &a.name).cmp(&(Reverse(b.dtype()), &b.name)));
        tensors
    }

    /// Returns the data of all tensors in the order of the file.
    pub fn data(&self) -> Vec<u8> {
        self.in_order().iter().flat_map(|tensor| &tensor.bytes).copied().collect()
    }

    /// Returns the file, written in the shortest form that the rules allow, with the keys of the
    /// `__metadata__` sorted by their bytes.
    pub fn file(&self) -> Vec<u8> {
        let mut header = self.header();
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        let len = (header.len() as u64).to_le_bytes();
        [&len[..], header.as_bytes(), &self.data()].concat()
    }

    /// Returns the header of that file, without the spaces at its end.
    pub fn header(&self) -> String {
        let metadata = self.metadata.iter().map(|pairs| {
            let pairs: BTreeMap<_, _> = pairs.iter().cloned().collect();
            format!("\"__metadata__\":{}", serde_json::to_string(&pairs).expect("valid strings"))
        });
        let tensors = self.table().tensors.into_iter().map(|tensor| {
            let [name, dtype] = [tensor.name, tensor.dtype].map(|text| serde_json::to_string(&text));
            let [name, dtype] = [name, dtype].map(|text| text.expect("a valid string"));
            let shape = list(&tensor.shape);
            let offsets = list(&tensor.data_offsets);
            format!(r#"{name}:{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}"#)
        });
        format!("{{{}}}", metadata.chain(tensors).collect::<Vec<_>>().join(","))
    }

    /// Returns the table that a reader reports for the file; tensors in the file's order.
    pub fn table(&self) -> Table {
        let mut end = 0;
        let tensors = self.in_order().into_iter().map(|tensor| {
            let begin = end;
            end += tensor.bytes.len() as u64;
            let (name, dtype, shape) = (tensor.name.clone(), tensor.dtype.clone(), tensor.dims.clone());
            Tensor { name, dtype, shape, data_offsets: [begin, end] }
        });
        let tensors = tensors.collect();
        Table { tensors, metadata: self.metadata.clone().map(|pairs| pairs.into_iter().collect()) }
    }

    /// Returns the dictionary of a table and its data.
    pub fn from_table(table: &Table, data: &[u8]) -> Self {
        let tensors = table.tensors.iter().map(|tensor| {
            let [begin, end] =
                tensor.data_offsets.map(|offset| usize::try_from(offset).expect("fits in usize"));
            let (name, dtype, dims) = (tensor.name.clone(), tensor.dtype.clone(), tensor.shape.clone());
            Named { name, dtype, dims, bytes: data[begin..end].to_vec() }
        });
        let metadata = table.metadata.clone().map(|pairs| pairs.into_iter().collect());
        Self { tensors: tensors.collect(), metadata }
    }

    /// Shuffles tensors and keys.
    pub fn shuffle(&mut self, random: &mut Random) {
        random.shuffle(&mut self.tensors);
        self.metadata.iter_mut().for_each(|pairs| random.shuffle(pairs));
    }

    /// Sorts by names and by keys, to compare.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.tensors.sort_by(|a, b| a.name.cmp(&b.name));
        self.metadata.iter_mut().for_each(|pairs| pairs.sort());
        self
    }
}

impl Kinds {
    fn dtypes(self) -> Vec<Dtype> {
        use Dtype::{BF16, C64, F4, F6_E2M3, F6_E3M2, F16, F32, F64, I32, U8};
        match self {
            Self::All => Dtype::ALL.to_vec(),
            Self::Fixed => vec![F4, F6_E2M3, F6_E3M2, Dtype::BOOL, U8, F16, BF16, F32, I32, C64, F64],
        }
    }

    /// Returns a tensor of any dtype and shape.
    pub fn tensor(self, name: String, random: &mut Random) -> Named {
        let dtype = random.pick(&self.dtypes());
        Named::random(name, dtype, dims(dtype, random), random)
    }
}

/// Returns the shape of a tensor.
fn dims(dtype: Dtype, random: &mut Random) -> Vec<u64> {
    let rank = if random.percent(3) { 9 + random.below(56) } else { random.below(9) };
    let mut left = random.pick(&[1, 8, 64, 64, 1000]);
    let size = |_| {
        let size = 1 + random.below(left.min(12));
        left /= size;
        size as u64
    };
    let mut dims: Vec<u64> = (0..rank).map(size).collect();
    // The elements must fill whole bytes.
    if dims.iter().product::<u64>() * u64::from(dtype.bits()) % 8 != 0 {
        match rank {
            0 => dims.push(4),
            _ => dims[random.below(rank)] *= 4,
        }
    }
    if !dims.is_empty() && random.percent(5) {
        empty(&mut dims, random);
    }
    dims
}

/// Makes a tensor empty, in some cases with dimensions after the zero that would overflow.
fn empty(dims: &mut [u64], random: &mut Random) {
    let zero = random.below(dims.len());
    dims[zero] = 0;
    if random.percent(20) {
        dims[zero + 1..].fill_with(|| random.pick(&[1 << 32, 1 << 63, u64::MAX - 1]));
    }
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(","))
}
