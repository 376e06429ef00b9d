//! Models in several files, opened as one.

use embedded_safetensors::{
    Dtype,
    error::Class,
    write::{FileSpec, TensorSpec},
};
use safetensors_files::{EditError, EditErrorKind};
use safetensors_files::{
    shards::{ShardErrorKind, ShardIndex, ShardPlan, ShardedModel},
    write_file,
};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::temp_dir::TempDir;

const SHARDS: [&str; 2] = ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"];

/// Writes a file of tensors of four bytes, each the first letter of its name.
fn shard(path: &Path, names: &[impl AsRef<str>]) -> Result<(), EditError> {
    let specs: Vec<_> = names.iter().map(|name| TensorSpec::new(name.as_ref(), Dtype::U8, &[4])).collect();
    let file_name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
    let pairs = [
        ("format", "pt"),
        (if file_name == SHARDS[0] { "one" } else { "two" }, file_name),
        ("which", file_name),
    ];
    let pairs = if file_name == SHARDS[0] { &pairs[..] } else { &pairs[1..] };
    write_file(path, FileSpec::new(&specs).with_metadata(pairs), |file| {
        names.iter().try_for_each(|name| file.write_tensor(name.as_ref(), &[name.as_ref().as_bytes()[0]; 4]))
    })
}

/// Writes two shards of two tensors, and their index.
fn put(dir: &Path) -> PathBuf {
    let plan = ShardPlan::new("m", ["a", "b", "c", "d"].map(|name| (name, 4)), 8);
    plan.write(dir, |planned, path| shard(path, planned.tensors())).expect("succeeds")
}

fn bytes(model: &ShardedModel, name: &str) -> Vec<u8> {
    let tensor = model.find(name).expect("valid file").expect("present");
    tensor.reader().read_to_end(&mut [0; 4]).expect("readable").to_vec()
}

