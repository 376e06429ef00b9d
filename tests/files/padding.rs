//! Files whose tensors are placed apart, written and edited.

use std::fs;
use std::path::Path;

use embedded_safetensors::{FileModel, write::Placement};
use safetensors_files::{ModelEditor, SaveMethod, padding_of, write_file};
use support::dictionary::{Dictionary, Kinds};
use support::file::with_header;
use support::random::Random;
use support::verdict::judge;
use support::writing::Description;

use crate::files::temp_dir::{Folder, names, read, sentence};

const UNIT: u64 = 64;

fn model(seed: u64) -> Dictionary {
    let mut dictionary = Dictionary::of(12, Kinds::All, &mut Random::new(seed));
    dictionary.tensors.iter_mut().for_each(|tensor| tensor.name = format!("{seed} {}", tensor.name));
    dictionary
}

fn write(path: &Path, dictionary: &Dictionary) {
    let spec = Description::new(dictionary);
    let outcome = write_file(path, spec.spec().with_placement(Placement::Padded(64)), |file| {
        dictionary.tensors.iter().try_for_each(|tensor| file.write_tensor(&tensor.name, &tensor.bytes))
    });
    outcome.expect("there is room");
}

/// All tensors of the dictionary, each at a multiple; all else is zeros.
fn is_padded(path: &Path, dictionary: &Dictionary) -> bool {
    let file = fs::read(path).expect("it is there");
    let (found, start) = read(&file);
    let offsets = judge(&file).expect("it is sound").tensors;
    let is_padding = |name: &str| name.starts_with("__padding__.");
    let zeros = found.tensors.iter().filter(|tensor| is_padding(&tensor.name));
    assert!(zeros.flat_map(|tensor| &tensor.bytes).all(|&byte| byte == 0));
    let others: Vec<_> = found.tensors.into_iter().filter(|tensor| !is_padding(&tensor.name)).collect();
    let others = Dictionary { tensors: others, metadata: found.metadata };
    others.sorted() == dictionary.clone().sorted()
        && offsets
            .iter()
            .all(|tensor| is_padding(&tensor.name) || (start + tensor.data_offsets[0]) % UNIT == 0)
}

fn has_padding(path: &Path) -> bool {
    fs::read(path).expect("it is there").windows(11).any(|window| window == b"__padding__")
}

#[test]
fn padding_is_zeros_and_not_the_draft_s() {
    let folder = Folder::new();
    let path = folder.join("m");
    for seed in 0..20 {
        let dictionary = model(seed);
        write(&path, &dictionary);
        assert!(is_padded(&path, &dictionary) && has_padding(&path));
        let mut expected: Vec<_> = dictionary.tensors.iter().map(|tensor| &tensor.name).collect();
        expected.sort();
        assert_eq!(names(&ModelEditor::open(&path).expect("it is sound")), expected);
    }
}

#[test]
fn it_stays_in_place_and_is_left_out_of_copies() {
    let folder = Folder::new();
    let path = folder.join("m");
    let mut dictionary = model(1);
    write(&path, &dictionary);
    let mut editor = ModelEditor::open(&path).expect("it is sound");
    let tensor = &mut dictionary.tensors[0];
    editor.rename(&tensor.name, "n").expect("it is there");
    tensor.name = "n".into();
    editor.rename("n", "__padding__.0").expect_err("it is the name of padding");
    assert_eq!(editor.save(&path).expect("there is room"), SaveMethod::InPlace);
    assert!(is_padded(&path, &dictionary));
    let copy = folder.join("copy");
    let mut editor = ModelEditor::open(&path).expect("it is sound");
    assert_eq!(editor.save(&copy).expect("there is room"), SaveMethod::Copied);
    assert!(fs::read(&copy).expect("it is there") == dictionary.file());
    editor.set_placement(Placement::Padded(64));
    assert_eq!(editor.save(&path).expect("there is room"), SaveMethod::Copied);
    assert!(is_padded(&path, &dictionary));
}

#[test]
fn padded_models_are_joined() {
    let folder = Folder::new();
    let (first, second) = (model(1), model(2));
    write(&folder.join("a"), &first);
    write(&folder.join("b"), &second);
    let mut editor = ModelEditor::open(folder.join("a")).expect("it is sound");
    editor.append(ModelEditor::open(folder.join("b")).expect("it is sound")).expect("padding has no name");
    editor.set_placement(Placement::Padded(64));
    editor.save(folder.join("both")).expect("there is room");
    let tensors = [first.tensors, second.tensors].concat();
    assert!(is_padded(&folder.join("both"), &Dictionary { tensors, metadata: None }));
}

