//! Models in several files, opened as one.

use embedded_safetensors::{
    Dtype,
    error::Class,
    write::{FileSpec, TensorSpec},
};
use safetensors_files::EditError;
use safetensors_files::{
    shards::{ShardError, ShardErrorKind, ShardIndex, ShardPlan, ShardedModel},
    write_file,
};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::temp_dir::Folder;

const SHARDS: [&str; 2] = ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"];

/// A file of tensors of four bytes, each the first letter of its name.
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

/// Two shards of two tensors, and their index.
fn put(folder: &Path) -> PathBuf {
    let plan = ShardPlan::new("m", ["a", "b", "c", "d"].map(|name| (name, 4)), 8);
    plan.write(folder, |planned, path| shard(path, planned.tensors())).expect("there is room")
}

fn bytes(model: &ShardedModel, name: &str) -> Vec<u8> {
    let tensor = model.find(name).expect("it is sound").expect("it is there");
    tensor.reader().read_to_end(&mut [0; 4]).expect("it is read").to_vec()
}

#[test]
fn it_is_one_model() {
    let folder = Folder::new();
    let index = put(folder.path());
    assert_eq!(index, folder.join("m.safetensors.index.json"));
    for path in [folder.path(), &index] {
        let model = ShardedModel::open(path).expect("it is sound");
        assert_eq!((model.len(), model.is_empty(), model.path()), (4, false, &*index));
        assert_eq!(model.tensors().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!([bytes(&model, "a"), bytes(&model, "d")], [[b'a'; 4], [b'd'; 4]]);
        assert!(model.find("e").is_ok_and(|found| found.is_none()) && model.shard_of("e").is_none());
        assert_eq!(model.shard_of("c").map(|shard| shard.path()), Some(&*folder.join(SHARDS[1])));
        assert_eq!((model.shards().len(), model.index().total_size()), (2, Some(16)));
        let pairs: Vec<_> =
            model.metadata().into_iter().flatten().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(pairs, [("format", "pt"), ("one", SHARDS[0]), ("two", SHARDS[1]), ("which", SHARDS[0])]);
        model.check_unchanged().expect("nobody has touched it");
    }
}

#[test]
fn a_change_in_any_shard_is_noticed() {
    let folder = Folder::new();
    let model = ShardedModel::open(put(folder.path())).expect("it is sound");
    let file = fs::File::options().write(true).open(folder.join(SHARDS[1])).expect("it is there");
    file.set_len(9).expect("it can be cut off");
    let error = model.check_unchanged().expect_err("it is shorter");
    assert_eq!(error.path(), folder.join(SHARDS[1]));
}

#[test]
fn links_to_shards_are_followed() {
    let (folder, blobs) = (Folder::new(), Folder::new());
    put(blobs.path());
    #[cfg(unix)]
    for name in blobs.names() {
        std::os::unix::fs::symlink(blobs.join(&name), folder.join(&name)).expect("there is room");
    }
    #[cfg(unix)]
    assert_eq!(ShardedModel::open(folder.path()).expect("it is sound").len(), 4);
}

/// The sentence, without the folder, and whose mistake it is.
fn refused(folder: &Folder, path: &Path) -> (String, Option<Class>) {
    let error: ShardError = ShardedModel::open(path).expect_err("it is not sound");
    (error.to_string().replace(folder.path().to_str().expect("a plain path"), "."), error.kind().class())
}

/// What is wrong once something has been done to a model that was sound.
fn broken(change: impl Fn(&Folder)) -> String {
    let folder = Folder::new();
    put(folder.path());
    change(&folder);
    let (sentence, class) = refused(&folder, folder.path());
    assert_eq!(class, Some(Class::File), "{sentence}");
    sentence.strip_prefix("./m.safetensors.index.json: ").map(str::to_owned).unwrap_or(sentence)
}

fn with_shard(number: usize, names: &'static [&'static str]) -> impl Fn(&Folder) {
    move |folder| shard(&folder.join(SHARDS[number]), names).expect("there is room")
}

fn with_size(size: u64) -> impl Fn(&Folder) {
    move |folder| {
        let mut index =
            ShardIndex::open(folder.join("m.safetensors.index.json"), &Default::default()).expect("sound");
        index.set_metadata("total_size", size).expect("a number");
        index.save(folder.join("m.safetensors.index.json")).expect("there is room");
    }
}

