//! An index in a `static`: its memory is known at link time and uses no stack, and lookups do no I/O.
//!
//! ```text
//! fc1.bias [64]
//! fc1.weight [64, 32]
//! fc2.bias [3]
//! fc2.weight [3, 64]
//! fc2.bias: [0.0, 0.25, 0.5]
//! ```

mod support {
    pub mod model;
}

use embedded_safetensors::{
    Model,
    index::{Index, IndexStorage},
};
use static_cell::ConstStaticCell;
use std::error::Error;
use support::model;

/// Space for 8 tensors, 16 dimensions and 128 bytes of names; `safetensors inspect` prints the sizes for a
/// model.
static INDEX: ConstStaticCell<IndexStorage<8, 16, 128>> = ConstStaticCell::new(IndexStorage::new());

fn main() -> Result<(), Box<dyn Error>> {
    let file = model::file();
    let memory = INDEX.take().memory();
    let (mut model, mut index): (_, Index<'static>) = Model::open_indexed(&file[..], memory, &mut [0; 64])?;

    for tensor in index.by_name() {
        println!("{} {:?}", tensor.name(), tensor.dims());
    }
    let bias = index.find("fc2.bias")?.ok_or("the model has no bias")?;
    let mut buffer = [0; 16];
    let bytes = model.reader(&bias)?.read_to_end(&mut buffer)?;
    println!("{}: {:?}", bias.name(), model::floats(bytes).collect::<Vec<_>>());
    Ok(())
}
