//! The documented sizes, on 64-bit targets.

#![cfg(target_pointer_width = "64")]

use embedded_safetensors::file::{Advice, FileError, FileErrorKind, FileTensor, MapOptions};
use safetensors_files::shards::{PlannedShard, ShardErrorKind, ShardLimits};

#[test]
fn sizes_are_as_documented() {
    assert_eq!(
        [size_of::<ShardLimits>(), size_of::<PlannedShard>(), size_of::<FileTensor<'_>>()],
        [48, 56, 64]
    );
    assert_eq!([size_of::<MapOptions>(), size_of::<Advice>()], [2, 1]);
    assert!(size_of::<FileErrorKind>() <= 64 && size_of::<FileError>() <= 88);
    assert!(size_of::<ShardErrorKind>() <= 88);
}