#[test]
fn what_index_and_shards_do_not_agree_in_is_said() {
    let [one, two] = SHARDS;
    for (found, expected) in [
        (broken(with_shard(1, &["d"])), format!("the tensor \"c\" is not in {two:?}, nor in another shard")),
        (
            broken(with_shard(0, &[])),
            format!("the tensor \"a\" is not in {one:?}, nor in another shard (2 such tensors)"),
        ),
        (broken(with_shard(1, &["c", "d", "x"])), format!("the tensor \"x\" in {two:?} is not in the index")),
        (
            broken(with_shard(1, &["c", "d", "x", "y", "z"])),
            format!("the tensor \"x\" in {two:?} is not in the index (3 such tensors)"),
        ),
        (
            broken(with_shard(1, &["b", "c", "d"])),
            format!("the tensor \"b\" is in two shards, {one:?} and {two:?}"),
        ),
        (
            broken(|folder| {
                with_shard(0, &["a"])(folder);
                with_shard(1, &["b", "c", "d"])(folder);
            }),
            format!("the tensor \"b\" is in {two:?}, not in {one:?}"),
        ),
        (
            broken(|folder| {
                with_shard(0, &["c", "d"])(folder);
                with_shard(1, &["a", "b"])(folder);
            }),
            format!("the tensor \"c\" is in {one:?}, not in {two:?} (4 such tensors)"),
        ),
        (broken(with_size(15)), "total_size is 15, but the tensors have 16 bytes".to_owned()),
        (
            broken(|folder| fs::remove_file(folder.join(two)).expect("it is there")),
            format!("the shard {two:?} is not there, which is to have 2 of the tensors"),
        ),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_shard_that_is_unsound_is_named() {
    let sentence = broken(|folder| drop(folder.put(SHARDS[1], b"\x10")));
    assert!(sentence.starts_with(&format!("./{}: ", SHARDS[1])), "{sentence}");
}

#[test]
fn where_there_is_no_index_or_no_file_that_is_said() {
    let folder = Folder::new();
    let empty = refused(&folder, folder.path());
    assert_eq!(empty, (".: there is no *.safetensors.index.json in it".to_owned(), Some(Class::Usage)));
    let (missing, class) = refused(&folder, &folder.join("nothing"));
    assert!(missing.starts_with("cannot open ./nothing: ") && class.is_none(), "{missing}");
    folder.put("a.safetensors.index.json", b"{}");
    folder.put("b.safetensors.index.json", b"{}");
    let many = ".: there is more than one index in it, \"a.safetensors.index.json\" and \"b.safetensors.index.json\"";
    assert_eq!(refused(&folder, folder.path()), (many.to_owned(), Some(Class::Usage)));
    folder.put("model.safetensors.index.json", b"{\"weight_map\": {}}");
    assert!(ShardedModel::open(folder.path()).expect("the usual name counts").is_empty());
    assert_eq!(ShardedModel::open(folder.path()).expect("it is sound").tensors().count(), 0);
}

/// Another model in the folder is not the one that is meant.
#[cfg(unix)]
#[test]
fn an_index_that_leads_nowhere_is_not_replaced_by_another() {
    let folder = Folder::new();
    put(folder.path());
    std::os::unix::fs::symlink("gone", folder.join("model.safetensors.index.json")).expect("a link");
    let (sentence, _) = refused(&folder, folder.path());
    assert!(sentence.contains("./model.safetensors.index.json"), "{sentence}");
}

#[test]
fn a_model_that_is_written_again_takes_the_place_of_the_old_one() {
    let folder = Folder::new();
    put(folder.path());
    let plan = |max| ShardPlan::new("m", ["a", "b", "c", "d"].map(|name| (name, 4)), max);
    let write = |max: u64| plan(max).write(folder.path(), |planned, path| shard(path, planned.tensors()));
    assert_eq!(write(4).expect("there is room"), folder.join("m.safetensors.index.json"));
    assert_eq!(ShardedModel::open(folder.path()).expect("it is sound").shards().len(), 4);
    assert_eq!(write(100).expect("there is room"), folder.join("m.safetensors"));
    assert!(matches!(
        ShardedModel::open(folder.path()).expect_err("there is one file").kind(),
        ShardErrorKind::NoIndex
    ));
    assert!(folder.join("m.safetensors").exists());
}

#[test]
fn shards_that_cannot_be_written_leave_nothing() {
    let folder = Folder::new();
    let plan = ShardPlan::new("m", ["a", "b", "c"].map(|name| (name, 4)), 4);
    let outcome = plan.write(folder.path(), |planned, path| match planned.tensors()[0].as_str() {
        "c" => Err(std::io::Error::other("the third one fails").into()),
        _ => shard(path, planned.tensors()),
    });
    let error = outcome.expect_err("it fails");
    assert_eq!(error.to_string(), "cannot read what it is to hold: the third one fails");
    assert_eq!(folder.names(), [""; 0]);
    let unsafe_stem = ShardPlan::new("../m", [("a", 4)], 1).write(folder.path(), |_, _| Ok(()));
    assert!(matches!(unsafe_stem.expect_err("it leads out").kind(), ShardErrorKind::UnsafeName { .. }));
}

#[test]
fn values_take_the_memory_that_is_documented() {
    assert!(size_of::<ShardError>() <= 144 && size_of::<ShardErrorKind>() <= 120);
    assert_eq!(size_of::<safetensors_files::shards::ShardLimits>(), 48);
    assert!(size_of::<safetensors_files::shards::PlannedShard<'_>>() <= 24);
}
