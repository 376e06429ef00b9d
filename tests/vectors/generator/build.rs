//! From a case to a vector: its bytes, the place of its fault, what the reference says; and the checks
//! that the case and the reference agree.

use std::collections::BTreeSet;

use crate::case::{At, Body, Case, Expect, Header, MARKER};
use crate::codes::class;
use crate::recipe::{Part, Recipe};
use support::reference::{LATEST, RELEASES, Release};
use vectors::table::Table;

/// A case with everything that follows from it.
pub struct Vector<'a> {
    /// The case.
    pub case: &'a Case,
    /// The bytes of the file.
    pub file: Vec<u8>,
    /// The code of this project's error and where it shows.
    pub error: Option<(&'static str, u64)>,
    /// The class that answers to the code.
    pub class: Option<&'static str>,
    /// For each release: `ok`, the class, or the classes of which it takes one at random.
    pub reference: Vec<(&'static str, Vec<String>)>,
    /// What a reader must report, if it takes the file.
    pub table: Option<Table>,
}

/// The bytes of a file under construction.
#[derive(Default)]
struct Bytes {
    file: Vec<u8>,
    marker: Option<usize>,
}

/// Builds the vector and compares it with the reference.
pub fn build(case: &Case) -> Result<Vector<'_>, String> {
    let bytes = bytes(&case.body);
    let error = error(case, &bytes)?;
    let class = error.map(|(code, _)| class(code)).transpose()?.flatten();
    let reference: Vec<_> =
        RELEASES.iter().map(|release| (release.version, verdicts(release, case, &bytes.file))).collect();
    let (_, latest) = reference.last().ok_or("no release of the reference")?;
    agree(case, class, latest)?;
    let table = table(case, &bytes.file)?;
    Ok(Vector { case, file: bytes.file, error, class, reference, table })
}

impl Vector<'_> {
    /// `valid`, `invalid` or `either`.
    pub fn verdict(&self) -> &'static str {
        match (self.case.deviation, self.case.expect) {
            (Some("D1" | "D2" | "D3" | "D4" | "D5"), _) => "either",
            (_, Expect::Accept) => "valid",
            (_, Expect::Reject { .. }) => "invalid",
        }
    }

    /// Where the file stands.
    pub fn path(&self) -> String {
        format!("{}/{}.safetensors", self.verdict(), self.case.id)
    }
}

fn bytes(body: &Body) -> Bytes {
    match body {
        Body::Raw(file) => from_raw(file),
        Body::Header(header) => from_header(header),
        Body::Recipe(recipe) => from_recipe(recipe),
    }
}

fn from_raw(file: &[u8]) -> Bytes {
    let mut bytes = Bytes::default();
    bytes.push(file);
    bytes
}

fn from_header(header: &Header) -> Bytes {
    let mut text = Bytes::default();
    for piece in [header.before.as_bytes(), header.text, header.after.as_bytes()] {
        text.push(piece);
    }
    let mut bytes = text.behind_length(header.claims);
    bytes.file.extend((0..header.data).map(pattern));
    bytes
}

fn from_recipe(recipe: &Recipe) -> Bytes {
    let mut header = Bytes::default();
    recipe.header.iter().for_each(|part| header.push_part(part));
    let mut bytes = header.behind_length(recipe.length);
    recipe.data.iter().for_each(|part| part.append(&mut bytes.file));
    bytes
}

/// Data that differs from byte to byte, so that a wrong range gives a wrong sum.
fn pattern(index: u64) -> u8 {
    let [low, ..] = index.wrapping_mul(7).wrapping_add(13).to_le_bytes();
    low
}

impl Bytes {
    /// Appends bytes, taking out the marker.
    fn push(&mut self, piece: &[u8]) {
        match piece.windows(MARKER.len()).position(|window| window == MARKER) {
            None => self.file.extend_from_slice(piece),
            Some(place) => {
                let (before, behind) = piece.split_at(place);
                self.file.extend_from_slice(before);
                self.marker = Some(self.file.len());
                self.file.extend_from_slice(&behind[MARKER.len()..]);
            }
        }
    }

