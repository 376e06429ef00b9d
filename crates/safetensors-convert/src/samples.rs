//! Bytes for tests.

/// Returns bytes that no two runs share, with every kind of number.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    });
    bytes.take(len).collect()
}
