//! Writes a model as constants for Rust, `no_std`.

use crate::constants::Listing;
use crate::names::{Identifiers, identifier};
use embedded_safetensors::file::FileTensor;
use std::io::{self, Write};

/// Writes the module.
///
/// # Errors
/// Those of `out`.
pub fn write(listing: &Listing<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    let numbers = numbers(listing, prefix);
    let lists = ["TENSORS", "METADATA"].map(|name| named(prefix, name));
    let mut taken =
        Identifiers::new(numbers.iter().map(|number| number.name.clone()).chain(lists.clone()), &[]);
    let [tensors, metadata] = lists;
    begin(listing, out)?;
    for Number { name, kind, value, about } in &numbers {
        writeln!(out, "/// {about}\npub const {name}: {kind} = {value};")?;
    }
    writeln!(out)?;
    let mut identifiers = Vec::new();
    for tensor in listing.tensors() {
        let constant = taken.take(&identifier(prefix, tensor.name()));
        declare(listing, &tensor, &constant, out)?;
        identifiers.push(constant);
    }
    writeln!(out, "/// All tensors, in data order.\npub const {tensors}: &[Tensor] = &[")?;
    identifiers.iter().try_for_each(|constant| writeln!(out, "    {constant},"))?;
    writeln!(
        out,
        "];\n\n/// The keys and values of the metadata.\npub const {metadata}: &[(&str, &str)] = &["
    )?;
    listing
        .metadata()
        .map(|(key, value)| (literal(key), literal(value)))
        .try_for_each(|(key, value)| writeln!(out, "    ({key}, {value}),"))?;
    writeln!(out, "];")
}

fn named(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

fn begin(listing: &Listing<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "// Written by `safetensors emit` from {}. Offsets and sizes are in bytes.",
        listing.file()
    )?;
    let address =
        if listing.at.is_some() { "\n    /// Its address in memory.\n    pub address: usize," } else { "" };
    writeln!(
        out,
        "
/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {{
    /// Its name.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: &'static str,
    /// Its dimensions, outermost first.
    pub shape: &'static [usize],
    /// Its number of elements.
    pub elements: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its offset in the file.
    pub offset: u64,
    /// Its offset in the data.
    pub begin: u64,{address}
}}
"
    )
}

struct Number {
    name: String,
    kind: &'static str,
    value: String,
    about: String,
}

/// The numbers for the entire file.
fn numbers(listing: &Listing<'_>, prefix: &str) -> Vec<Number> {
    let address = listing.at.map(|at| {
        let (name, about) = (named(prefix, "ADDRESS"), "The address of the file in memory.".to_owned());
        Number { name, kind: "usize", value: format!("{at:#010x}"), about }
    });
    let numbers = listing.numbers().into_iter().enumerate().map(|(place, (name, value, about))| {
        let about = match name {
            "INDEX_TENSORS" => {
                "`IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds the index.".into()
            }
            _ => format!("{about}."),
        };
        let kind = if place < 4 { "u64" } else { "usize" };
        Number { name: named(prefix, name), kind, value: value.to_string(), about }
    });
    address.into_iter().chain(numbers).collect()
}

fn declare(
    listing: &Listing<'_>,
    tensor: &FileTensor<'_>,
    constant: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    let (name, dtype, dims) = (literal(tensor.name()), tensor.dtype().name(), dims.join(", "));
    writeln!(out, "/// {name}: {dtype} [{dims}]")?;
    writeln!(out, "pub const {constant}: Tensor = Tensor {{")?;
    writeln!(out, "    name: {name},\n    dtype: \"{dtype}\",\n    shape: &[{dims}],")?;
    writeln!(out, "    elements: {},\n    bytes: {},", tensor.elements(), tensor.byte_len())?;
    writeln!(out, "    offset: {},\n    begin: {},", listing.offset(tensor), tensor.begin())?;
    if let Some(address) = listing.address(tensor) {
        writeln!(out, "    address: {address:#010x},")?;
    }
    writeln!(out, "}};\n")
}

/// A literal in ASCII: rustc rejects characters that change the text direction.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
