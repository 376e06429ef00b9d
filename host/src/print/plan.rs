//! The numbers that a device needs for a model, of a model in one file, and as JSON.

use crate::error::Error;
use crate::input::model::{Model, Part};
use crate::json::Object;
use embedded_safetensors::FileModel;
use safetensors_emit::plan::{Extent, Plan, Sizes};

/// The file of a single-file model, which [`Model::open_in_file`] has opened.
///
/// # Errors
/// The model is sharded.
pub fn one_file(model: &Model) -> Result<&FileModel, Error> {
    match one_part(model)? {
        Part::File(part) => Ok(part),
        part => Err(Error::about(part.path(), "is on a server, but a file is needed")),
    }
}

/// The only file of a model.
///
/// # Errors
/// The model is sharded.
pub fn one_part(model: &Model) -> Result<&Part, Error> {
    match model.parts() {
        [part] => Ok(part),
        parts => {
            let sentence = format!("is in {} files, but one is needed; use `safetensors join`", parts.len());
            Err(Error::about(model.path(), sentence))
        }
    }
}

/// The plan as JSON.
pub fn json(plan: &Plan) -> String {
    let extent = |extent: Extent| {
        Object::new().number("bytes", extent.bytes).number("elements", extent.elements).end()
    };
    let object = Object::new()
        .number("file_bytes", plan.file_bytes)
        .number("header_bytes", plan.header_bytes)
        .number("data_start", plan.data_start)
        .number("data_bytes", plan.data_bytes);
    sizes(&plan.sizes, object)
        .raw("largest_tensor", &extent(plan.largest_tensor))
        .raw("largest_row", &extent(plan.largest_row))
        .end()
}

/// Adds the sizes to an object.
pub fn sizes(sizes: &Sizes, object: Object) -> Object {
    let index = Object::new().number("tensors", sizes.tensors).number("dims", sizes.dims);
    let index = index.number("name_bytes", sizes.name_bytes).number("bytes", sizes.index_bytes());
    let object = object.raw("index", &index.end());
    object.number("longest_name", sizes.longest_name).number("most_dims", sizes.most_dims)
}
