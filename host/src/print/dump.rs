//! The output of `inspect` as JSON.

use crate::json::{Object, quoted};
use crate::print::facts::{Facts, alignment};
use crate::print::listing::push_number;
use crate::print::plan;
use crate::text::is_simple;
use embedded_safetensors::index::IndexedTensor;
use std::io::{self, Write};

/// The tensors of an index as a member of an object.
pub fn tensors(tensors: &[IndexedTensor<'_>], data_start: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"tensors\":{")?;
    let mut text = Vec::new();
    for tensor in tensors {
        push_tensor(&mut text, tensor, data_start);
        out.write_all(&text)?;
        text.clear();
        text.push(b',');
    }
    out.write_all(b"}")
}

fn push_tensor(text: &mut Vec<u8>, tensor: &IndexedTensor<'_>, data_start: u64) {
    push_quoted(text, tensor.name());
    text.extend_from_slice(b":{\"dtype\":\"");
    text.extend_from_slice(tensor.dtype().name().as_bytes());
    text.extend_from_slice(b"\",\"shape\":");
    push_numbers(text, tensor.dims());
    text.extend_from_slice(b",\"data_offsets\":");
    push_numbers(text, &[tensor.begin(), tensor.end()]);
    text.extend_from_slice(b",\"alignment\":");
    push_number(text, alignment(data_start, tensor.begin()));
    text.push(b'}');
}

/// Most names need no escapes.
fn push_quoted(text: &mut Vec<u8>, name: &str) {
    if is_simple(name) {
        text.push(b'"');
        text.extend_from_slice(name.as_bytes());
        text.push(b'"');
    } else {
        text.extend_from_slice(quoted(name).as_bytes());
    }
}

fn push_numbers(text: &mut Vec<u8>, numbers: &[u64]) {
    text.push(b'[');
    for (index, number) in numbers.iter().enumerate() {
        text.extend_from_slice(if index == 0 { b"" } else { b"," });
        push_number(text, *number);
    }
    text.push(b']');
}

/// The number of parameters of each dtype, and their bytes.
pub fn by_dtype(facts: &Facts) -> String {
    let object = facts.by_dtype.iter().fold(Object::new(), |object, of| {
        let both = Object::new().number("parameters", of.elements).number("bytes", of.bytes).end();
        object.raw(of.dtype.name(), &both)
    });
    object.end()
}

/// The facts as further members.
pub fn facts(facts: &Facts) -> String {
    let object = Object::new()
        .number("parameters", facts.parameters())
        .raw("dtypes", &by_dtype(facts))
        .number("misaligned", facts.misaligned);
    let members = plan::sizes(&facts.sizes, object).flag("in_order", !facts.out_of_order).end();
    members[1..members.len() - 1].to_owned()
}