/// Data of somebody who calls a tensor so, or moved it there.
#[test]
fn what_is_only_called_padding_is_not_lost() {
    let folder = Folder::new();
    let tensor = |name: &str, dims: &str, begin: u32, end: u32| {
        format!(r#""{name}":{{"dtype":"U8","shape":{dims},"data_offsets":[{begin},{end}]}}"#)
    };
    // The last tensor; one whose end is at no multiple; one of two dimensions; one whose number is not the next; one whose last byte is not zero. All
    // else is as it would be.
    let cases = [
        (0, vec![tensor("a", "[8]", 0, 8), tensor("__padding__.0", "[24]", 8, 32)]),
        (0, vec![tensor("__padding__.0", "[17]", 0, 17), tensor("a", "[15]", 17, 32)]),
        (8, vec![tensor("__padding__.0", "[1,24]", 0, 24), tensor("a", "[8]", 24, 32)]),
        (8, vec![tensor("__padding__.1", "[24]", 0, 24), tensor("a", "[8]", 24, 32)]),
        (8, vec![tensor("__padding__.0", "[24]", 0, 24), tensor("a", "[8]", 24, 32)]),
    ];
    for (start, tensors) in cases {
        let header = format!("{{{}}}", tensors.join(","));
        let len = 192 + start;
        let mut file = with_header(&format!("{header:0$}", len - 8), 0);
        assert_eq!((file.len() % 32, len >= 8 + header.len()), (start, true));
        file.extend([0; 23]);
        file.extend(1..10);
        let path = folder.put("m", &file);
        let editor = ModelEditor::open(&path).expect("it is sound");
        assert_eq!(names(&editor).len(), tensors.len(), "{header}");
        assert_eq!(
            padding_of(&FileModel::open(&path).expect("it is sound")).expect("it can be read").len(),
            0
        );
        editor.save(folder.join("copy")).expect("there is room");
        let copy = fs::read(folder.join("copy")).expect("it is there");
        assert!(read(&copy).0.sorted() == read(&file).0.sorted());
    }
}

/// What a program lists by `FileModel::tensors` it can name to a editor, padding too: no shard lacks what the index says of it.
#[test]
fn a_padded_model_is_split_by_what_it_lists() {
    use safetensors_files::shards::{ShardPlan, ShardedModel};
    let folder = Folder::new();
    let path = folder.join("m");
    let dictionary = model(3);
    write(&path, &dictionary);
    let whole = FileModel::open(&path).expect("it is sound");
    let tensors = whole.tensors().map(|tensor| (tensor.name(), tensor.byte_len()));
    let plan = ShardPlan::new("model", tensors, whole.summary().data_len / 2);
    let outcome = plan.write(folder.path(), |shard, place| {
        let mut part = ModelEditor::open(&path)?;
        part.select(shard.tensors())?;
        part.save(place).map(drop)
    });
    outcome.expect("all that is listed can be selected");
    let sharded = ShardedModel::open(folder.path()).expect("index and shards agree");
    assert_eq!(sharded.len(), whole.len());
    for tensor in &dictionary.tensors {
        let found = sharded.find(&tensor.name).expect("it is sound").expect("it is there");
        let mut bytes = vec![0; tensor.bytes.len()];
        found.reader().read_to_end(&mut bytes).expect("it can be read");
        assert!(bytes == tensor.bytes);
    }
}

/// Padding that is named is a tensor like any other, and the rest stays apart.
#[test]
fn padding_that_is_named_is_kept_or_removed() {
    let folder = Folder::new();
    let path = folder.join("m");
    write(&path, &model(1));
    let open = || ModelEditor::open(&path).expect("it is sound");
    let count = open().padding().count();
    assert!(count > 1 && open().tensors().all(|tensor| !tensor.name().starts_with("__padding__.")));
    let mut editor = open();
    editor.rename("__padding__.0", "zeros").expect("it is there");
    editor.remove("__padding__.1").expect("it is there");
    assert_eq!(editor.padding().count(), count - 2);
    assert_eq!(editor.save(folder.join("copy")).expect("there is room"), SaveMethod::Copied);
    let copy = FileModel::open(folder.join("copy")).expect("it is sound");
    assert!(copy.find("zeros").is_ok_and(|found| found.is_some()) && !has_padding(&folder.join("copy")));
    assert_eq!(copy.len(), model(1).tensors.len() + 1);
    let mut editor = open();
    editor.rename("__padding__.0", "zeros").expect("it is there");
    assert_eq!(editor.save(&path).expect("there is room"), SaveMethod::InPlace);
    assert!(open().tensor("zeros").is_some());
}

#[test]
fn nothing_is_renamed_to_padding() {
    let folder = Folder::new();
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__padding__.9":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    let path = folder.put("m", &with_header(header, 2));
    let mut editor = ModelEditor::open(&path).expect("it is sound");
    let outcome = editor.rename("a", "__padding__.5");
    assert_eq!(sentence(&folder, outcome), r#"./m: no tensor can be called "__padding__.5""#);
    editor.rename_all(|name| name.into()).expect("what is called so stays so");
    assert_eq!(names(&editor), ["__padding__.9", "a"]);
}
