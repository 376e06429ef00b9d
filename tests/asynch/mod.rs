//! What differs where storage is awaited: what dropped futures leave behind, the sizes of the futures, and
//! flash that is awaited. Each operation with faults and drops at every call is in `faults`, where both forms
//! of the library are tested by one text.

mod ahead;
mod dropped;
mod futures;
mod recording;
mod slots;

use support::file::with_header;

/// Returns a file with three tensors out of order, and metadata.
fn file() -> Vec<u8> {
    let header = concat!(
        r#"{"__metadata__":{"unit":"seven","count":"12"},"#,
        r#""ab":{"dtype":"U8","shape":[],"data_offsets":[14,15]},"#,
        r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""long":{"dtype":"F32","shape":[3],"data_offsets":[2,14]}}"#,
    );
    let mut file = with_header(header, 0);
    file.extend(b"xyABCDabcd1234!");
    file
}
