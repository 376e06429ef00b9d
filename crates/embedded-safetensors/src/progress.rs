//! How a check speaks with whoever feeds it.

/// What a check that takes several passes needs next.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a check that asks to be fed from byte 0 again must be"]
pub enum Progress {
    /// All input is consumed; go on with the bytes that follow it.
    NeedInput,
    /// Start again at byte 0 of the file.
    Rewind,
    /// The file passed.
    Done,
}
