//! Models that are edited, split and joined.

use std::fs;
use std::io::{Cursor, ErrorKind};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::time::Instant;

use embedded_safetensors::integrity::{KEY, Sha256, Verifier};
use embedded_safetensors::{Dtype, slice::AxisRange, write::Placement};
use safetensors_files::{EditError, ModelEditor, NewBytes, SaveMethod};
use support::context::Context;
use support::dictionary::{Dictionary, Kinds, Named};
use support::file::{entry, of_file, with_header, with_tensors};
use support::random::Random;
use support::slices::{Asked, Case};
use support::texts::{RESERVED, text};

use crate::files::temp_dir::{TempDir, message, names, read, write};

fn open(path: &Path) -> ModelEditor<'static> {
    ModelEditor::open(path).unwrap_or_else(|error| panic!("{error}"))
}

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).expect("present")
}

/// Returns the saved copy, which must be the file that the reference would write.
fn copied(mut editor: ModelEditor<'_>, path: &Path) -> Vec<u8> {
    editor.set_placement(Placement::Start(8));
    assert_eq!(editor.save(path).expect("succeeds"), SaveMethod::Copied);
    bytes(path)
}

/// Returns a dictionary with a prefix that no other dictionary has by chance.
fn dictionary(prefix: char, random: &mut Random) -> Dictionary {
    let mut dictionary = Dictionary::random(Kinds::All, random);
    dictionary.tensors.iter_mut().for_each(|tensor| tensor.name.insert(0, prefix));
    dictionary.metadata.iter_mut().flatten().for_each(|(key, _)| key.insert(0, prefix));
    dictionary
}

/// Edits a model in some way, or makes a mistake, which changes nothing; and does the same to a dictionary.
fn edit(
    editor: &mut ModelEditor<'static>,
    expected: &mut Dictionary,
    other: (char, &Path),
    random: &mut Random,
) {
    let (Dictionary { tensors, metadata }, any) = (expected, random.number());
    let picked = |name: &str| name.len() as u64 % 3 == any % 3;
    let (at, key) = (random.below(tensors.len() + 1), random.pick(&["a", "b", "c"]));
    match random.below(10) {
        0 => {
            // No name of padding.
            let new = text(random).replace("__padding__", "");
            let is_free =
                new != RESERVED && tensors.iter().enumerate().all(|(own, it)| own == at || it.name != new);
            let old = tensors.get(at).map_or("absent", |tensor| &tensor.name);
            let is_done = editor.rename(old, new.as_str()).is_ok();
            assert_eq!(is_done, at < tensors.len() && is_free, "{old:?} to {new:?}");
            tensors
                .get_mut(at)
                .filter(|_| is_done)
                .into_iter()
                .for_each(|tensor| tensor.name.clone_from(&new));
        }
        1 if at < tensors.len() => editor.remove(&tensors.remove(at).name).expect("present"),
        1 => drop(editor.remove("absent").expect_err("absent")),
        2 => {
            editor.retain(picked);
            tensors.retain(|tensor| picked(&tensor.name));
        }
        3 => {
            tensors.retain(|tensor| picked(&tensor.name));
            editor.select(tensors.iter().map(|tensor| &tensor.name)).expect("present");
        }
        4 => {
            let pairs = metadata.get_or_insert_default();
            pairs.retain(|(other, _)| other != key);
            pairs.push((key.to_owned(), text(random)));
            editor.set_metadata(key, pairs[pairs.len() - 1].1.as_str());
        }
        5 => {
            let pairs = metadata.iter_mut().flatten();
            let value = pairs.into_iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
            assert_eq!(editor.remove_metadata(key), value);
            metadata.iter_mut().for_each(|pairs| pairs.retain(|(other, _)| other != key));
            metadata.take_if(|pairs| value.is_some() && pairs.is_empty());
        }
        6 => {
            editor.clear_metadata();
            *metadata = None;
        }
        7 | 8 if at < tensors.len() => set(editor, &mut tensors[at], random),
        7 | 8 => {
            let absent = editor.set_tensor("absent", NewBytes::new(Dtype::U8, &[], &b"."[..]));
            assert!(absent.is_err());
        }
        _ => {
            let more = dictionary(other.0, random);
            fs::write(other.1, more.file()).expect("succeeds");
            let is_taken =
                more.tensors.iter().any(|new| tensors.iter().any(|tensor| tensor.name == new.name));
            assert_eq!(editor.append(open(other.1)).is_err(), is_taken);
            if is_taken {
                return;
            }
            tensors.extend(more.tensors);
            *metadata = match (metadata.take(), more.metadata) {
                (Some(first), Some(second)) => Some([first, second].concat()),
                (first, second) => first.or(second),
            };
        }
    }
}