    fn push_part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.push(text.as_bytes()),
            other => other.append(&mut self.file),
        }
    }

    /// This header with its length in front.
    fn behind_length(self, claims: Option<u64>) -> Self {
        let length = claims.unwrap_or(self.file.len() as u64);
        let mut file = length.to_le_bytes().to_vec();
        file.extend_from_slice(&self.file);
        Self { file, marker: self.marker.map(|place| place + 8) }
    }
}

/// Where the data of a file begins, if its header is as long as it claims.
pub fn data_at(file: &[u8]) -> u64 {
    file.first_chunk().map_or(8, |length| u64::from_le_bytes(*length).saturating_add(8))
}

/// The code of the error, and its place from the marker or from the lengths.
fn error(case: &Case, bytes: &Bytes) -> Result<Option<(&'static str, u64)>, String> {
    let Expect::Reject { code, at } = case.expect else {
        return if bytes.marker.is_none() { Ok(None) } else { Err("a marker, but no fault".into()) };
    };
    if bytes.marker.is_some() != (at == At::Marker) {
        return Err("needs a marker or a place, and not both".into());
    }
    let place = match at {
        At::Marker => bytes.marker.map_or(0, |place| place as u64),
        At::Byte(place) => place,
        At::FileEnd => bytes.file.len() as u64,
        At::Data(place) => data_at(&bytes.file) + place,
    };
    Ok(Some((code, place)))
}

/// What a release says: one class, or each that it says in many runs. Whether it panics depends on
/// how it was built, not on chance: then the case has the last word, so that all builds agree.
fn verdicts(release: &Release, case: &Case, file: &[u8]) -> Vec<String> {
    let runs = if case.random.is_empty() { 1 } else { 100 };
    let classes: BTreeSet<String> = quietly(|| (0..runs).map(|_| release.answer(file)).collect());
    if case.random.contains(&"panic") && classes.iter().all(|class| case.random.contains(&class.as_str())) {
        return case.random.iter().map(|class| (*class).to_owned()).collect();
    }
    classes.into_iter().collect()
}

/// The case says what the reference says, unless it is a listed deviation.
fn agree(case: &Case, class: Option<&str>, latest: &[String]) -> Result<(), String> {
    let theirs = latest.join(" or ");
    match (case.deviation, case.expect) {
        (Some("D1" | "D2" | "D3" | "D4"), Expect::Reject { .. }) if theirs == "ok" => Ok(()),
        (Some("D5"), Expect::Accept) if theirs == "JSON" => Ok(()),
        (None | Some("D6"), Expect::Accept) if theirs == "ok" => Ok(()),
        (None, Expect::Reject { .. }) if !case.random.is_empty() => agree_at_random(case, latest),
        (None, Expect::Reject { .. }) if theirs != "ok" => agree_in_class(case, class, &theirs),
        _ => Err(format!("the reference says {theirs}")),
    }
}

fn agree_at_random(case: &Case, latest: &[String]) -> Result<(), String> {
    if latest.iter().all(|class| case.random.contains(&class.as_str())) {
        return Ok(());
    }
    Err(format!("the reference says {}, not only {}", latest.join(" or "), case.random.join(" or ")))
}

fn agree_in_class(case: &Case, class: Option<&str>, theirs: &str) -> Result<(), String> {
    if case.faults > 1 || class == Some(theirs) {
        return Ok(());
    }
    Err(format!("one fault of class {}, but the reference says {theirs}", class.unwrap_or("none")))
}

/// What the reference reads from the file; for a file that it refuses, from its twin.
fn table(case: &Case, file: &[u8]) -> Result<Option<Table>, String> {
    if !matches!(case.expect, Expect::Accept) {
        return Ok(None);
    }
    match case.body {
        Body::Header(Header { twin: Some(twin), data, .. }) => {
            let twin =
                Header { before: "", text: twin.as_bytes(), after: "", data, claims: None, twin: None };
            read(&from_header(&twin).file)
        }
        _ => read(file),
    }
}

fn read(file: &[u8]) -> Result<Option<Table>, String> {
    quietly(|| LATEST.read(file)).map(Some).map_err(|refusal| refusal.text)
}

/// Asks the reference, of which a release may panic: that is a result and nothing to print. A panic of
/// our own stays loud. The reference's never get here: they are caught where they are called.
fn quietly<T>(ask: impl FnOnce() -> T) -> T {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let answer = ask();
    std::panic::set_hook(loud);
    answer
}
