//! What is asked of a board whose instructions are counted path by path.

use super::figures::Request;
use super::headers::Header;
use super::{doors, streaming, values, writing};
use crate::model;

/// One path through the core.
pub struct Asked {
    pub path: String,
    pub request: Request,
    /// What the board has to say that it counted, if all went well.
    pub due: u64,
}

const TENSORS: u32 = 1000;

/// All of them.
pub fn asked() -> Result<Vec<Asked>, String> {
    let files = [("canonical", canonical()), ("spaced", spaced())];
    let headers = doors::all(TENSORS).into_iter().flat_map(|(door, number, due)| {
        files.each_ref().map(|(spelling, file)| {
            let file_len = file.len() as u64;
            let request = Request { door: number, slots: 64, file: file.clone(), file_len };
            Asked { path: format!("{door}, {TENSORS} tensors, {spelling}"), request, due }
        })
    });
    let mut asked: Vec<Asked> = headers.collect();
    for (path, door) in [
        ("Model: open, find 12 of 1000", streaming::OPEN_AND_FIND),
        ("Model: open, find 12 of 1000, read 1 MiB by hand", streaming::READ_RAW),
        ("Model: open, find 12 of 1000, stream 1 MiB", streaming::STREAM),
    ] {
        let (request, due) = streaming::request(door, TENSORS)?;
        asked.push(Asked { path: path.to_owned(), request, due });
    }
    asked.extend(["F32", "F16", "BF16", "I8"].into_iter().zip([4, 2, 2, 1]).flat_map(matrix));
    asked.extend(writing::MOST_STACK.map(|(door, number, _)| {
        let request = writing::request(number);
        Asked { path: format!("{door}: a file"), due: request.file_len, request }
    }));
    Ok(asked)
}

fn canonical() -> Vec<u8> {
    let header = Header { tensors: TENSORS, ..Header::SMALL };
    with_data(header.bytes(), &header)
}

fn spaced() -> Vec<u8> {
    let header = Header { tensors: TENSORS, ..Header::SMALL };
    let text = model::spaced(&String::from_utf8_lossy(&header.bytes().split_off(8)));
    with_data([&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat(), &header)
}

fn with_data(mut head: Vec<u8>, header: &Header) -> Vec<u8> {
    head.extend((0..header.data_len()).map(|_| 0));
    head
}

/// A matrix of these read as `f32`, row by row and in part.
fn matrix((dtype, width): (&str, u64)) -> [Asked; 2] {
    let values = values::ROWS * values::ROW;
    [("rows", values::READ_ROWS, values), ("a slice", values::READ_SLICE, values / 4)].map(
        |(what, door, due)| {
            let request = values::request(door, dtype, width);
            Asked { path: format!("Model: {what} of {dtype} as f32"), request, due }
        },
    )
}