/// Sets a tensor, or a slice of it, or makes a mistake.
fn set(editor: &mut ModelEditor<'static>, tensor: &mut Named, random: &mut Random) {
    // The other axes of an empty tensor can be too long to list.
    let is_whole = random.percent(30) || tensor.dims.len() > 8 || tensor.dims.contains(&0);
    let (dtype, dims) = (tensor.dtype(), tensor.dims.clone());
    let listed =
        if is_whole { vec![tensor.bytes.len() as u64 * 8 / u64::from(dtype.bits())] } else { dims.clone() };
    let asked = listed.iter().filter(|_| !is_whole).map(|&size| Asked::random(random, size)).collect();
    let case = Case { dtype, dims: listed, asked };
    let elements = |many: u64| usize::try_from(many * u64::from(dtype.bits()) / 8).expect("fits in usize");
    let (mut shape, runs) = (if is_whole { dims } else { case.shape() }, case.runs());
    let new = Named::random(String::new(), dtype, vec![runs.iter().map(|run| run.1).sum()], random).bytes;
    let is_right = random.percent(90);
    shape.extend((!is_right).then_some(2));
    let bytes = NewBytes::new(dtype, &shape, Cursor::new(new.clone()));
    let outcome = match is_whole {
        true => editor.set_tensor(&tensor.name, bytes),
        false => editor.set_slice(&tensor.name, &case.ranges(), bytes),
    };
    assert_eq!(outcome.is_ok(), is_right && case.broken_byte().is_none(), "{case:?}: {outcome:?}");
    let mut rest = &new[..];
    for (first, count) in runs.into_iter().filter(|_| outcome.is_ok()) {
        let (part, after) = rest.split_at(elements(count));
        tensor.bytes[elements(first)..][..part.len()].copy_from_slice(part);
        rest = after;
    }
}

/// Edits a model in several ways, and saves it, in place where that is possible.
pub fn check(dir: &TempDir, random: &mut Random) {
    let mut expected = dictionary('m', random);
    let path = dir.put("m", &expected.file());
    let mut editor = open(&path);
    for letter in ('n'..='z').take(random.below(14)) {
        edit(&mut editor, &mut expected, (letter, &dir.join(&format!("m{letter}"))), random);
        if random.percent(30) {
            if random.percent(50) {
                editor.set_header_room(300);
            }
            let method = editor.save_method(&path).expect("unchanged");
            assert_eq!(editor.save(&path).expect("succeeds"), method);
            assert!(read(&bytes(&path)).0.sorted() == expected.clone().sorted());
            editor = open(&path);
        }
    }
    let copy = dir.join("copy");
    assert!(copied(editor, &copy) == expected.file());
    let mut editor = open(&copy);
    editor.embed_sum();
    editor.save(&copy).expect("succeeds");
    assert_eq!(verdict(&copy), Ok(()));
    assert!(dir.names().iter().all(|name| name.starts_with(['c', 'm'])), "{:?}", dir.names());
}

#[test]
fn edited_models_match_reference() {
    for seed in 0..300 {
        let _context = Context(|| format!("seed {seed}"));
        check(&TempDir::new(), &mut Random::new(seed));
    }
}

/// Returns the bytes of this process in memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("present");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("on Linux");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// By hand for an hour: `SUITE_SECONDS=3600 cargo test --release -p verification --features std --test suite
/// memory_stays_flat -- --nocapture`.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat() {
    let seconds: u64 = std::env::var("SUITE_SECONDS").map_or(0, |text| text.parse().expect("a number"));
    let (start, mut before, dir) = (Instant::now(), None, TempDir::new());
    for seed in 0.. {
        check(&dir, &mut Random::new(seed));
        let elapsed = start.elapsed().as_secs();
        before = before.or_else(|| (elapsed > seconds / 10).then(resident));
        if elapsed >= seconds {
            println!("{seed} models: {before:?} bytes in memory after a tenth of them, {} now", resident());
            // In a run of many tests, the others take some, too.
            assert!(before.is_none_or(|before| seconds == 0 || resident() < before + (1 << 20)));
            return;
        }
    }
}

