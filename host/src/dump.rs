//! What `inspect` knows of a file, as JSON.

use crate::facts::{Facts, alignment};
use crate::json::{Object, quoted};
use crate::rows::{Listing, Row};
use crate::table::push_number;
use crate::text::is_simple;
use std::io::{self, Write};

/// The tensors and the metadata of a header that is held, as two members of an object.
pub fn members(listing: &Listing, data_start: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"tensors\":{")?;
    let mut text = Vec::new();
    for row in listing.rows(0..listing.len()) {
        push_tensor(&mut text, &row, data_start);
        out.write_all(&text)?;
        text.clear();
        text.push(b',');
    }
    write!(out, "}},\"metadata\":{}", metadata(listing))
}

fn push_tensor(text: &mut Vec<u8>, row: &Row<'_>, data_start: u64) {
    push_quoted(text, row.name);
    text.extend_from_slice(b":{\"dtype\":\"");
    text.extend_from_slice(row.dtype.name().as_bytes());
    text.extend_from_slice(b"\",\"shape\":");
    push_numbers(text, row.dims);
    text.extend_from_slice(b",\"data_offsets\":");
    push_numbers(text, &[row.begin, row.end]);
    text.extend_from_slice(b",\"alignment\":");
    push_number(text, alignment(data_start, row.begin));
    text.push(b'}');
}

/// Most names are as they are spelled.
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

fn metadata(listing: &Listing) -> String {
    let Some(pairs) = &listing.metadata else { return "null".into() };
    let pairs = pairs.iter().fold(Object::new(), |object, (key, value)| object.text(key, value));
    pairs.end()
}

/// How many parameters each dtype has, and bytes.
pub fn by_dtype(facts: &Facts) -> String {
    let object = facts.by_dtype.iter().fold(Object::new(), |object, (dtype, elements, bytes)| {
        let both = Object::new().number("parameters", *elements).number("bytes", *bytes).end();
        object.raw(dtype.name(), &both)
    });
    object.end()
}

/// More members.
pub fn facts(facts: &Facts) -> String {
    let Facts { tensors, dims, name_bytes, longest_name, most_dims, misaligned, .. } = *facts;
    let index =
        Object::new().number("tensors", tensors).number("dims", dims).number("name_bytes", name_bytes);
    let index = index.number("bytes", facts.index_bytes()).end();
    let members = Object::new()
        .number("parameters", facts.parameters())
        .raw("dtypes", &by_dtype(facts))
        .number("misaligned", misaligned)
        .raw("index", &index)
        .number("longest_name", longest_name)
        .number("most_dims", most_dims)
        .flag("in_order", !facts.out_of_order)
        .end();
    members[1..members.len() - 1].to_owned()
}
