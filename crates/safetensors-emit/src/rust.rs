//! Writes a model as constants for Rust, `no_std`.

use crate::Constants;
use crate::constants::{Number, hex_lines};
use crate::names::{Identifiers, identifier};
use embedded_safetensors::{file::FileTensor, tensor::MAX_RANK};
use std::io::{self, Write};

/// Writes the module.
///
/// # Errors
/// Those of `out`.
pub fn write(constants: &Constants<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    let of_file = constants_of_file(constants, prefix);
    let lists = ["SHA256", "CRC32", "TENSORS", "QUERIES", "METADATA"].map(|name| named(prefix, name));
    let mut taken =
        Identifiers::new(of_file.iter().map(|constant| constant.name.clone()).chain(lists.clone()), &[]);
    let [sha256, crc32, tensors, queries, metadata] = &lists;
    begin(constants, [tensors, queries], out)?;
    for Constant { name, kind, value, about } in &of_file {
        writeln!(out, "/// {about}\npub const {name}: {kind} = {value};")?;
    }
    sums(constants, [sha256, crc32], out)?;
    let mut identifiers = Vec::new();
    for tensor in constants.tensors() {
        if tensor.dims().len() > MAX_RANK {
            leave_out(&tensor, out)?;
            continue;
        }
        let identifier = taken.take(&identifier(prefix, tensor.name()));
        declare(constants, &tensor, (&identifier, identifiers.len()), out)?;
        identifiers.push(identifier);
    }
    let all = match constants.left_out() {
        0 => "All tensors".to_owned(),
        left_out => format!("All tensors but {left_out} of more than {MAX_RANK} dimensions"),
    };
    arrays(&all, [tensors, queries], &identifiers, out)?;
    pairs(constants, metadata, out)
}

fn named(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

fn begin(constants: &Constants<'_>, [tensors, queries]: [&str; 2], out: &mut impl Write) -> io::Result<()> {
    let address = match constants.hex_address() {
        Some(_) => "\n    /// Its address in memory.\n    pub address: usize,",
        None => "",
    };
    writeln!(
        out,
        "// Written by safetensors-emit from {}. It needs the crate embedded-safetensors.

use embedded_safetensors::{{Dtype, query::Query}};

/// A tensor of the model. Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {{
    /// Its index in `{tensors}` and `{queries}`.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: Dtype,
    /// Its dimensions, outermost first.
    pub shape: &'static [u64],
    /// Its number of elements.
    pub elements: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its offset in the file.
    pub offset: u64,
    /// Its offset in the data.
    pub begin: u64,{address}
}}

impl Tensor {{
    /// Returns the query that finds it, and rejects another dtype or shape.
    pub const fn query(&self) -> Query<'static> {{
        Query::required(self.name).dtype(self.dtype).shape(self.shape)
    }}
}}
",
        constants.file_name()
    )
}

/// A constant for the entire file.
struct Constant {
    name: String,
    kind: &'static str,
    value: String,
    about: String,
}

/// The constants for the entire file.
fn constants_of_file(constants: &Constants<'_>, prefix: &str) -> Vec<Constant> {
    let address = constants.hex_address().map(|value| {
        let (name, about) = (named(prefix, "ADDRESS"), "The address of the file in memory.".to_owned());
        Constant { name, kind: "usize", value, about }
    });
    let of_kind = |kind: &'static str| {
        move |(name, value, about): Number| {
            let about = match name {
                "INDEX_TENSORS" => {
                    "`IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds the index.".into()
                }
                _ => format!("{about}."),
            };
            Constant { name: named(prefix, name), kind, value: value.to_string(), about }
        }
    };
    let of_file = constants.of_file().into_iter().map(of_kind("u64"));
    let of_memory = constants.of_memory().into_iter().map(of_kind("usize"));
    address.into_iter().chain(of_file).chain(of_memory).collect()
}

fn sums(constants: &Constants<'_>, [sha256, crc32]: [&str; 2], out: &mut impl Write) -> io::Result<()> {
    let [upper, lower] = hex_lines(constants.sha256());
    writeln!(out, "/// The SHA-256 of the file, for `Model::verify`.")?;
    writeln!(out, "pub const {sha256}: [u8; 32] = [\n    {upper},\n    {lower},\n];")?;
    writeln!(out, "/// The CRC-32 of the file, for `Model::verify`.")?;
    writeln!(out, "pub const {crc32}: u32 = {:#010x};\n", constants.crc32())
}

fn leave_out(tensor: &FileTensor<'_>, out: &mut impl Write) -> io::Result<()> {
    let (name, dtype, rank) = (tensor.name(), tensor.dtype().name(), tensor.dims().len());
    writeln!(
        out,
        "// {name:?}: {dtype} with {rank} dimensions is left out: a query has at most {MAX_RANK}.\n"
    )
}

/// Writes the constant of a tensor, with its identifier and its index.
fn declare(
    constants: &Constants<'_>,
    tensor: &FileTensor<'_>,
    (identifier, index): (&str, usize),
    out: &mut impl Write,
) -> io::Result<()> {
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    let (name, dtype, dims) = (tensor.name(), tensor.dtype().name(), dims.join(", "));
    writeln!(out, "/// {}{dtype} `[{dims}]`\npub const {identifier}: Tensor = Tensor {{", in_docs(name))?;
    writeln!(out, "    index: {index},\n    name: {},", literal(name))?;
    writeln!(out, "    dtype: Dtype::{dtype},\n    shape: &[{dims}],")?;
    writeln!(out, "    elements: {},\n    bytes: {},", tensor.elements(), tensor.byte_len())?;
    writeln!(out, "    offset: {},\n    begin: {},", constants.offset_of(tensor), tensor.begin())?;
    if let Some(address) = constants.address_of(tensor) {
        writeln!(out, "    address: {address:#010x},")?;
    }
    writeln!(out, "}};\n")
}

/// Writes the lists of tensors and queries; `all` says which tensors they are.
fn arrays(
    all: &str,
    [tensors, queries]: [&str; 2],
    identifiers: &[String],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "/// {all}, in data order.\npub const {tensors}: &[Tensor] = &[")?;
    identifiers.iter().try_for_each(|identifier| writeln!(out, "    {identifier},"))?;
    writeln!(out, "];\n\n/// What a program expects of the model, for `Model::open_with`: the queries of")?;
    writeln!(out, "/// `{tensors}`, in the same order.")?;
    writeln!(out, "pub const {queries}: [Query<'static>; {}] = [", identifiers.len())?;
    identifiers.iter().try_for_each(|identifier| writeln!(out, "    {identifier}.query(),"))?;
    writeln!(out, "];\n")
}

fn pairs(constants: &Constants<'_>, metadata: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "/// The keys and values of the metadata.")?;
    writeln!(out, "pub const {metadata}: &[(&str, &str)] = &[")?;
    let mut pairs = constants.metadata().map(|(key, value)| (literal(key), literal(value)));
    pairs.try_for_each(|(key, value)| writeln!(out, "    ({key}, {value}),"))?;
    writeln!(out, "];")
}

/// A name as code in Markdown, with a colon; nothing if it would end the code.
fn in_docs(name: &str) -> String {
    if name.contains('`') { String::new() } else { format!("`{name:?}`: ") }
}

/// A literal in ASCII: rustc rejects characters that change the text direction.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