#[test]
fn shards_open_as_one_model() {
    let dir = TempDir::new();
    let index = put(dir.path());
    assert_eq!(index, dir.join("m.safetensors.index.json"));
    for path in [dir.path(), &index] {
        let model = ShardedModel::open(path).expect("valid file");
        assert_eq!((model.len(), model.is_empty(), model.path()), (4, false, &*index));
        assert_eq!(model.tensors().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!([bytes(&model, "a"), bytes(&model, "d")], [[b'a'; 4], [b'd'; 4]]);
        assert!(model.find("e").is_ok_and(|found| found.is_none()) && model.shard_of("e").is_none());
        assert_eq!(model.shard_of("c").map(|shard| shard.path()), Some(&*dir.join(SHARDS[1])));
        assert_eq!((model.shards().len(), model.index().total_size()), (2, Some(16)));
        let pairs: Vec<_> =
            model.metadata().into_iter().flatten().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(pairs, [("format", "pt"), ("one", SHARDS[0]), ("two", SHARDS[1]), ("which", SHARDS[0])]);
        model.check_unchanged().expect("unchanged");
    }
}

#[test]
fn change_in_any_shard_is_detected() {
    let dir = TempDir::new();
    let model = ShardedModel::open(put(dir.path())).expect("valid file");
    let file = fs::File::options().write(true).open(dir.join(SHARDS[1])).expect("present");
    file.set_len(9).expect("can be truncated");
    let error = model.check_unchanged().expect_err("file is shorter");
    assert_eq!(error.path(), dir.join(SHARDS[1]));
}

#[test]
fn links_to_shards_are_followed() {
    let (dir, blobs) = (TempDir::new(), TempDir::new());
    put(blobs.path());
    #[cfg(unix)]
    for name in blobs.names() {
        std::os::unix::fs::symlink(blobs.join(&name), dir.join(&name)).expect("succeeds");
    }
    #[cfg(unix)]
    assert_eq!(ShardedModel::open(dir.path()).expect("valid file").len(), 4);
}

/// Returns the message, without the directory, and the class.
fn open_error(dir: &TempDir, path: &Path) -> (String, Option<Class>) {
    let error = ShardedModel::open(path).expect_err("invalid");
    (error.to_string().replace(dir.path().to_str().expect("a plain path"), "."), error.kind().class())
}

/// Returns the error after a change to a valid model.
fn error_after(change: impl Fn(&TempDir)) -> String {
    let dir = TempDir::new();
    put(dir.path());
    change(&dir);
    let (message, class) = open_error(&dir, dir.path());
    assert_eq!(class, Some(Class::File), "{message}");
    message.strip_prefix("./m.safetensors.index.json: ").map(str::to_owned).unwrap_or(message)
}

/// Writes a shard of other tensors, each named by a letter.
fn with_shard(dir: &TempDir, number: usize, names: &str) {
    let names: Vec<String> = names.chars().map(String::from).collect();
    shard(&dir.join(SHARDS[number]), &names).expect("succeeds");
}

fn with_size(dir: &TempDir) {
    let path = dir.join("m.safetensors.index.json");
    let mut index = ShardIndex::open(&path, &Default::default()).expect("valid file");
    index.set_metadata("total_size", 15).expect("a number");
    index.write(fs::File::create(path).expect("succeeds")).expect("succeeds");
}

#[test]
fn mismatch_of_index_and_shards_is_reported() {
    let [one, two] = SHARDS;
    let shard = |number, names| error_after(|dir| with_shard(dir, number, names));
    let shards = |first, second| {
        error_after(|dir| {
            with_shard(dir, 0, first);
            with_shard(dir, 1, second);
        })
    };
    let gone = error_after(|dir| fs::remove_file(dir.join(two)).expect("present"));
    for (found, expected) in [
        (shard(1, "d"), format!("tensor \"c\" is not in {two:?}, nor in another shard")),
        (shard(0, ""), format!("tensor \"a\" is not in {one:?}, nor in another shard (2 such tensors)")),
        (shard(1, "cdx"), format!("tensor \"x\" in {two:?} is not in the index")),
        (shard(1, "cdxyz"), format!("tensor \"x\" in {two:?} is not in the index (3 such tensors)")),
        (shard(1, "bcd"), format!("tensor \"b\" is in two shards, {one:?} and {two:?}")),
        (shards("a", "bcd"), format!("tensor \"b\" is in {two:?}, not in {one:?}")),
        (shards("cd", "ab"), format!("tensor \"c\" is in {one:?}, not in {two:?} (4 such tensors)")),
        (error_after(with_size), "total_size is 15, but the tensors have 16 bytes".to_owned()),
        (gone, format!("shard {two:?}, which has 2 of the tensors, is missing")),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn invalid_shard_is_named() {
    let message = error_after(|dir| drop(dir.put(SHARDS[1], b"\x10")));
    assert!(message.starts_with(&format!("./{}: ", SHARDS[1])), "{message}");
}

#[test]
fn missing_index_or_file_is_reported() {
    let dir = TempDir::new();
    let empty = open_error(&dir, dir.path());
    assert_eq!(
        empty,
        (".: it has no *.safetensors.index.json, nor a single *.safetensors".to_owned(), Some(Class::Usage))
    );
    let (missing, class) = open_error(&dir, &dir.join("nothing"));
    assert!(missing.starts_with("cannot open ./nothing: ") && class.is_none(), "{missing}");
    dir.put("a.safetensors.index.json", b"{}");
    dir.put("b.safetensors.index.json", b"{}");
    let many = ".: it has more than one index: \"a.safetensors.index.json\" and \
        \"b.safetensors.index.json\"";
    assert_eq!(open_error(&dir, dir.path()), (many.to_owned(), Some(Class::Usage)));
    dir.put("model.safetensors.index.json", b"{\"weight_map\": {}}");
    assert!(ShardedModel::open(dir.path()).expect("the default name wins").is_empty());
    assert_eq!(ShardedModel::open(dir.path()).expect("valid file").tensors().count(), 0);
}

/// Another model in the directory is not the one requested.
#[cfg(unix)]
#[test]
fn dangling_index_link_is_not_replaced() {
    let dir = TempDir::new();
    put(dir.path());
    std::os::unix::fs::symlink("gone", dir.join("model.safetensors.index.json")).expect("a link");
    let (message, _) = open_error(&dir, dir.path());
    assert!(message.contains("./model.safetensors.index.json"), "{message}");
}

#[test]
fn rewritten_model_replaces_the_old_one() {
    let dir = TempDir::new();
    put(dir.path());
    let plan = |max| ShardPlan::new("m", ["a", "b", "c", "d"].map(|name| (name, 4)), max);
    let write = |max: u64| plan(max).write(dir.path(), |planned, path| shard(path, planned.tensors()));
    assert_eq!(write(4).expect("succeeds"), dir.join("m.safetensors.index.json"));
    assert_eq!(ShardedModel::open(dir.path()).expect("valid file").shards().len(), 4);
    assert_eq!(write(100).expect("succeeds"), dir.join("m.safetensors"));
    assert!(matches!(
        ShardedModel::open(dir.path()).expect_err("a single file").kind(),
        EditErrorKind::Shards(ShardErrorKind::NoIndex)
    ));
    assert!(dir.join("m.safetensors").exists());
}

#[test]
fn failed_write_leaves_no_files() {
    let dir = TempDir::new();
    let plan = ShardPlan::new("m", ["a", "b", "c"].map(|name| (name, 4)), 4);
    let outcome = plan.write(dir.path(), |planned, path| match planned.tensors()[0].as_str() {
        "c" => Err(std::io::Error::other("the third one fails").into()),
        _ => shard(path, planned.tensors()),
    });
    let error = outcome.expect_err("fails");
    assert_eq!(error.to_string(), "cannot read its input: the third one fails");
    assert_eq!(dir.names(), [""; 0]);
    let unsafe_stem = ShardPlan::new("../m", [("a", 4)], 1).write(dir.path(), |_, _| Ok(()));
    assert!(matches!(
        unsafe_stem.expect_err("outside the directory").kind(),
        EditErrorKind::Shards(ShardErrorKind::UnsafeName { .. })
    ));
}
