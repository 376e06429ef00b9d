//! The tensors of a layer, and whether they can be rewritten.

use super::packing::{IN_INTEGER, MIDDLE, Packing};
use super::rewrite::{integers, zero_points};
use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::tensor::slice::about;
use embedded_safetensors::Dtype;
use std::path::Path;

/// The ends of the names of a layer's tensors. The first one marks a layer.
const WEIGHTS: &str = ".qweight";
const ENDS: [&str; 4] = [WEIGHTS, ".scales", ".qzeros", ".g_idx"];

/// The group sizes of the new layout.
const GROUPS: [u64; 3] = [32, 64, 128];

/// A layer that can be rewritten.
pub struct Layer<'m> {
    /// The name before `.qweight`.
    pub name: &'m str,
    pub packing: Packing,
    pub outputs: u64,
    pub inputs: u64,
    /// How many inputs share a scale.
    pub group: u64,
    pub weights: Tensor<'m>,
    pub scales: Tensor<'m>,
    pub zeros: Tensor<'m>,
    /// The zero point, if all are equal.
    pub zero_point: Option<u8>,
    pub path: &'m Path,
}

/// A new tensor of a layer.
#[derive(Clone, Copy)]
pub enum Part {
    Weights,
    Scales,
    ZeroPoints,
}

impl<'m> Layer<'m> {
    /// The layers of a model.
    ///
    /// # Errors
    /// A layer cannot be rewritten, or cannot be read; interruption by the user.
    pub fn all(model: &'m Model, packing: Packing) -> Result<Vec<Self>, Error> {
        let names = model.tensors().filter_map(|tensor| tensor.name().strip_suffix(WEIGHTS));
        names.map(|name| Self::of(model, name, packing)).collect()
    }

    /// Whether a tensor is a part of this layer, and so not copied.
    pub fn has(&self, name: &str) -> bool {
        name.strip_prefix(self.name).is_some_and(|end| ENDS.contains(&end))
    }

    /// The packing that the zero points of all layers suggest instead: there, the model would be symmetric.
    pub fn suggested(layers: &[Self]) -> Option<Packing> {
        let mut all = layers.iter().map(|layer| layer.packing.instead(layer.zero_point?));
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }

    /// Whether a zero point is not the one that needs not be stored.
    pub fn has_zeros(&self) -> bool {
        self.zero_point != Some(MIDDLE)
    }

    /// The new tensors, with their names, dtypes and shapes.
    pub fn parts(&self) -> impl Iterator<Item = (Part, String, Dtype, [u64; 2])> {
        let (name, rows, groups) = (self.name, self.outputs, self.inputs / self.group);
        let weights = (Part::Weights, format!("{name}.weight"), Dtype::U8, [rows, self.inputs / 2]);
        let scales = (Part::Scales, format!("{name}.weight.scale"), self.scales.dtype(), [rows, groups]);
        let zeros = (Part::ZeroPoints, format!("{name}.weight.zero_point"), Dtype::U8, [rows, groups]);
        [weights, scales].into_iter().chain(self.has_zeros().then_some(zeros))
    }

    fn of(model: &'m Model, name: &'m str, packing: Packing) -> Result<Self, Error> {
        let tensor = |end| model.tensor(&format!("{name}{end}"));
        let (weights, scales, zeros) = (tensor(WEIGHTS)?, tensor(".scales")?, tensor(".qzeros")?);
        let path = model.path();
        let [outputs, inputs] = packing.of_dims(matrix(path, &weights, "I32")?);
        let [groups, _] = matrix(path, &scales, "F16, BF16 or F32")?;
        let group = inputs.checked_div(groups).unwrap_or(0);
        must_have_dims(path, &scales, [groups, outputs])?;
        matrix(path, &zeros, "I32")?;
        must_have_dims(path, &zeros, [groups, outputs / IN_INTEGER])?;
        must_have_dims(path, &weights, packing.dims(outputs / IN_INTEGER * IN_INTEGER, inputs))?;
        if !GROUPS.contains(&group) || group * groups != inputs {
            let sentence =
                format!("{inputs} inputs in {groups} groups, but a group must have 32, 64 or 128 inputs");
            return Err(about(path, &scales, &sentence));
        }
        let layer =
            Self { name, packing, outputs, inputs, group, weights, scales, zeros, zero_point: None, path };
        if let Some(order) = model.find(&format!("{name}.g_idx")) {
            layer.check_order(&order)?;
        }
        let all = zero_points(&layer)?;
        let first = all.first().copied().unwrap_or(MIDDLE);
        Ok(Self { zero_point: all.iter().all(|zero| *zero == first).then_some(first), ..layer })
    }

    /// # Errors
    /// An input is not in the group of its place: the layer was quantised in the order of activations.
    fn check_order(&self, order: &Tensor<'_>) -> Result<(), Error> {
        let found = order.dims();
        if order.dtype() != Dtype::I32 || found != [self.inputs] {
            let sentence = format!(
                "is {} {found:?}, but 4-bit weights of this shape have I32 [{}]: only 4 bits are supported",
                order.dtype(),
                self.inputs
            );
            return Err(about(self.path, order, &sentence));
        }
        let groups = integers(self.path, order)?;
        let due = (0..self.inputs).map(|input| input / self.group);
        match due.zip(groups).zip(0..).find(|((due, group), _)| *due != u64::from(*group)) {
            None => Ok(()),
            Some(((due, group), input)) => {
                let sentence = format!(
                    "input {input} is in group {}, not {due}: weights in the order of activations (desc_act) \
                     cannot be rewritten in groups of neighbours",
                    group.cast_signed()
                );
                Err(about(self.path, order, &sentence))
            }
        }
    }
}

/// The dimensions of a matrix with one of these dtypes.
fn matrix(path: &Path, tensor: &Tensor<'_>, dtypes: &str) -> Result<[u64; 2], Error> {
    let (dtype, is_allowed) = (tensor.dtype(), |name| name == tensor.dtype().name());
    match tensor.dims().try_into() {
        Ok(dims) if dtypes.split([',', ' ']).any(is_allowed) => Ok(dims),
        _ => {
            let sentence = format!("is {dtype} {:?}, but needs {dtypes} and two axes", tensor.dims());
            Err(about(path, tensor, &sentence))
        }
    }
}

fn must_have_dims(path: &Path, tensor: &Tensor<'_>, dims: [u64; 2]) -> Result<(), Error> {
    if tensor.dims() == dims {
        return Ok(());
    }
    let sentence = format!(
        "has the shape {:?}, but 4-bit weights of this shape need {dims:?}: is --from right, and does the \
         model have 4 bits?",
        tensor.dims()
    );
    Err(about(path, tensor, &sentence))
}
