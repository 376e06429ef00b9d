//! Shrinks a file to the smallest that still shows a difference.

/// Removes bytes from the file as long as it stays `interesting`. A true header length is kept true, so that
/// the text can shrink too.
pub fn shrink(file: &[u8], interesting: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut smallest = file.to_vec();
    let mut size = smallest.len();
    while size > 0 {
        let candidate = shorter(&smallest, size).find(|candidate| interesting(candidate));
        match candidate {
            Some(candidate) => smallest = candidate,
            None => size /= 2,
        }
    }
    smallest
}

/// Returns the file without `size` bytes, at every offset after the length.
fn shorter(file: &[u8], size: usize) -> impl Iterator<Item = Vec<u8>> {
    let last = file.len().checked_sub(size).map_or(0, |last| last + 1);
    (8..last.max(8)).map(move |from| {
        let mut shorter = file.to_vec();
        shorter.drain(from..from + size);
        keep_length(file, &mut shorter, from, size);
        shorter
    })
}

/// Subtracts the removed bytes from the header's length.
fn keep_length(file: &[u8], shorter: &mut [u8], from: usize, size: usize) {
    let (Some(&bytes), Some(target)) = (file.first_chunk(), shorter.first_chunk_mut()) else { return };
    let length = u64::from_le_bytes(bytes);
    let end = length.saturating_add(8);
    if end <= file.len() as u64 {
        let taken = end.min((from + size) as u64).saturating_sub(from as u64);
        *target = (length - taken).to_le_bytes();
    }
}
