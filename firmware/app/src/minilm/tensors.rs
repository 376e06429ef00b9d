//! The tensors of the network: which dtypes and shapes they must have.

use super::{LAYERS, NEURONS, WIDTH};
use crate::failure::{Difference, Form};
use embedded_safetensors::{Dtype, Shape, query::Query};

/// The weights of a part, their scales if they are quantised, and the bias.
pub(super) type Part = [Query<'static>; 3];

/// The number of parts of a layer.
pub(super) const PARTS: usize = 8;

/// Parts that are not looked for yet.
pub(super) const NOTHING: [Part; PARTS] = [[const { Query::optional("") }; 3]; PARTS];

/// The names of a part, empty if it has no bias, and the forms of its weights and of its vectors.
pub(super) struct Expected([&'static str; 3], &'static Form, &'static Form);

static VECTOR: Form = form(&[WIDTH as u64]);
static SQUARE: Form = form(&[WIDTH as u64, WIDTH as u64]);
static NEURON: Form = form(&[NEURONS as u64]);
static UP: Form = form(&[NEURONS as u64, WIDTH as u64]);
static DOWN: Form = form(&[WIDTH as u64, NEURONS as u64]);

const fn form(dims: &[u64]) -> Form {
    match Shape::new(dims) {
        Ok(shape) => Form::new(Dtype::F32, shape),
        Err(_) => panic!("a matrix has two dimensions"),
    }
}

macro_rules! table {
    ($name:literal, $rows:literal) => {{
        static MATRIX: Form = form(&[$rows, WIDTH as u64]);
        static SCALES: Form = form(&[$rows]);
        let weight = concat!("embeddings.", $name, "_embeddings.weight");
        Expected([weight, concat!("embeddings.", $name, "_embeddings.weight.scale"), ""], &MATRIX, &SCALES)
    }};
}

macro_rules! part {
    ($weight:ident, $vector:ident, $($name:literal)+) => {{
        let (weight, scale) = (concat!($($name,)+ ".weight"), concat!($($name,)+ ".weight.scale"));
        Expected([weight, scale, concat!($($name,)+ ".bias")], &$weight, &$vector)
    }};
}

macro_rules! layer {
    ($number:literal) => {
        [
            part!(SQUARE, VECTOR, "encoder.layer." $number ".attention.self.query"),
            part!(SQUARE, VECTOR, "encoder.layer." $number ".attention.self.key"),
            part!(SQUARE, VECTOR, "encoder.layer." $number ".attention.self.value"),
            part!(SQUARE, VECTOR, "encoder.layer." $number ".attention.output.dense"),
            part!(VECTOR, VECTOR, "encoder.layer." $number ".attention.output.LayerNorm"),
            part!(UP, NEURON, "encoder.layer." $number ".intermediate.dense"),
            part!(DOWN, VECTOR, "encoder.layer." $number ".output.dense"),
            part!(VECTOR, VECTOR, "encoder.layer." $number ".output.LayerNorm"),
        ]
    };
}

/// The tables of words, positions and kinds of text, and the normalisation after them.
pub(super) static EMBEDDINGS: [Expected; 4] = [
    table!("word", 30_522),
    table!("position", 512),
    table!("token_type", 2),
    part!(VECTOR, VECTOR, "embeddings.LayerNorm"),
];

/// Queries, keys, values, and the matrix that mixes them, with its normalisation; both matrices of the
/// neurons, with their normalisation.
pub(super) static ENCODER: [[Expected; PARTS]; LAYERS] =
    [layer!(0), layer!(1), layer!(2), layer!(3), layer!(4), layer!(5)];

impl Expected {
    pub(super) fn queries(&self) -> Part {
        self.0.map(Query::optional)
    }

    /// Checks what was found: weights as F32, or a matrix as I8 with scales. Forgets scales beside F32.
    pub(super) fn check(&self, [weight, scale, bias]: &mut Part, data_start: u64) -> Result<(), Difference> {
        let &Self(_, of_weight, of_vector) = self;
        let is_matrix = |shape: &Shape| shape.dims().len() == 2 && of_weight.has_shape(shape);
        if weight.info().is_some_and(|info| info.dtype() == Dtype::I8 && is_matrix(info.shape())) {
            check(scale, of_vector, data_start)?;
        } else {
            check(weight, of_weight, data_start)?;
            *scale = Query::optional("");
        }
        if bias.name().is_empty() { Ok(()) } else { check(bias, of_vector, data_start) }
    }
}

fn form_of(tensor: &Query<'_>) -> Option<Form> {
    tensor.info().map(|info| Form::new(info.dtype(), *info.shape()))
}

fn check(tensor: &Query<'static>, expected: &'static Form, data_start: u64) -> Result<(), Difference> {
    let found = form_of(tensor);
    if found == Some(*expected) {
        return Ok(());
    }
    let at = data_start + tensor.info().map_or(0, |info| info.begin());
    Err(Difference { name: tensor.name(), at, found, expected })
}
