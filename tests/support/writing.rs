//! Dictionaries written by this project's writer, and read back.

use embedded_safetensors::{
    View,
    write::{FilePlan, FileSpec, PlannedContent, PlannedTensor, TensorSpec, Writer},
};

use crate::dictionary::{Dictionary, Named};
use crate::sink::{Habits, Sink};
use crate::verdict::judge;

/// What the writer is told about a dictionary, borrowed from it.
pub struct Description<'d> {
    /// The tensors, as they stand in the dictionary.
    pub tensors: Vec<TensorSpec<'d>>,
    /// The pairs of `__metadata__`, as they stand there.
    pub metadata: Option<Vec<(&'d str, &'d str)>>,
}

impl<'d> Description<'d> {
    /// Of this dictionary.
    pub fn new(dictionary: &'d Dictionary) -> Self {
        let tensors = dictionary.tensors.iter();
        let tensors =
            tensors.map(|tensor| TensorSpec::new(&tensor.name, tensor.dtype(), &tensor.dims)).collect();
        let pairs = dictionary.metadata.as_ref();
        let pair = |(key, value): &'d (String, String)| (key.as_str(), value.as_str());
        Self { tensors, metadata: pairs.map(|pairs| pairs.iter().map(pair).collect()) }
    }

    /// In the writer's own form.
    pub fn spec(&self) -> FileSpec<'_> {
        match &self.metadata {
            Some(pairs) => FileSpec::new(&self.tensors).with_metadata(pairs),
            None => FileSpec::new(&self.tensors),
        }
    }

    /// Memory to sort in, just enough.
    pub fn memory(&self) -> Vec<u32> {
        vec![0; self.tensors.len() + self.metadata.as_ref().map_or(0, Vec::len)]
    }
}

/// The file of a dictionary whose tensors and keys come in any order.
///
/// # Panics
/// When it is refused.
pub fn write(dictionary: &Dictionary) -> Vec<u8> {
    let description = Description::new(dictionary);
    let mut memory = description.memory();
    let plan = description.spec().plan_sorted(&mut memory).unwrap_or_else(|error| panic!("{error}"));
    write_planned(dictionary, plan)
}

/// The file that was planned, of this dictionary.
///
/// # Panics
/// When it is refused, or is not as long as was planned.
pub fn write_planned(dictionary: &Dictionary, plan: FilePlan<'_>) -> Vec<u8> {
    let mut writer =
        Writer::new(Sink::new(Habits::default()), plan, &mut [0; 100]).expect("there is a window");
    for planned in plan.tensors() {
        if let PlannedContent::Tensor { index, spec } = planned.content {
            writer.write_tensor(spec.name(), &dictionary.tensors[index].bytes).expect("it is due");
        }
    }
    let sink = writer.finish().expect("all is there");
    assert!(sink.is_flushed);
    assert_eq!(sink.file.len() as u64, plan.file_len());
    sink.file
}

/// What every reader must find in a file that was planned: its tensors as they lie, with those of padding.
pub fn as_planned(dictionary: &Dictionary, plan: FilePlan<'_>) -> Dictionary {
    let tensor = |planned: PlannedTensor<'_>| match planned.content {
        PlannedContent::Tensor { index, .. } => dictionary.tensors[index].clone(),
        PlannedContent::Padding { number } => padding(number, planned.byte_len()),
    };
    Dictionary { tensors: plan.tensors().map(tensor).collect(), metadata: dictionary.metadata.clone() }
}

/// A tensor of padding.
pub fn padding(number: u32, len: u64) -> Named {
    let bytes = vec![0; usize::try_from(len).expect("it is small")];
    Named { name: format!("__padding__.{number}"), dtype: "U8".to_owned(), dims: vec![len], bytes }
}

/// Whether a tensor is one of padding, if the file has some.
pub fn is_padding(tensor: &Named) -> bool {
    tensor.name.starts_with("__padding__.")
}

/// What stands in a sound file.
///
/// # Panics
/// When it is refused.
pub fn read(file: &[u8]) -> Dictionary {
    let table = judge(file).unwrap_or_else(|error| panic!("{error}"));
    let view = View::parse(file).unwrap_or_else(|error| panic!("{error}"));
    Dictionary::from_table(&table, view.data())
}
