//! Runs five releases of the reference over all conformance vectors: their answers are those of the manifest,
//! and differ from this project only where the list of deviations allows it.
#![cfg(feature = "oracle")]

use std::collections::BTreeSet;

use support::reference::{LATEST, RELEASES};
use support::share;
use vectors::{Manifest, Ours, Vector, Verdict};

/// The problems of one vector, as sentences.
type Problems = Vec<String>;

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

fn problems_of(manifest: &Manifest, check: impl Fn(&Manifest, &Vector) -> Problems) -> Problems {
    let of_one = |vector: &Vector| {
        let problems = check(manifest, vector);
        problems.into_iter().map(|problem| format!("{}: {problem}", vector.id)).collect::<Vec<_>>()
    };
    // With a share, only some of the vectors of many MiB are run.
    let vectors = manifest.vectors.iter().enumerate();
    let vectors = vectors.filter(|(number, vector)| !vector.is_large() || share::takes(*number));
    vectors.flat_map(|(_, vector)| of_one(vector)).collect()
}

/// Whether the latest release accepts the file, according to the manifest.
fn reference_accepts(vector: &Vector) -> bool {
    vector.reference.get(LATEST.version).is_some_and(|answers| answers.contain("ok"))
}

#[test]
fn each_release_matches_the_manifest() {
    assert_none(&problems_of(&vectors::load(), |_, vector| {
        let file = vector.bytes();
        RELEASES
            .iter()
            .filter_map(|release| {
                let answer = release.answer(&file);
                let expected = vector.reference.get(release.version);
                let is_expected = expected.is_some_and(|answers| answers.contain(&answer));
                (!is_expected).then(|| format!("{} says {answer}, not {expected:?}", release.version))
            })
            .collect()
    }));
}

#[test]
fn tables_match_reference() {
    assert_none(&problems_of(&vectors::load(), |_, vector| {
        if vector.ours == Ours::Reject || !reference_accepts(vector) {
            return vec![];
        }
        let table = match LATEST.read(&vector.bytes()) {
            Ok(table) => table,
            Err(rejection) => return vec![format!("the reference refuses it: {}", rejection.text)],
        };
        match vector.table() {
            Some(expected) if expected == table => vec![],
            expected => vec![format!("the reference reads {table:?}, not {expected:?}")],
        }
    }));
}

#[test]
fn only_listed_deviations_differ() {
    assert_none(&problems_of(&vectors::load(), |_, vector| {
        let expected = match vector.deviation.as_deref() {
            Some("D1" | "D2" | "D3" | "D4") => (Ours::Reject, true, Verdict::Either),
            Some("D5") => (Ours::Accept, false, Verdict::Either),
            // Both agree, and yet others may differ.
            None if vector.verdict == Verdict::Either => {
                (vector.ours, vector.ours.accepts(), Verdict::Either)
            }
            None | Some("D6") if reference_accepts(vector) => (Ours::Accept, true, Verdict::Valid),
            None => (Ours::Reject, false, Verdict::Invalid),
            Some(other) => return vec![format!("{other} is not on the list for such a file")],
        };
        let found = (vector.ours, reference_accepts(vector), vector.verdict);
        if found == expected {
            return vec![];
        }
        vec![format!("ours, whether the reference accepts, verdict: {found:?}, not {expected:?}")]
    }));
}

#[test]
fn single_error_has_the_class_of_the_reference() {
    assert_none(&problems_of(&vectors::load(), |manifest, vector| {
        let Some(code) = &vector.code else { return vec![] };
        let Some(known) = manifest.codes.get(code) else { return vec![format!("{code} is no known code")] };
        if vector.faults != Some(1) || vector.deviation.is_some() {
            return vec![];
        }
        let class = known.class.as_deref().unwrap_or("ok");
        if vector.reference.get(LATEST.version).is_some_and(|answers| answers.contain(class)) {
            return vec![];
        }
        vec![format!("{code} is of class {class}, but the reference says {:?}", vector.reference)]
    }));
}

#[test]
fn every_listed_deviation_has_a_vector() {
    let manifest = vectors::load();
    let shown: BTreeSet<_> =
        manifest.vectors.iter().filter_map(|vector| vector.deviation.as_deref()).collect();
    assert_eq!(shown, BTreeSet::from(["D1", "D2", "D3", "D4", "D5", "D6"]));
}
