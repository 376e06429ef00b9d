//! Checks the promises of the vectors: to authors of other readers who trust the manifest, and to those who
//! add a case.

use std::collections::{BTreeMap, BTreeSet};

use embedded_safetensors::error::Class;
use embedded_safetensors::{Dtype, ErrorKind};
use schema::Schema;
use serde_json::{Value, json};
use support::share;
use vectors::twins::{DTYPES, are_close, only_needed_for};
use vectors::{MOST_LITE, Manifest, Ours, Source, Vector, Verdict, sha256};

#[path = "vectors/cases.rs"]
mod cases;
#[path = "vectors/schema.rs"]
mod schema;

const RULES: &str = include_str!("vectors/RULES.md");

const CHANGES: &str = include_str!("vectors/CHANGES.md");

/// Fewer would not cover the rules from both sides.
const LEAST_VECTORS: usize = 1100;

/// The deviations for which readers may accept or reject.
const TOLERATED: [&str; 5] = ["D1", "D2", "D3", "D4", "D5"];

fn each(problem: impl Fn(&Manifest, &Vector) -> Option<String>) {
    let manifest = vectors::load_all();
    let problems: Vec<String> = manifest
        .vectors
        .iter()
        .filter_map(|vector| Some(format!("{}: {}", vector.id, problem(&manifest, vector)?)))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn unless(holds: bool, problem: &str) -> Option<String> {
    (!holds).then(|| problem.to_owned())
}

/// Returns a manifest as JSON, uninterpreted.
fn raw(path: &str) -> Value {
    let text = std::fs::read(vectors::folder().join(path)).expect("the manifest can be read");
    serde_json::from_slice(&text).expect("the manifest is JSON")
}

/// The paths of the vectors that are files, by id.
fn files() -> BTreeMap<String, String> {
    let manifest = raw("manifest.json");
    let vectors = manifest["vectors"].as_array().expect("the vectors are an array");
    let text = |vector: &Value, key: &str| Some(vector.get(key)?.as_str()?.to_owned());
    vectors.iter().filter_map(|vector| Some((text(vector, "id")?, text(vector, "file")?))).collect()
}

fn the_schema() -> Schema {
    Schema::new(include_str!("vectors/manifest.schema.json")).expect("the schema is JSON")
}

#[test]
fn manifest_matches_its_schema() {
    assert_eq!(the_schema().check(&raw("manifest.json")), Ok(()));
}

/// For devices: CONTRIBUTING.md promises this format and these limits.
#[test]
fn manifest_can_be_read_line_by_line() {
    const LONGEST_LINE: usize = 4095;
    let path = vectors::folder().join("manifest.json");
    let text = std::fs::read_to_string(path).expect("the manifest can be read");
    let (_, rest) = text.split_once("\n\"vectors\":[\n").expect("a line begins the vectors");
    let vectors = rest.strip_suffix("\n]}\n").expect("the last line ends the vectors and the manifest");
    let lines = vectors.split(",\n").map(|line| serde_json::from_str(line).expect("a line is a vector"));
    assert_eq!(lines.collect::<Vec<Value>>(), *raw("manifest.json")["vectors"].as_array().expect("an array"));
    assert!(text.lines().all(|line| line.len() <= LONGEST_LINE), "a line is too long");
    assert!(!text.replace(r"\\", "").contains(r"\ud"), "half a character is in escapes");
    each(|_, vector| {
        unless(
            vector.metadata.as_ref().and_then(Value::as_object).is_none_or(|pairs| pairs.len() <= 4),
            "too many pairs",
        )
    });
}

/// Sets a member of the manifest, or removes it where the value is null. The path may begin with what the
/// first vector or case has that it is in.
fn set(manifest: &mut Value, path: &str, value: Value) {
    let (which, path) = path.split_at(path.find('/').expect("a path"));
    let (parent, member) = path.rsplit_once('/').expect("a path");
    let place = match which.split_once('=') {
        None => manifest,
        Some((name, word)) => {
            let list = if manifest["cases"].is_array() { "cases" } else { "vectors" };
            let mut vectors = manifest[list].as_array_mut().expect("an array").iter_mut();
            vectors.find(|vector| vector[name] == word).unwrap_or_else(|| panic!("no vector has {which}"))
        }
    };
    let members = place.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    match value {
        Value::Null => assert!(members.remove(member).is_some(), "there is no {member}"),
        value => drop(members.insert(member.replace("~1", "/"), value)),
    }
}

/// Manifests that a reader of them could stumble over: what is wrong, the member, and its value.
fn breaks() -> [(&'static str, &'static str, Value); 40] {
    [
        ("another form", "/version", json!(1)),
        ("a suite without a version", "/suite", json!("newest")),
        ("a day without a zero", "/date", json!("2026-1-2")),
        ("the thirteenth month", "/date", json!("2026-13-01")),
        ("the thirtieth of February", "/date", json!("2026-02-30")),
        ("a source that is none", "/rules/text-1/source", json!("code")),
        ("a rule without a sentence", "/rules/text-1/rule", json!("")),
        ("a flag of two words", "/flags/two words", json!("Two words.")),
        ("an unknown flag", "/flags/unknown", json!("A flag.")),
        ("an unknown rule", "/rules/text-99", json!({ "rule": "A rule.", "source": "text" })),
        ("an unknown code", "/codes/json.unknown", json!({ "class": "JSON", "meaning": "A code." })),
        ("an unknown flag of a vector", "/vectors/0/flags", json!(["unknown"])),
        ("an unknown rule of a vector", "/vectors/0/rule", json!("text-99")),
        ("an unknown code of a vector", "ours=reject/code", json!("json.unknown")),
        ("an unknown member", "/vectors/0/surplus", json!(1)),
        ("a vector that may be lite", "/vectors/0/lite", Value::Null),
        ("a profile that is no flag", "/profiles/unknown", json!("A profile.")),
        ("a negative byte", "/vectors/0/at", json!(-1)),
        ("an unknown verdict", "/vectors/0/verdict", json!("maybe")),
        ("a short checksum", "/vectors/0/sha256", json!("0")),
        ("a checksum in capitals", "/vectors/0/sha256", json!("A".repeat(64))),
        ("a path that leaves", "/vectors/0/file", json!("invalid/../x.safetensors")),
        ("a file and a recipe", "/vectors/0/recipe", json!({ "header": [], "data": [] })),
        ("no flag", "/vectors/0/flags", json!([])),
        ("a duplicate flag", "/vectors/0/flags", json!(["utf8", "utf8"])),
        ("a reason that is no sentence", "/vectors/0/reason", json!("because")),
        ("an invalid file without a twin", "verdict=invalid/twin", Value::Null),
        ("an invalid file that is accepted", "verdict=invalid/ours", json!("accept")),
        ("a rejection without a code", "ours=reject/code", Value::Null),
        ("a valid file without tensors", "id=container-empty-object/tensors", Value::Null),
        ("a valid file with an error", "verdict=valid/code", json!("json.end")),
        ("a valid file on which the text decides", "verdict=valid/published", json!("reject")),
        ("a valid file among the invalid ones", "verdict=valid/file", json!("invalid/a-b.safetensors")),
        ("a reason for the twin of a valid file", "verdict=valid/twin_differs", json!("It differs.")),
        ("a rule of the text on which readers may differ", "id=overflow-zero-last/source", json!("text")),
        ("a dtype that the format does not have", "id=entry-object/tensors/0/dtype", json!("U9")),
        ("a vector without the answer of a release", "/vectors/0/reference/0.8.0", Value::Null),
        ("the answer of an unknown release", "/vectors/0/reference/9.9.9", json!("ok")),
        ("an unknown placeholder", "id=count-257/recipe/header/1/repeat/text", json!("${j}")),
        ("a large file that is called small", "level=large/level", json!("full")),
    ]
}

/// A schema that accepts everything checks nothing.
#[test]
fn broken_manifest_violates_the_schema() {
    let (schema, mut valid) = (the_schema(), raw("manifest.json"));
    // All vectors of the manifest would be checked for each of them.
    let (mut number, named) =
        (0, ["container-empty-object", "overflow-zero-last", "entry-object", "count-257"]);
    valid["vectors"].as_array_mut().expect("an array").retain(|vector| {
        number += 1;
        let is_large = vector["level"] == "large";
        is_large || number % 20 == 1 || named.iter().any(|id| vector["id"] == **id)
    });
    assert_eq!(schema.check(&valid), Ok(()));
    for (what, path, value) in breaks() {
        let mut manifest = valid.clone();
        set(&mut manifest, path, value);
        assert!(schema.check(&manifest).is_err(), "{what} is allowed");
    }
}

#[test]
fn enough_vectors() {
    assert!(vectors::load_all().vectors.len() >= LEAST_VECTORS);
}

#[test]
fn ids_and_reasons_are_unique() {
    let manifest = vectors::load_all();
    let mut seen = BTreeSet::new();
    let words = manifest.vectors.iter().flat_map(|vector| [&vector.id, &vector.reason]);
    assert_eq!(words.filter(|word| !seen.insert(*word)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn files_have_their_names_and_no_others_exist() {
    let files = files();
    each(|_, vector| {
        let path = format!("{}/{}.safetensors", vector.verdict.word(), vector.id);
        unless(files.get(&vector.id).is_none_or(|file| *file == path), "the file's path is not verdict/id")
    });
    assert_eq!(present(), files.into_values().collect());
}

/// Returns the files that exist.
fn present() -> BTreeSet<String> {
    let files = |verdict: Verdict| {
        let directory = verdict.word();
        let entries = std::fs::read_dir(vectors::folder().join(directory)).expect("readable directory");
        entries.map(move |entry| {
            let name = entry.expect("readable directory").file_name();
            format!("{directory}/{}", name.to_string_lossy())
        })
    };
    Verdict::ALL.into_iter().flat_map(files).collect()
}

/// Reading a vector compares its checksum; `conformance` reads all of them.
#[test]
fn files_are_distinct() {
    let manifest = vectors::load_all();
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for vector in &manifest.vectors {
        let other = ids.insert(&vector.sha256, &vector.id);
        assert_eq!(other, None, "{} has the same bytes", vector.id);
    }
}

#[test]
fn tensor_checksums_match() {
    each(|_, vector| {
        let tensors = vector.tensors.as_ref()?;
        let file = vector.bytes();
        let data_at = 8 + usize::try_from(u64::from_le_bytes(*file.first_chunk()?)).ok()?;
        let wrong = tensors.iter().find(|tensor| {
            let [begin, end] =
                tensor.data_offsets.map(|offset| usize::try_from(offset).unwrap_or(usize::MAX));
            file[data_at..].get(begin..end).is_none_or(|bytes| sha256(bytes) != tensor.sha256)
        });
        wrong.map(|tensor| format!("tensor {:?} has another sum", tensor.name))
    });
}

#[test]
fn errors_are_in_their_files() {
    // Where pointers have 32 bits, a longer length is the longest of those.
    let addressable = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    each(|_, vector| {
        let is_inside = vector.at.is_none_or(|at| addressable(at) <= vector.length);
        unless(is_inside, "the offset is beyond the file")
    });
}

fn is_tolerated(vector: &Vector) -> bool {
    vector.deviation.as_deref().is_some_and(|deviation| TOLERATED.contains(&deviation))
}

#[test]
fn rules_and_their_sources_are_those_of_the_page() {
    let manifest = vectors::load_all();
    for (id, rule) in &manifest.rules {
        let source = serde_json::to_value(rule.source).expect("a word");
        let start = format!("- **{id}** [{}] ", source.as_str().expect("a word"));
        assert!(RULES.lines().any(|line| line.starts_with(&start)), "{start}");
    }
    let listed: BTreeSet<String> = manifest.rules.into_keys().collect();
    assert_eq!(listed, rules().into_keys().collect());
}

#[test]
fn twins_are_valid_vectors() {
    each(|manifest, vector| {
        let id = vector.twin.as_ref()?;
        let twin = manifest.vectors.iter().find(|other| other.id == *id);
        unless(twin.is_some_and(is_sound), "its twin is not a valid vector")
    });
}

/// Otherwise a reader that knows less than the format would be right about the vector by accident.
#[test]
fn twins_need_what_their_vectors_need_and_are_close_or_the_manifest_says_why() {
    each(|manifest, vector| {
        let is_taken = vector.fits_memory() && (!vector.is_large() || share::takes(vector.id.len()));
        let id = vector.twin.as_ref().filter(|_| is_taken)?;
        let twin = manifest.vectors.iter().find(|other| other.id == *id && other.fits_memory())?;
        let (invalid, valid) = (vector.bytes(), twin.bytes());
        let needed = only_needed_for(&invalid, &valid).into_iter().find(|need| !is_fault(vector, need));
        let close = are_close(&invalid, &valid);
        needed
            .map(|need| format!("its twin {id} does not need {need}"))
            .or_else(|| unless(close != vector.twin_differs.is_some(), "its twin is not as close as it says"))
    });
}

/// Whether what a reader needs is the fault itself: a second dtype, or a backslash where no escape can be.
fn is_fault(vector: &Vector, need: &str) -> bool {
    let outside = ["json.syntax", "json.trailing", "header.type", "entry.type"];
    match vector.code.as_deref() {
        Some("entry.repeated") => DTYPES.contains(&need),
        Some(code) => need.starts_with("escapes") && outside.contains(&code),
        None => false,
    }
}

/// The text alone says how a header begins, and the reference alone what dtypes there are.
#[test]
fn sources_are_those_that_decide() {
    each(|_, vector| {
        let (code, at) = (vector.code.as_deref()?, usize::try_from(vector.at?).ok()?);
        let single = vector.verdict == Verdict::Invalid && vector.faults == Some(1);
        if code.starts_with("json.") && vector.fits_memory() {
            let is_before = vector.bytes().get(8..at).is_some_and(|text| !text.contains(&b'{'));
            return unless(!is_before || vector.source == Source::Text, "no text is before the object");
        }
        let reference = single && code == "dtype.unknown";
        unless(!reference || vector.source == Source::Reference, "the text lists no dtypes")
    });
}

/// A dimension that is no integer breaks one rule, wherever it is.
#[test]
fn codes_of_numbers_have_their_rules() {
    const RULES: [(&str, &str); 4] = [
        ("shape.integer", "shape-2"),
        ("shape.range", "shape-3"),
        ("offsets.integer", "offsets-2"),
        ("offsets.range", "offsets-3"),
    ];
    each(|_, vector| {
        let code = vector.code.as_ref().filter(|_| vector.faults == Some(1))?;
        let (_, rule) = RULES.iter().find(|(of, _)| of == code)?;
        unless(vector.rule == *rule, "a number has another rule")
    });
}

/// Whether the vector is valid, and the latest release accepts it.
fn is_sound(vector: &Vector) -> bool {
    let latest = vector.reference.values().next_back();
    vector.verdict == Verdict::Valid && latest.is_some_and(|answers| answers.contain("ok"))
}

/// Returns the ids in a section of the newest version in CHANGES.md.
fn changed(section: &str) -> Vec<&'static str> {
    let newest = CHANGES.split("\n## ").nth(1).expect("a version");
    let text = newest.split("\n### ").find_map(|part| part.strip_prefix(section)).unwrap_or_default();
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn changes_list_ids_of_the_newest_version() {
    let manifest = vectors::load_all();
    let newest = CHANGES.split("\n## ").nth(1).expect("a version");
    assert!(newest.starts_with(&format!("{} ({})", manifest.suite, manifest.date)));
    assert!(newest.contains(&format!("It has {} vectors.", manifest.vectors.len())));
    let exists = |id: &str| manifest.vectors.iter().any(|vector| vector.id == id);
    for section in ["Verdicts", "Levels", "Faults", "Reasons", "New", "Flags"] {
        let ids = changed(section);
        let mut listed = ids.iter().filter(|id| id.contains('-') && !manifest.flags.contains_key(**id));
        assert_eq!(listed.find(|id| !exists(id)), None, "{section}");
    }
    assert!(!changed("New").is_empty());
    let pairs = [changed("Removed"), changed("Renamed")].concat();
    for pair in pairs.chunks(2) {
        assert!(!exists(pair[0]) && pair.get(1).is_some_and(|id| exists(id)), "{pair:?}");
    }
}

#[test]
fn lite_subset_is_small() {
    let manifest = vectors::load_all();
    let lite = manifest.vectors.iter().filter(|vector| vector.lite).count();
    assert!((MOST_LITE / 2..=MOST_LITE).contains(&lite), "{lite} vectors");
}

#[test]
fn latest_release_agrees_outside_the_list() {
    each(|manifest, vector| {
        let answer = manifest.references.last().and_then(|last| vector.reference.get(last))?;
        let accepts = answer.contain("ok");
        let ours = vector.ours == Ours::Accept;
        unless((accepts == ours) != is_tolerated(vector), "the reference does not agree")
    });
}

/// The class of a single error is that of its code, in the last release.
#[test]
fn single_errors_have_the_class_of_their_code() {
    each(|manifest, vector| {
        let single = vector.verdict == Verdict::Invalid && vector.faults == Some(1);
        let code = manifest.codes.get(vector.code.as_ref()?);
        let answer = manifest.references.last().and_then(|last| vector.reference.get(last))?;
        let class = code.and_then(|code| code.class.as_deref());
        unless(
            !single || class.is_some_and(|class| answer.contain(class)),
            "the reference reports another class",
        )
    });
}

/// Returns the codes of file errors. Sums are no verdict on the format.
fn codes_of_the_core() -> BTreeSet<String> {
    let of_files = ErrorKind::ALL.iter().filter(|(class, ..)| *class == Class::File);
    let of_files = of_files.filter(|(_, code, ..)| !code.starts_with("integrity."));
    of_files.map(|(_, code, ..)| (*code).to_owned()).collect()
}

#[test]
fn codes_are_unique_and_start_with_their_class() {
    let mut seen = BTreeSet::new();
    for (class, code, ..) in ErrorKind::ALL {
        let area = code.split('.').next().expect("a code has an area");
        let class_of_kind = match area {
            "limit" => Class::Limit,
            "usage" => Class::Usage,
            _ => Class::File,
        };
        assert_eq!(class_of_kind, *class, "{code}");
        assert!(seen.insert(code), "{code}");
    }
}

#[test]
fn every_code_has_a_vector() {
    let manifest = vectors::load();
    let listed: BTreeSet<String> = manifest.codes.keys().cloned().collect();
    let single = manifest.vectors.iter().filter(|vector| vector.faults == Some(1));
    let exercised: BTreeSet<String> = single.filter_map(|vector| vector.code.clone()).collect();
    assert_eq!(listed, codes_of_the_core());
    assert_eq!(exercised, listed);
}

#[test]
fn every_flag_is_used() {
    let manifest = vectors::load_all();
    let known: BTreeSet<&String> = manifest.flags.keys().collect();
    let used: BTreeSet<&String> = manifest.vectors.iter().flat_map(|vector| &vector.flags).collect();
    assert_eq!(known, used);
}

/// The manifest cannot have others; a word that it no longer has would be allowed.
#[test]
fn the_schema_lists_no_other_words() {
    let schema: Value = serde_json::from_str(include_str!("vectors/manifest.schema.json")).expect("JSON");
    let listed = |name: &str| {
        let words = schema["$defs"][name]["enum"].as_array().expect("a list");
        words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect::<BTreeSet<_>>()
    };
    let manifest = vectors::load_all();
    assert_eq!(listed("flag"), manifest.flags.into_keys().collect());
    assert_eq!(listed("rule"), manifest.rules.into_keys().collect());
    assert_eq!(listed("code"), manifest.codes.into_keys().collect());
    assert_eq!(listed("release"), manifest.references.into_iter().collect());
    assert_eq!(listed("dtype"), DTYPES.map(str::to_owned).into());
    assert_eq!(listed("dtype"), Dtype::ALL.iter().map(|dtype| dtype.name().to_owned()).collect());
}

/// Returns the rules of RULES.md: the id, and the sides on which there are vectors.
fn rules() -> BTreeMap<String, BTreeSet<&'static str>> {
    let lines = RULES.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("** "));
    lines
        .map(|(id, text)| {
            let sides: &[&str] = match () {
                () if text.ends_with("*(accepts only)*") => &["accept"],
                () if text.ends_with("*(rejects only)*") => &["reject"],
                () => &["accept", "reject"],
            };
            (id.to_owned(), sides.iter().copied().collect())
        })
        .collect()
}

#[test]
fn every_rule_has_valid_and_invalid_vectors() {
    let mut shown: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for vector in vectors::load().vectors {
        let side = if vector.ours == Ours::Accept { "accept" } else { "reject" };
        shown.entry(vector.rule).or_default().insert(side);
    }
    assert_eq!(shown, rules());
}

#[test]
fn every_deviation_is_listed_and_has_a_vector() {
    let rows = RULES.lines().filter_map(|line| line.strip_prefix("| D")?.split_once(' '));
    let listed: BTreeSet<String> = rows.map(|(number, _)| format!("D{number}")).collect();
    let shown: BTreeSet<String> =
        vectors::load().vectors.into_iter().filter_map(|vector| vector.deviation).collect();
    assert_eq!(shown, listed);
}
