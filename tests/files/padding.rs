//! Files with padding between tensors, written and edited.

use std::fs;
use std::path::Path;

use embedded_safetensors::{FileModel, write::Placement};
use safetensors_files::{ModelEditor, SaveMethod, padding_in, write_file};
use support::dictionary::{Dictionary, Kinds};
use support::file::{entry, with_header};
use support::random::Random;
use support::verdict::full_verdict;
use support::writing::Description;

use crate::files::temp_dir::{TempDir, names, read};

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
    outcome.expect("succeeds");
}

/// Whether all tensors of the dictionary are at a multiple of [`UNIT`], and all other bytes are zeros.
fn is_padded(path: &Path, dictionary: &Dictionary) -> bool {
    let file = fs::read(path).expect("present");
    let (found, start) = read(&file);
    let offsets = full_verdict(&file).expect("valid file").tensors;
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
    fs::read(path).expect("present").windows(11).any(|window| window == b"__padding__")
}

#[test]
fn padding_is_zeros_and_hidden_from_the_editor() {
    let dir = TempDir::new();
    let path = dir.join("m");
    for seed in 0..20 {
        let dictionary = model(seed);
        write(&path, &dictionary);
        assert!(is_padded(&path, &dictionary) && has_padding(&path));
        let mut expected: Vec<_> = dictionary.tensors.iter().map(|tensor| &tensor.name).collect();
        expected.sort();
        assert_eq!(names(&ModelEditor::open(&path).expect("valid file")), expected);
    }
}

#[test]
fn padding_stays_in_place_and_is_not_copied() {
    let dir = TempDir::new();
    let path = dir.join("m");
    let mut dictionary = model(1);
    write(&path, &dictionary);
    let mut editor = ModelEditor::open(&path).expect("valid file");
    let tensor = &mut dictionary.tensors[0];
    editor.rename(&tensor.name, "n").expect("present");
    tensor.name = "n".into();
    editor.rename("n", "__padding__.0").expect_err("a padding name");
    assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::InPlace);
    assert!(is_padded(&path, &dictionary));
    let copy = dir.join("copy");
    let mut editor = ModelEditor::open(&path).expect("valid file");
    assert_eq!(editor.save(&copy).expect("succeeds"), SaveMethod::Copied);
    assert!(fs::read(&copy).expect("present") == dictionary.file());
    editor.set_placement(Placement::Padded(64));
    assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::Copied);
    assert!(is_padded(&path, &dictionary));
}

#[test]
fn padded_models_are_joined() {
    let dir = TempDir::new();
    let (first, second) = (model(1), model(2));
    write(&dir.join("a"), &first);
    write(&dir.join("b"), &second);
    let mut editor = ModelEditor::open(dir.join("a")).expect("valid file");
    editor.append(ModelEditor::open(dir.join("b")).expect("valid file")).expect("padding names do not clash");
    editor.set_placement(Placement::Padded(64));
    editor.save(dir.join("both")).expect("succeeds");
    let tensors = [first.tensors, second.tensors].concat();
    assert!(is_padded(&dir.join("both"), &Dictionary { tensors, metadata: None }));
}

/// User data whose tensor has such a name, or was moved there.
#[test]
fn tensors_named_like_padding_are_kept() {
    let dir = TempDir::new();
    let tensor = |name: &str, dims: &[u64], range| entry(name, "U8", dims, range);
    // The last tensor; one whose end is not at a multiple; one of two dimensions; one whose number is not the
    // next; one whose last byte is not zero. Otherwise each would be padding.
    let cases = [
        (0, vec![tensor("a", &[8], 0..8), tensor("__padding__.0", &[24], 8..32)]),
        (0, vec![tensor("__padding__.0", &[17], 0..17), tensor("a", &[15], 17..32)]),
        (8, vec![tensor("__padding__.0", &[1, 24], 0..24), tensor("a", &[8], 24..32)]),
        (8, vec![tensor("__padding__.1", &[24], 0..24), tensor("a", &[8], 24..32)]),
        (8, vec![tensor("__padding__.0", &[24], 0..24), tensor("a", &[8], 24..32)]),
    ];
    for (number, (start, tensors)) in cases.into_iter().enumerate() {
        let header = format!("{{{}}}", tensors.join(","));
        let len = 192 + start;
        let mut file = with_header(&format!("{header:0$}", len - 8), 0);
        assert_eq!((file.len() % 32, len >= 8 + header.len()), (start, true));
        // The data of the first one are zeros: only its end tells that it is no padding.
        file.extend([0; 23]);
        file.extend((1..10).map(|byte| if number == 0 { 0 } else { byte }));
        let path = dir.put("m", &file);
        let editor = ModelEditor::open(&path).expect("valid file");
        assert_eq!(names(&editor).len(), tensors.len(), "{header}");
        let model = FileModel::open(&path).expect("valid file");
        assert_eq!(padding_in(model.index(), &model).expect("readable").len(), 0);
        editor.save(dir.join("copy")).expect("succeeds");
        let copy = fs::read(dir.join("copy")).expect("present");
        assert!(read(&copy).0.sorted() == read(&file).0.sorted());
    }
}

/// An editor accepts every name that `FileModel::tensors` lists, padding included: no shard lacks a tensor of
/// the index.
#[test]
fn padded_model_is_split_by_its_listed_names() {
    use safetensors_files::shards::{ShardPlan, ShardedModel};
    let dir = TempDir::new();
    let path = dir.join("m");
    let dictionary = model(3);
    write(&path, &dictionary);
    let whole = FileModel::open(&path).expect("valid file");
    let tensors = whole.tensors().map(|tensor| (tensor.name(), tensor.byte_len()));
    let plan = ShardPlan::new("model", tensors, whole.index().summary().data_len / 2);
    let outcome = plan.write(dir.path(), |shard, offset_of| {
        let mut part = ModelEditor::open(&path)?;
        part.select(shard.tensors())?;
        part.save(offset_of).map(drop)
    });
    outcome.expect("every listed name can be selected");
    let sharded = ShardedModel::open(dir.path()).expect("index and shards match");
    assert_eq!(sharded.len(), whole.index().len());
    for tensor in &dictionary.tensors {
        let found = sharded.find(&tensor.name).expect("valid file").expect("present");
        let mut bytes = vec![0; tensor.bytes.len()];
        found.reader().read_to_end(&mut bytes).expect("readable");
        assert!(bytes == tensor.bytes);
    }
}

/// Padding that is named becomes an ordinary tensor, and the rest stays separate.
#[test]
fn padding_can_be_renamed_or_removed() {
    let dir = TempDir::new();
    let path = dir.join("m");
    write(&path, &model(1));
    let open = || ModelEditor::open(&path).expect("valid file");
    let count = open().padding().count();
    assert!(count > 1 && open().tensors().all(|tensor| !tensor.name().starts_with("__padding__.")));
    let mut editor = open();
    editor.rename("__padding__.0", "zeros").expect("present");
    editor.remove("__padding__.1").expect("present");
    assert_eq!(editor.padding().count(), count - 2);
    assert_eq!(editor.save(dir.join("copy")).expect("succeeds"), SaveMethod::Copied);
    let copy = FileModel::open(dir.join("copy")).expect("valid file");
    assert!(copy.find("zeros").is_ok_and(|found| found.is_some()) && !has_padding(&dir.join("copy")));
    assert_eq!(copy.index().len(), model(1).tensors.len() + 1);
    let mut editor = open();
    editor.rename("__padding__.0", "zeros").expect("present");
    assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::InPlace);
    assert!(open().tensor("zeros").is_some());
}
