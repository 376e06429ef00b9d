//! Records files on a card with a driver that firmware uses. The driver cannot seek beyond the end of a
//! file.

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    io::Seekable,
    validate::{SortSlot, validate},
    write::{FileSpec, TensorSpec, Writer},
};
use embedded_sdmmc::{Mode, VolumeIdx};
use guide::card;

const TENSORS: [TensorSpec<'_>; 2] =
    [TensorSpec::new("gains", Dtype::F32, &[3]), TensorSpec::new("log", Dtype::U8, &[5000])];

/// Records over a file with these bytes, opened in this mode. Returns the bytes on the card afterwards, or
/// the error.
fn record(old: &[u8], mode: Mode) -> Result<Vec<u8>, ErrorKind> {
    let card = card::with_file("LOG.ST", old).expect("card works");
    let volume = card.open_volume(VolumeIdx(0)).expect("has a volume");
    let root = volume.open_root_dir().expect("has a root directory");
    let file = root.open_file_in_dir("LOG.ST", mode).expect("file exists");
    let plan = FileSpec::new(&TENSORS).plan().expect("valid spec");
    let mut sector = [0; 512];
    let mut recorder = match Writer::record(Seekable::new(file), plan, &mut sector) {
        Err(WriteError::Format(error)) => return Err(error.kind),
        other => other.expect("card works"),
    };
    recorder.write(&[0.25_f32, 0.5, 0.75]).expect("expected next");
    [7; 5000].chunks(333).for_each(|piece| recorder.write_bytes(piece).expect("expected next"));
    recorder.finish().expect("complete").into_inner().close().expect("card works");

    let file = root.open_file_in_dir("LOG.ST", Mode::ReadOnly).expect("file exists");
    let mut bytes = vec![0; file.length() as usize];
    file.read(&mut bytes).expect("card works");
    Ok(bytes)
}

#[test]
fn files_are_recorded_on_card() {
    let expected: Vec<u8> =
        [0.25_f32, 0.5, 0.75].into_iter().flat_map(f32::to_le_bytes).chain([7; 5000]).collect();
    for (old, mode) in [
        (0, Mode::ReadWriteAppend),
        (5, Mode::ReadWriteAppend),
        (700, Mode::ReadWriteAppend),
        (700, Mode::ReadWriteTruncate),
        (60_000, Mode::ReadWriteCreateOrTruncate),
    ] {
        let file = record(&vec![1; old], mode).expect("fits");
        validate(&file, &mut [SortSlot::EMPTY; 2], &mut []).expect("valid file");
        assert!(file.ends_with(&expected), "{old}, {mode:?}");
    }
}

#[test]
fn longer_file_on_card_is_rejected() {
    let error = record(&[1; 60_000], Mode::ReadWriteAppend).expect_err("file is longer");
    assert!(matches!(error, ErrorKind::Longer { len: 60_000, .. }), "{error}");
}
