//! Files read back into dictionaries.

use embedded_safetensors::View;

use crate::dictionary::Dictionary;
use crate::judge::judge;

/// What stands in a sound file.
///
/// # Panics
/// When it is refused.
pub fn read(file: &[u8]) -> Dictionary {
    let table = judge(file).unwrap_or_else(|error| panic!("{error}: {file:?}"));
    let view = View::parse(file).unwrap_or_else(|error| panic!("{error}: {file:?}"));
    Dictionary::from_table(&table, view.data())
}
