//! Messages of protocol buffers, and files of ONNX and TFLite, made by hand.
#![allow(clippy::cast_possible_truncation)]

/// A number of variable length.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f).to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// A field with a number.
pub fn number(field: u64, number: u64) -> Vec<u8> {
    [varint(field << 3), varint(number)].concat()
}

/// A field with a message.
pub fn message(field: u64, message: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2)[..], &varint(message.len() as u64), message].concat()
}

/// A tensor of ONNX, and the fields with its elements.
pub fn tensor(name: &str, dtype: u64, dims: &[u64], elements: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| number(1, *dim)).collect();
    [dims, number(2, dtype), message(8, name.as_bytes()), elements.to_vec()].concat()
}

/// The fields of a tensor of ONNX with its place in another file.
pub fn outside(pairs: &[(&str, &str)]) -> Vec<u8> {
    let pair = |(key, value): &(&str, &str)| {
        message(13, &[message(1, key.as_bytes()), message(2, value.as_bytes())].concat())
    };
    [number(14, 1), pairs.iter().flat_map(pair).collect()].concat()
}

/// A file of ONNX: a graph with these fields.
pub fn onnx(graph: &[u8]) -> Vec<u8> {
    [number(1, 8), message(2, b"by hand"), message(7, graph)].concat()
}

/// The value of a field of TFLite.
#[derive(Clone)]
pub enum Value {
    Number(u64),
    /// A vector or a text: the number of its elements, and their bytes.
    Vector(usize, Vec<u8>),
    Tables(Vec<Fields>),
    Table(Fields),
}

/// The fields of a table, with their numbers.
pub type Fields = Vec<(usize, Value)>;

/// Appends a table after its list of 12 fields, and all to which it leads.
fn put(out: &mut Vec<u8>, from: usize, fields: &Fields) {
    let (list, table) = (out.len(), out.len() + 28);
    out.extend([28, 0, 8 + 8 * fields.len() as u8].iter().chain(&[0; 25]));
    out.extend([28].iter().chain(&vec![0; 7 + 8 * fields.len()]));
    lead(out, from, table);
    for (at, (number, value)) in (8..).step_by(8).zip(fields) {
        out[list + 4 + 2 * number] = at as u8;
        let at = table + at;
        match value {
            Value::Number(number) => out[at..at + 8].copy_from_slice(&number.to_le_bytes()),
            Value::Vector(len, bytes) => vector(out, at, *len, bytes),
            Value::Table(fields) => put(out, at, fields),
            Value::Tables(tables) => {
                vector(out, at, tables.len(), &vec![0; 4 * tables.len()]);
                let first = out.len() - 4 * tables.len();
                tables.iter().enumerate().for_each(|(index, fields)| put(out, first + 4 * index, fields));
            }
        }
    }
}

fn vector(out: &mut Vec<u8>, from: usize, len: usize, bytes: &[u8]) {
    let at = out.len();
    lead(out, from, at);
    out.extend((len as u32).to_le_bytes().iter().chain(bytes));
}

/// Makes the offset in this place lead to another one.
fn lead(out: &mut [u8], from: usize, to: usize) {
    out[from..from + 4].copy_from_slice(&((to - from) as u32).to_le_bytes());
}

/// A text of TFLite, or a vector of bytes.
pub fn text(text: impl AsRef<[u8]>) -> Value {
    numbers(text.as_ref().iter().map(|byte| [*byte]))
}

/// A vector of numbers.
pub fn numbers<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Value {
    let bytes: Vec<u8> = numbers.into_iter().flatten().collect();
    Value::Vector(bytes.len() / N, bytes)
}

/// A buffer of TFLite.
pub fn buffer(data: &[u8]) -> Fields {
    vec![(0, text(data))]
}

/// A tensor of TFLite, whose elements are in the buffer with this index.
pub fn tensor_of(name: &str, dtype: u64, dims: &[i32], buffer: u64) -> Fields {
    let shape = numbers(dims.iter().map(|dim| dim.to_le_bytes()));
    vec![(0, shape), (1, Value::Number(dtype)), (2, Value::Number(buffer)), (3, text(name))]
}

/// The field of a tensor that has scales and zero points for an axis.
pub fn scaled(scales: &[f32], zeros: &[i64], axis: u64) -> (usize, Value) {
    let scales = numbers(scales.iter().map(|scale| scale.to_le_bytes()));
    let zeros = numbers(zeros.iter().map(|zero| zero.to_le_bytes()));
    (4, Value::Table(vec![(2, scales), (3, zeros), (6, Value::Number(axis))]))
}

/// A file of TFLite with these tensors in each subgraph, and these buffers after the empty one.
pub fn tflite(graphs: &[(&str, Vec<Fields>)], buffers: &[Fields]) -> Vec<u8> {
    let graphs =
        graphs.iter().map(|(name, tensors)| vec![(0, Value::Tables(tensors.clone())), (4, text(name))]);
    let buffers = Value::Tables([&[vec![]], buffers].concat());
    let mut out = b"\0\0\0\0TFL3".to_vec();
    put(&mut out, 0, &vec![(0, Value::Number(3)), (2, Value::Tables(graphs.collect())), (4, buffers)]);
    out
}
