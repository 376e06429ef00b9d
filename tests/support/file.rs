//! Files made by hand.

/// A file with this header, and zeros for data.
pub fn with_header(header: &str, data_len: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + data_len, 0);
    file
}
