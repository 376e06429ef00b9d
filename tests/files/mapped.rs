//! Models in files that are mapped. `apis` maps every vector.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use embedded_safetensors::{
    Dtype, MappedModel, Tensor,
    file::{Advice, FileError, FileErrorKind, MapOptions},
    write::{FileSpec, TensorSpec},
};
use safetensors_files::write_file;

use crate::files::temp_dir::{TempDir, message};

fn open_with(options: MapOptions, path: &Path) -> Result<MappedModel, FileError> {
    // SAFETY: the file is in the directory of one test, which reads no byte of the map once it has changed
    // the file.
    unsafe { options.open(path) }
}

/// Maps a file of a test.
pub fn open(path: &Path) -> Result<MappedModel, FileError> {
    // SAFETY: as above.
    unsafe { MappedModel::open(path) }
}

/// Writes tensors of these lengths, each filled with its number.
fn put(dir: &TempDir, lens: &[u64]) -> std::path::PathBuf {
    let names: Vec<String> = (0..lens.len()).map(|number| format!("layer.{number:05}")).collect();
    let specs: Vec<_> = names
        .iter()
        .zip(lens)
        .map(|(name, len)| TensorSpec::new(name, Dtype::U8, std::slice::from_ref(len)))
        .collect();
    let path = dir.join("model");
    let fill = |file: &mut safetensors_files::FileWriter<'_>| {
        names.iter().zip(lens).enumerate().try_for_each(|(number, (name, &len))| {
            let bytes = vec![number.to_le_bytes()[0]; usize::try_from(len).expect("fits in usize")];
            file.write_tensor(name, &bytes)
        })
    };
    write_file(&path, FileSpec::new(&specs), fill).expect("succeeds");
    path
}

fn find<'m>(model: &'m MappedModel, name: &str) -> Tensor<'m> {
    model.find(name).expect("valid file").expect("present")
}

#[test]
fn model_can_move_to_another_thread() {
    let dir = TempDir::new();
    let model = open(&put(&dir, &[5, 6])).expect("valid file");
    let last = std::thread::spawn(move || find(&model, "layer.00001").bytes().to_vec());
    assert_eq!(last.join().expect("no panic"), [1; 6]);
}

#[test]
fn path_that_is_not_a_model_is_an_error() {
    let dir = TempDir::new();
    let open_error = |path: &Path| message(&dir, open(path).map(drop));
    assert_eq!(open_error(dir.path()), ".: it is a directory, not a file");
    assert!(open_error(&dir.join("nothing")).starts_with("cannot open ./nothing: "));
    let empty = open(&dir.put("empty", b"")).expect_err("no header");
    let FileErrorKind::Format(error) = empty.kind() else { panic!("{empty}") };
    assert_eq!((error.kind.code(), error.at), ("container.short", 0));
}

#[test]
fn truncated_or_written_file_is_detected() {
    let dir = TempDir::new();
    let path = put(&dir, &[100_000, 100_000]);
    let file = File::options().write(true).open(&path).expect("present");
    let before = File::metadata(&file).and_then(|metadata| metadata.modified()).expect("known");
    let changed = |model: &MappedModel| message(&dir, model.check_unchanged());
    let model = open(&path).expect("valid file");
    model.check_unchanged().expect("unchanged");
    file.set_len(100_000).expect("can be truncated");
    file.set_modified(before).expect("time can be set");
    assert_eq!(changed(&model), "./model: it has changed since it was opened");
    drop(model);
    drop(put(&dir, &[100_000, 100_000]));
    let model = open(&path).expect("valid file");
    let file = File::options().write(true).open(&path).expect("present");
    file.set_modified(SystemTime::now() + Duration::from_secs(2)).expect("time can be set");
    assert_eq!(changed(&model), "./model: it has changed since it was opened");
}

#[cfg(unix)]
#[test]
fn model_is_unchanged_when_its_file_is_replaced() {
    let dir = TempDir::new();
    let model = open(&put(&dir, &[4, 4])).expect("valid file");
    drop(put(&dir, &[9]));
    model.check_unchanged().expect("the old file is unchanged");
    assert_eq!(find(&model, "layer.00001").bytes(), [1; 4]);
}

/// The system rejects ranges that do not start at a page.
#[test]
fn any_part_of_a_model_is_prefetched() {
    let dir = TempDir::new();
    let model = open(&put(&dir, &[0, 12_345, 54_321, 1])).expect("valid file");
    for tensor in model.tensors() {
        let bytes = tensor.expect("few enough dimensions").bytes();
        model.prefetch(bytes).expect("in the model");
        model.prefetch(&bytes[bytes.len() / 3..]).expect("in the model");
    }
    model.prefetch(model.view().file()).expect("in the model");
    model.prefetch(&[]).expect("nothing to do");
    let error = model.prefetch(b"else").expect_err("not in the model");
    let FileErrorKind::System { error: reason, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(reason.kind(), ErrorKind::InvalidInput);
    let message = message::<()>(&dir, Err(error));
    assert_eq!(message, "cannot read ahead in ./model: the bytes are of something else");
    for advice in [Advice::Normal, Advice::Sequential, Advice::Random, Advice::WillNeed] {
        model.advise(advice).expect("supported advice");
    }
}

/// Returns the kernel's report of this file's map: its flags, and how much of it is in memory.
#[cfg(target_os = "linux")]
fn map_of(path: &Path) -> (String, u64) {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("exists on Linux");
    let own = maps.split_once(path.to_str().expect("a plain path")).expect("mapped").1;
    let line = |name| own.lines().find_map(|line: &str| line.strip_prefix(name)).expect("reported").trim();
    (line("VmFlags:").to_owned(), line("Rss:").trim_end_matches(" kB").parse().expect("a number"))
}

#[cfg(target_os = "linux")]
#[test]
fn advice_is_passed_to_the_system() {
    let dir = TempDir::new();
    let path = put(&dir, &[4_000_000]);
    let flags = |advice| {
        let model = open_with(MapOptions::new().with_advice(advice), &path).expect("valid file");
        (map_of(&path).0, model).0.split(' ').filter(|flag| ["sr", "rr"].contains(flag)).collect::<String>()
    };
    assert_eq!([Advice::Normal, Advice::Sequential, Advice::Random].map(flags), ["", "sr", "rr"]);
    let model = open(&path).expect("valid file");
    assert!(map_of(&path).1 < 2000, "{:?}", map_of(&path));
    drop(model);
    let _model = open_with(MapOptions::new().with_all_pages(), &path).expect("valid file");
    assert!(map_of(&path).1 > 3900, "{:?}", map_of(&path));
}

#[cfg(all(unix, target_pointer_width = "32"))]
#[test]
fn file_longer_than_address_space_is_an_error() {
    let dir = TempDir::new();
    let len: u64 = 5 << 30;
    let bytes = support::file::with_entries(&[support::file::entry("a", "U8", [len], 0..len)], 0);
    let path = dir.put("long", &bytes);
    let file = File::options().write(true).open(&path).expect("present");
    file.set_len(bytes.len() as u64 + len).expect("sparse files are supported");
    let error = open(&path).expect_err("too long to map");
    assert!(matches!(error.kind(), FileErrorKind::TooLong { len: found } if *found > len), "{error}");
    assert!(embedded_safetensors::FileModel::open(&path).is_ok());
}
