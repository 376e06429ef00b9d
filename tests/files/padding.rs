//! Files whose tensors are placed apart, written and edited.

use std::fs;
use std::path::Path;

use embedded_safetensors::{Draft, Placement, Saved, write_file};
use verification::dictionary::{Dictionary, Kinds};
use verification::judge::judge;
use verification::random::Random;
use verification::writing::Description;

use crate::folder::{Folder, names, read};

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
        assert_eq!(names(&Draft::open(&path).expect("it is sound")), expected);
    }
}

#[test]
fn it_stays_in_place_and_is_left_out_of_copies() {
    let folder = Folder::new();
    let path = folder.join("m");
    let mut dictionary = model(1);
    write(&path, &dictionary);
    let mut draft = Draft::open(&path).expect("it is sound");
    let tensor = &mut dictionary.tensors[0];
    draft.rename(&tensor.name, "n").expect("it is there");
    tensor.name = "n".into();
    draft.rename("n", "__padding__.0").expect_err("it is the name of padding");
    assert_eq!(draft.save(&path).expect("there is room"), Saved::InPlace);
    assert!(is_padded(&path, &dictionary));
    let copy = folder.join("copy");
    let mut draft = Draft::open(&path).expect("it is sound");
    assert_eq!(draft.save(&copy).expect("there is room"), Saved::Copied);
    assert!(fs::read(&copy).expect("it is there") == dictionary.file());
    draft.set_placement(Placement::Padded(64));
    assert_eq!(draft.save(&path).expect("there is room"), Saved::Copied);
    assert!(is_padded(&path, &dictionary));
}

#[test]
fn padded_models_are_joined() {
    let folder = Folder::new();
    let (first, second) = (model(1), model(2));
    write(&folder.join("a"), &first);
    write(&folder.join("b"), &second);
    let mut draft = Draft::open(folder.join("a")).expect("it is sound");
    draft.append(Draft::open(folder.join("b")).expect("it is sound")).expect("padding has no name");
    draft.set_placement(Placement::Padded(64));
    draft.save(folder.join("both")).expect("there is room");
    let tensors = [first.tensors, second.tensors].concat();
    assert!(is_padded(&folder.join("both"), &Dictionary { tensors, metadata: None }));
}