const HEADER: &str = concat!(
    r#"{"__metadata__":{"note":"0123456789"},"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]},"#,
    r#""a":{"shape":[2],"dtype":"U8","data_offsets":[0,2],"other":{"of":"another program"}}}"#,
);

/// Out of order, not padded, with an unknown field.
fn non_canonical() -> Vec<u8> {
    let mut file = with_header(HEADER, 0);
    file.extend(b"abcde");
    file
}

/// Too few bytes, or too many: what has been written is undone.
#[test]
fn wrong_new_bytes_change_nothing() {
    let dir = TempDir::new();
    let path = dir.put("m", &non_canonical());
    let mistakes = [("xy", "3 bytes needed, 2 given"), ("xyz+", "0 bytes more needed, 1 given")];
    for (to, (text, expected)) in
        ["m", "copy"].into_iter().flat_map(|to| mistakes.map(|mistake| (to, mistake)))
    {
        let mut editor = open(&path);
        editor.set_tensor("a", NewBytes::new(Dtype::U8, &[2], &b"AB"[..])).expect("fits");
        editor.set_tensor("b", NewBytes::new(Dtype::U8, &[3], text.as_bytes())).expect("fits");
        let error = editor.save(dir.join(to)).expect_err("a mistake");
        assert_eq!(error.into_kind().to_string(), format!("tensor \"b\": {expected}"));
        assert_eq!((bytes(&path), dir.names()), (non_canonical(), vec!["m".to_owned()]));
    }
}

/// Of the header only the sum is changed.
#[test]
fn new_bytes_leave_the_header_as_it_is() {
    let dir = TempDir::new();
    let tensors = r#""a":{"shape":[2],"dtype":"U8","data_offsets":[0,2],"other":7}"#;
    let tensors = format!("{tensors},{}", entry("b", "U8", [3], 2..5));
    for (key, changed, expected) in [("note", 0, Err("usage.sum")), (KEY, 111, Ok(()))] {
        let header = format!(r#"{{"__metadata__":{{"{key}":"{}"}},{tensors}}}"#, "0".repeat(64));
        let mut old = [&with_header(&header, 0)[..], b"abcde"].concat();
        let mut verifier = Verifier::new(Sha256::new());
        verifier.update(&old);
        if let Ok(sum) = verifier.finish() {
            old[47..111].copy_from_slice(&sum.digits());
        }
        let path = dir.put("m", &old);
        let mut editor = open(&path);
        editor.set_slice("b", &[(1..).into()], NewBytes::new(Dtype::U8, &[2], &b"xy"[..])).expect("fits");
        assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::InPlace);
        let (now, end) = (bytes(&path), old.len() - 5);
        assert!(now[end..] == *b"abcxy" && now[changed..end] == old[changed..end]);
        assert_eq!((verdict(&path), dir.names()), (expected, vec!["m".to_owned()]));
    }
}

#[test]
fn edit_in_place_writes_only_the_header() {
    let dir = TempDir::new();
    let path = dir.put("m", &non_canonical());
    let mut editor = open(&path);
    editor.rename("a", "a longer name than it was").expect("present");
    editor.set_metadata("note", "short");
    assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::InPlace);
    let header = concat!(
        r#"{"__metadata__":{"note":"short"},"#,
        r#""a longer name than it was":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}}"#,
    );
    let mut expected = with_header(&format!("{header:0$}", HEADER.len()), 0);
    expected.extend(b"abcde");
    assert_eq!(String::from_utf8(bytes(&path)), String::from_utf8(expected));
    assert_eq!(dir.names(), ["m"]);
}

