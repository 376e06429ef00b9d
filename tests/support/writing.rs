//! Dictionaries written by this project's writer, and read again.

use embedded_safetensors::{
    View,
    write::{FilePlan, FileSpec, PlannedContent, PlannedTensor, TensorSpec, Writer},
};

use crate::dictionary::{Dictionary, Named};
use crate::sink::{Sink, SinkPlan};
use crate::verdict::full_verdict;

/// The writer's description of a dictionary, borrowed from it.
pub struct Description<'d> {
    /// The tensors, in the dictionary's order.
    pub tensors: Vec<TensorSpec<'d>>,
    /// The pairs of `__metadata__`, in the dictionary's order.
    pub metadata: Option<Vec<(&'d str, &'d str)>>,
}

impl<'d> Description<'d> {
    /// Describes this dictionary.
    pub fn new(dictionary: &'d Dictionary) -> Self {
        let tensors = dictionary.tensors.iter();
        let tensors =
            tensors.map(|tensor| TensorSpec::new(&tensor.name, tensor.dtype(), &tensor.dims)).collect();
        let pairs = dictionary.metadata.as_ref();
        let pair = |(key, value): &'d (String, String)| (key.as_str(), value.as_str());
        Self { tensors, metadata: pairs.map(|pairs| pairs.iter().map(pair).collect()) }
    }

    /// Returns the writer's own form.
    pub fn spec(&self) -> FileSpec<'_> {
        match &self.metadata {
            Some(pairs) => FileSpec::new(&self.tensors).with_metadata(pairs),
            None => FileSpec::new(&self.tensors),
        }
    }

    /// Returns exactly enough memory to sort in.
    pub fn memory(&self) -> Vec<u32> {
        vec![0; self.tensors.len() + self.metadata.as_ref().map_or(0, Vec::len)]
    }
}

/// Returns the file of a dictionary whose tensors and keys are in any order.
///
/// # Panics
/// If it is rejected.
pub fn write(dictionary: &Dictionary) -> Vec<u8> {
    let description = Description::new(dictionary);
    let mut memory = description.memory();
    let plan = description.spec().plan_sorted(&mut memory).unwrap_or_else(|error| panic!("{error}"));
    write_planned(dictionary, plan)
}

/// Returns the planned file of this dictionary, which is the same when it is recorded in memory.
///
/// # Panics
/// If it is rejected, or does not have the planned length.
pub fn write_planned(dictionary: &Dictionary, plan: FilePlan<'_>) -> Vec<u8> {
    let (mut window, mut buffer) = ([0; 100], [0; 32]);
    let mut recorded = vec![0; usize::try_from(plan.file_len()).expect("fits in usize")];
    let mut writer = Writer::new(Sink::new(SinkPlan::default()), plan, &mut window).expect("a window");
    let mut recorder = Writer::record(&mut recorded[..], plan, &mut buffer).expect("memory of its length");
    for planned in plan.tensors() {
        if let PlannedContent::Tensor { index, spec } = planned.content {
            let bytes = &dictionary.tensors[index].bytes;
            writer.write_tensor(spec.name(), bytes).expect("next in order");
            recorder.write_tensor(spec.name(), bytes).expect("next in order");
        }
    }
    recorder.finish().expect("complete");
    let sink = writer.finish().expect("complete");
    assert!(sink.is_flushed && sink.file == recorded);
    sink.file
}

/// Returns the dictionary that every reader must find in a planned file: its tensors in order, including
/// those of padding.
pub fn as_planned(dictionary: &Dictionary, plan: FilePlan<'_>) -> Dictionary {
    let tensor = |planned: PlannedTensor<'_>| match planned.content {
        PlannedContent::Tensor { index, .. } => dictionary.tensors[index].clone(),
        PlannedContent::Padding { number } => padding(number, planned.byte_len()),
    };
    Dictionary { tensors: plan.tensors().map(tensor).collect(), metadata: dictionary.metadata.clone() }
}

/// Returns a tensor of padding.
pub fn padding(number: u32, len: u64) -> Named {
    let bytes = vec![0; usize::try_from(len).expect("fits in usize")];
    Named { name: format!("__padding__.{number}"), dtype: "U8".to_owned(), dims: vec![len], bytes }
}

/// Whether a tensor is padding, in a file that has some.
pub fn is_padding(tensor: &Named) -> bool {
    tensor.name.starts_with("__padding__.")
}

/// Returns the dictionary of a valid file.
///
/// # Panics
/// If it is rejected.
pub fn read(file: &[u8]) -> Dictionary {
    let table = full_verdict(file).unwrap_or_else(|error| panic!("{error}"));
    let view = View::parse(file).unwrap_or_else(|error| panic!("{error}"));
    Dictionary::from_table(&table, view.data())
}
