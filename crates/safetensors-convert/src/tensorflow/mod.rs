//! Checkpoints of TensorFlow, and the variables of a SavedModel.
//!
//! A checkpoint of the format V2 is an index `NAME.index`, and data files `NAME.data-00000-of-00002`. The
//! index is a table of LevelDB's format: sorted names, each with a dtype, a shape, and the place and the
//! checksum of its bytes. Nothing of a graph is read, nor executed.
//!
//! Rejected: checkpoints of the format V1; dtypes that safetensors does not have; variables partitioned along
//! several axes; entries that share bytes. Tensors of texts, such as the object graph that Keras stores, are
//! left out. All others have the names that `tf.train.list_variables`
//! lists.
//!
//! Memory: some blocks of the index of at most 4 MiB each while it is read, then at most 256 bytes and the
//! name of each tensor or slice; 16 MiB while a partitioned variable is read.

mod block;
mod checkpoint;
mod entry;
#[cfg(test)]
mod made;
mod path;
mod scan;
mod slices;
mod stored;
mod table;
#[cfg(test)]
mod tests;

pub use checkpoint::Checkpoint;
pub use path::index_of;
pub use table::is_table;