/// One value that fills the last byte of space, and one that is longer.
#[test]
fn edit_is_in_place_while_the_header_fits() {
    let dir = TempDir::new();
    let spaces = 4 + HEADER.len() - HEADER.replace(r#","other":{"of":"another program"}"#, "").len();
    for (more, saved) in
        [(0, SaveMethod::InPlace), (spaces - 4, SaveMethod::InPlace), (spaces - 3, SaveMethod::Copied)]
    {
        let path = dir.put("m", &non_canonical());
        let mut editor = open(&path);
        let value = "x".repeat(10 + more);
        editor.set_metadata("note", value.as_str());
        assert_eq!(editor.save(&path).expect("succeeds"), saved, "{more} bytes more");
        let found = open(&path);
        assert_eq!(found.metadata().collect::<Vec<_>>(), [("note", value.as_str())]);
        let (dictionary, start) = read(&bytes(&path));
        assert_eq!(start % 8 == 0, saved == SaveMethod::Copied);
        assert!(
            dictionary
                .tensors
                .iter()
                .any(|tensor| (tensor.name.as_str(), &tensor.bytes[..]) == ("b", b"cde"))
        );
    }
}

#[test]
fn unchanged_file_is_not_written() {
    let dir = TempDir::new();
    for seed in 0..50 {
        let dictionary = dictionary('m', &mut Random::new(seed));
        let path = dir.join("m");
        write(&path, &dictionary).expect("succeeds");
        let before = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("present");
        assert_eq!(open(&path).save(&path).expect("succeeds"), SaveMethod::InPlace);
        assert!(bytes(&path) == dictionary.file(), "seed {seed}");
        let after = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("present");
        assert_eq!(before, after);
    }
}

#[test]
fn metadata_are_set_removed_and_cleared() {
    let dir = TempDir::new();
    let file = |metadata: &str| with_header(&format!("{{{metadata}}}"), 0);
    let none = with_header("{}      ", 0);
    let empty = with_header(r#"{"__metadata__":{}}     "#, 0);
    type Edit = fn(&mut ModelEditor<'_>);
    let cases: [(Vec<u8>, Edit, &[u8]); 6] = [
        (file(r#""__metadata__":{"a":"1"}"#), |editor| editor.clear_metadata(), &none),
        (
            file(r#""__metadata__":{"a":"1"}"#),
            |editor| assert_eq!(editor.remove_metadata("a").as_deref(), Some("1")),
            &none,
        ),
        (empty.clone(), |_| (), &empty),
        (empty.clone(), |editor| assert_eq!(editor.remove_metadata("a"), None), &empty),
        (empty.clone(), |editor| editor.clear_metadata(), &none),
        (file(r#""__metadata__":null"#), |_| (), &none),
    ];
    for (file, edit, expected) in cases {
        let path = dir.put("m", &file);
        let mut editor = open(&path);
        edit(&mut editor);
        assert_eq!(copied(editor, &dir.join("copy")), expected);
    }
    let path = dir.put("m", &file(r#""__metadata__":{"b":"2","a":"1"}"#));
    assert_eq!(open(&path).metadata().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
}

fn three() -> (TempDir, ModelEditor<'static>) {
    let dir = TempDir::new();
    let tensor = |name: &str, at| entry(name, "U8", [1], at..at + 1);
    let header =
        format!(r#"{{"__metadata__":{{"k":"1"}},{},{},{}}}"#, tensor("a", 0), tensor("b", 1), tensor("c", 2));
    let editor = open(&dir.put("m", &with_header(&header, 3)));
    (dir, editor)
}

fn bytes_of(dims: &[u64]) -> NewBytes<'static> {
    NewBytes::new(Dtype::U8, dims, &b"xyz"[..])
}

/// Each mistake and its message; the mistake changes nothing.
#[test]
fn mistake_is_reported_and_changes_nothing() {
    type Edit = fn(&mut ModelEditor<'_>) -> Result<(), EditError>;
    let cases: [(Edit, &str); 13] = [
        (|editor| editor.set_tensor("d", bytes_of(&[1])), r#"./m: it has no tensor "d""#),
        (
            |editor| editor.set_tensor("a", NewBytes::new(Dtype::I8, &[1], &b"x"[..])),
            r#"./m: tensor "a" is U8, but the values are I8"#,
        ),
        (|editor| editor.set_tensor("a", bytes_of(&[])), r#"./m: tensor "a": shape [1] needed, [] given"#),
        (
            |editor| editor.set_slice("a", &[AxisRange::index(0)], bytes_of(&[1])),
            r#"./m: tensor "a": shape [] needed, [1] given"#,
        ),
        (
            |editor| editor.set_slice("a", &[(0..2).into()], bytes_of(&[2])),
            r#"./m: tensor "a": index 1 (counted from 0) was requested on axis 0, whose size is 1"#,
        ),
        (|editor| editor.rename("d", "e"), r#"./m: it has no tensor "d""#),
        (|editor| editor.rename("d", "a"), r#"./m: it has no tensor "d""#),
        (|editor| editor.rename("a", "b"), r#"./m: tensor "b" is already in ./m"#),
        (|editor| editor.rename("a", "__metadata__"), r#"./m: reserved name: "__metadata__""#),
        (|editor| editor.rename_all(|name| name.replace('c', "a")), r#"./m: tensor "a" is already in ./m"#),
        (|editor| editor.rename_all(|_| "__metadata__".into()), r#"./m: reserved name: "__metadata__""#),
        (|editor| editor.remove("d"), r#"./m: it has no tensor "d""#),
        (|editor| editor.select(["a", "d"]), r#"./m: it has no tensor "d""#),
    ];
    let (dir, mut editor) = three();
    for (edit, expected) in cases {
        let outcome = edit(&mut editor);
        assert_eq!(message(&dir, outcome), expected);
        assert_eq!(names(&editor), ["a", "b", "c"]);
    }
    editor.rename("a", "a").expect("its own name");
    editor.rename_all(|name| format!("p.{name}")).expect("distinct names");
    assert_eq!(names(&editor), ["p.a", "p.b", "p.c"]);
    assert!(editor.tensor("p.b").is_some_and(|tensor| tensor.dims() == [1]) && editor.tensor("b").is_none());
}

#[test]
fn name_clash_reports_both_paths() {
    let (dir, mut editor) = three();
    let header = r#"{"__metadata__":{"k":"2"},"c":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
    let other = dir.put("other", &with_header(header, 0));
    let outcome = editor.append(open(&other));
    assert_eq!(message(&dir, outcome), r#"./other: tensor "c" is already in ./m"#);
    editor.rename("c", "d").expect("present");
    let outcome = editor.append(open(&other));
    assert_eq!(message(&dir, outcome), r#"./other: the key "k" has another value in ./m"#);
    assert_eq!(names(&editor), ["a", "b", "d"]);
    editor.set_metadata("k", "2");
    editor.append(open(&other)).expect("nothing in common now");
    assert_eq!(names(&editor), ["a", "b", "c", "d"]);
    assert_eq!(editor.metadata().collect::<Vec<_>>(), [("k", "2")]);
    // With a third file, the error names the file that has the tensor.
    let third = dir.put("third", &with_header(header, 0));
    let outcome = editor.append(open(&third));
    assert_eq!(message(&dir, outcome), r#"./third: tensor "c" is already in ./other"#);
}

#[test]
fn errors_convert_to_io_error_kinds() {
    let (dir, mut editor) = three();
    let kind = |error: EditError| std::io::Error::from(error).kind();
    let of = |outcome: Result<ModelEditor<'_>, EditError>| kind(outcome.expect_err("cannot be opened"));
    assert_eq!(of(ModelEditor::open(dir.join("missing"))), ErrorKind::NotFound);
    assert_eq!(of(ModelEditor::open(dir.path())), ErrorKind::InvalidInput);
    assert_eq!(of(ModelEditor::open(dir.put("unsound", b"{}"))), ErrorKind::InvalidData);
    assert_eq!(kind(editor.remove("d").expect_err("missing")), ErrorKind::InvalidInput);
    fs::write(dir.join("m"), with_header("{}", 0)).expect("present");
    assert_eq!(kind(editor.save(dir.join("m")).expect_err("changed")), ErrorKind::InvalidData);
}

#[test]
fn duplicate_names_and_keys_are_reported() {
    const ENTRY: &str = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let dir = TempDir::new();
    for (header, expected) in [
        (
            format!(r#"{{"a":{ENTRY},"b\"c":{ENTRY},"b\u0022c":{ENTRY}}}"#),
            r#"./m: "b\\u0022c": error[name.duplicate] at byte 116: duplicate name: an earlier tensor has the same name"#,
        ),
        (
            format!(r#"{{"a":{ENTRY},"b\u0022c":{ENTRY},"b\"c":{ENTRY}}}"#),
            r#"./m: "b\\\"c": error[name.duplicate] at byte 120: duplicate name: an earlier tensor has the same name"#,
        ),
        (
            r#"{"__metadata__":{"key":"1","key":"2"}}"#.into(),
            concat!(
                r#"./m: "key": error[metadata.duplicate] at byte 35: duplicate key: an earlier key of "__metadata__" is th"#,
                r#"e same"#,
            ),
        ),
    ] {
        let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        assert_eq!(message(&dir, ModelEditor::open(dir.put("m", &file))), expected);
    }
}

#[test]
fn copy_with_header_space_is_edited_in_place() {
    const SPACE: u32 = 1000;
    let dir = TempDir::new();
    let dictionary = Dictionary::of(3, Kinds::All, &mut Random::new(3));
    let path = dir.join("m");
    write(&path, &dictionary).expect("succeeds");
    let long = "x".repeat(SPACE as usize / 2);
    let note = |path: &Path| {
        let mut editor = ModelEditor::open(path).expect("valid file");
        editor.set_metadata("a note", long.as_str());
        editor.save(path).expect("succeeds")
    };
    fs::copy(&path, dir.join("without")).expect("succeeds");
    assert_eq!(note(&dir.join("without")), SaveMethod::Copied);
    let mut editor = ModelEditor::open(&path).expect("valid file");
    editor.set_header_room(SPACE);
    assert_eq!(editor.save(&path).expect("succeeds"), SaveMethod::Copied);
    let (copy, start) = read(&fs::read(&path).expect("present"));
    let tensors = dictionary.sorted().tensors;
    assert!(copy.sorted().tensors == tensors);
    assert_eq!(note(&path), SaveMethod::InPlace);
    let (noted, same_start) = read(&fs::read(&path).expect("present"));
    assert!(start == same_start && noted.sorted().tensors == tensors);
}

/// Verifies the sum in a file.
fn verdict(path: &Path) -> Result<(), &'static str> {
    let file = bytes(path);
    let mut window = [0; 64];
    let mut model = embedded_safetensors::Model::open(&file[..], &mut window).expect("valid");
    of_file(model.verify_embedded(Sha256::new(), &mut window)).map_err(|error| error.kind.code())
}

/// Who removes the sum, or all metadata, does not want it in the file any more.
#[test]
fn sum_is_embedded_unless_it_is_removed_again() {
    let dir = TempDir::new();
    let edits: [(fn(&mut ModelEditor<'_>), _); 3] = [
        (|_| {}, Ok(())),
        (|editor| drop(editor.remove_metadata(KEY)), Err("usage.sum")),
        (|editor| editor.clear_metadata(), Err("usage.sum")),
    ];
    for (edit, expected) in edits {
        let path = dir.put("m", &non_canonical());
        let mut editor = open(&path);
        editor.embed_sum();
        edit(&mut editor);
        editor.save(&path).expect("succeeds");
        assert_eq!(verdict(&path), expected);
    }
}

/// A file with a sum, a file that is to have one, and a file without.
#[test]
fn joined_model_has_its_own_sum_if_a_part_has_one() {
    let dir = TempDir::new();
    let part = |name: &str, sum: usize| {
        let path = dir.put(name, &with_tensors(&[(name, "U8", [1], b"x")]));
        let mut editor = open(&path);
        if sum > 0 {
            editor.embed_sum();
        }
        if sum == 2 {
            editor.save(&path).expect("succeeds");
            editor = open(&path);
        }
        editor
    };
    for (first, second) in (0..9).map(|pair| (pair / 3, pair % 3)) {
        let (mut editor, joined) = (part("a", first), dir.join("joined"));
        editor.append(part("b", second)).expect("two sums are no conflict");
        editor.save(&joined).expect("succeeds");
        let expected = if first + second > 0 { Ok(()) } else { Err("usage.sum") };
        assert_eq!(verdict(&joined), expected, "{first} {second}");
    }
}

#[test]
fn sum_that_is_set_after_it_was_requested_is_an_error() {
    let dir = TempDir::new();
    let path = dir.put("m", &non_canonical());
    let mut editor = open(&path);
    editor.embed_sum();
    editor.set_metadata(KEY, "0".repeat(63));
    for outcome in [editor.save_method(&path), editor.save(&path), editor.save(dir.join("copy"))] {
        let message = outcome.map(drop).expect_err("the key is set").to_string();
        assert!(
            message.ends_with("\"safetensors.sha256\" was set after embed_sum, which computes its value"),
            "{message}"
        );
    }
    assert!(bytes(&path) == non_canonical() && dir.names() == ["m"]);
}
