//! From a case to a vector: its bytes, the byte of its error, the reference's answers; and the checks that
//! the case and the reference agree.

use std::collections::BTreeSet;

use crate::case::{At, Body, Case, Expect, Header, MARKER};
use crate::codes::class;
use crate::recipe::{Part, Recipe};
use crate::rules::rules;
use support::reference::{LATEST, RELEASES, Release};
use vectors::{Ours, Table, Verdict};

/// A case and everything derived from it.
pub struct Vector<'a> {
    /// The case.
    pub case: &'a Case,
    /// The bytes of the file.
    pub file: Vec<u8>,
    /// The code and the offset of this project's error.
    pub error: Option<(&'static str, u64)>,
    /// The class that corresponds to the code.
    pub class: Option<&'static str>,
    /// For each release: `ok`, the class, or the classes of which it reports one at random.
    pub reference: Vec<(&'static str, Vec<String>)>,
    /// The table that a reader must report, if it accepts the file.
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
    /// Returns the verdict that every reader should give.
    pub fn verdict(&self) -> Verdict {
        match (self.case.deviation, self.ours()) {
            _ if self.case.either => Verdict::Either,
            (Some("D1" | "D2" | "D3" | "D4" | "D5"), _) => Verdict::Either,
            (_, Ours::Accept) => Verdict::Valid,
            (_, Ours::Reject) => Verdict::Invalid,
        }
    }

    /// Returns this project's verdict.
    pub fn ours(&self) -> Ours {
        if self.error.is_some() { Ours::Reject } else { Ours::Accept }
    }

    /// Returns what the published text says where readers may differ: it disallows duplicates, and an entry
    /// and a dtype have one form.
    pub fn published(&self) -> Option<&'static str> {
        match self.case.deviation {
            Some("D1" | "D2" | "D3" | "D4") => Some("reject"),
            _ => self.case.published,
        }
    }

    /// Returns whose rule the verdict is: that of its rule, unless the case or the error says otherwise.
    pub fn source(&self) -> &'static str {
        if self.error.is_none() && crate::groups::of_dtypes(self).next().is_some() {
            return "reference";
        }
        let of_rule = || rules().get(self.case.rule).map_or("", |rule| rule.source);
        self.case.source.or_else(|| self.source_of_error()).unwrap_or_else(of_rule)
    }

    /// What is not JSON breaks JSON, and what is not a number breaks the text, whatever the rule is about. An
    /// offset above 2^64 is beyond the end of any file. Only the text forbids everything before the object:
    /// RFC 8259 lets parsers ignore a byte order mark. The text lists no dtypes.
    fn source_of_error(&self) -> Option<&'static str> {
        let (code, at) = self.error?;
        let at = usize::try_from(at).ok();
        let first = at.and_then(|at| self.file.get(at));
        let is_before_object =
            || at.and_then(|at| self.file.get(8..at)).is_some_and(|text| !text.contains(&b'{'));
        match code {
            _ if code.starts_with("json.") && is_before_object() => Some("text"),
            "dtype.unknown" if self.case.faults == 1 => Some("reference"),
            "json.syntax" | "json.number" | "json.end" | "json.trailing" | "json.control" | "json.escape" => {
                Some("json")
            }
            "shape.integer" | "offsets.integer" if first.is_some_and(|byte| b"\"ntf[{".contains(byte)) => {
                Some("text")
            }
            "offsets.range" => Some("text"),
            _ => None,
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> String {
        format!("{}/{}.safetensors", self.verdict().word(), self.case.id)
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
    let mut bytes = text.with_length(header.claims);
    bytes.file.extend((0..header.data).map(pattern));
    bytes
}

fn from_recipe(recipe: &Recipe) -> Bytes {
    let mut header = Bytes::default();
    recipe.header.iter().for_each(|part| header.push_part(part));
    let mut bytes = header.with_length(recipe.length);
    match recipe.data {
        [Part::Zeros(count)] => bytes.file = with_zeros(&bytes.file, *count),
        parts => parts.iter().for_each(|part| part.append(&mut bytes.file)),
    }
    bytes
}

/// Returns the header with zeros after it. The system takes memory only where it is not zero, so that a file
/// above 4 GiB fits.
fn with_zeros(header: &[u8], count: u64) -> Vec<u8> {
    let count = usize::try_from(count).expect("the address space is larger than the file");
    let mut file = vec![0; header.len() + count];
    file[..header.len()].copy_from_slice(header);
    file
}

/// Returns data that differs from byte to byte, so that a wrong range gives a wrong checksum.
fn pattern(index: u64) -> u8 {
    let [low, ..] = index.wrapping_mul(7).wrapping_add(13).to_le_bytes();
    low
}

impl Bytes {
    /// Appends bytes, and removes the marker.
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

    /// Prepends the length of this header.
    fn with_length(self, claims: Option<u64>) -> Self {
        let length = claims.unwrap_or(self.file.len() as u64);
        let mut file = length.to_le_bytes().to_vec();
        file.extend_from_slice(&self.file);
        Self { file, marker: self.marker.map(|place| place + 8) }
    }
}

/// Returns the offset of the data of a file, if its header is as long as it claims.
pub fn data_at(file: &[u8]) -> u64 {
    file.first_chunk().map_or(8, |length| u64::from_le_bytes(*length).saturating_add(8))
}

/// Returns the code of the error, and its offset from the marker or from the lengths.
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

/// Returns the answer of a release: one class, or each one that it reports in many runs. Whether it panics
/// depends on how it was built, not on chance: then the case decides, so that all builds agree.
fn verdicts(release: &Release, case: &Case, file: &[u8]) -> Vec<String> {
    let runs = if case.random.is_empty() { 1 } else { 100 };
    let classes: BTreeSet<String> =
        without_panic_output(|| (0..runs).map(|_| release.answer(file)).collect());
    if case.random.contains(&"panic") && classes.iter().all(|class| case.random.contains(&class.as_str())) {
        return case.random.iter().map(|class| (*class).to_owned()).collect();
    }
    classes.into_iter().collect()
}

/// Checks that the reference agrees with the case, unless it is a listed deviation.
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

/// Returns the table that the reference reads from the file; for a file that it rejects, from its twin.
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
    without_panic_output(|| LATEST.read(file)).map(Some).map_err(|rejection| rejection.text)
}

/// Asks the reference, and silences the panics of its releases, which are results. The generator's own panics
/// are not silenced; the reference's are caught where it is called.
fn without_panic_output<T>(ask: impl FnOnce() -> T) -> T {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let answer = ask();
    std::panic::set_hook(loud);
    answer
}
