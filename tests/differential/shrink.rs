//! The smallest file that still shows a difference, by leaving out what is not needed.

/// Leaves bytes out of the file as long as it stays `interesting`. Where the header's length is true,
/// it is kept true, so that the text can shrink too.
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

/// The file without `size` bytes, from every place behind the length.
fn shorter(file: &[u8], size: usize) -> impl Iterator<Item = Vec<u8>> {
    let last = file.len().checked_sub(size).map_or(0, |last| last + 1);
    (8..last.max(8)).map(move |from| {
        let mut shorter = file.to_vec();
        shorter.drain(from..from + size);
        keep_length(file, &mut shorter, from, size);
        shorter
    })
}

/// Takes from the header's length what was taken from the header.
fn keep_length(file: &[u8], shorter: &mut [u8], from: usize, size: usize) {
    let (Some(&bytes), Some(target)) = (file.first_chunk(), shorter.first_chunk_mut()) else { return };
    let length = u64::from_le_bytes(bytes);
    let end = length.saturating_add(8);
    if end <= file.len() as u64 {
        let taken = end.min((from + size) as u64).saturating_sub(from as u64);
        *target = (length - taken).to_le_bytes();
    }
}
