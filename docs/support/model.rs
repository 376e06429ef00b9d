//! The model that the examples read: two layers of a network with made-up weights.

/// Names and shapes.
const TENSORS: [(&str, &[usize]); 4] =
    [("fc1.weight", &[64, 32]), ("fc1.bias", &[64]), ("fc2.weight", &[3, 64]), ("fc2.bias", &[3])];

/// Creates the file: a header, and F32 elements that repeat 0, 0.25, 0.5, 0.75.
pub fn file() -> Vec<u8> {
    let (header, data_len) = header();
    let length = (header.len() as u64).to_le_bytes();
    let elements = [0.0f32, 0.25, 0.5, 0.75].map(f32::to_le_bytes).into_iter().flatten().cycle();
    length.into_iter().chain(header.into_bytes()).chain(elements.take(data_len)).collect()
}

fn header() -> (String, usize) {
    let mut entries = vec![String::from(r#""__metadata__":{"unit":"seven"}"#)];
    let mut end = 0;
    for (name, shape) in TENSORS {
        let begin = end;
        end += 4 * shape.iter().product::<usize>();
        let entry = format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#);
        entries.push(entry);
    }
    (format!("{{{}}}", entries.join(",")), end)
}

/// Decodes F32 elements from the bytes of a tensor or a chunk.
#[allow(dead_code)] // some examples read values
pub fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.chunks_exact(4).map(|element| f32::from_le_bytes([element[0], element[1], element[2], element[3]]))
}
