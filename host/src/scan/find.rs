//! Finds the pickles of a file: the file itself, entries of archives, and arrays of objects.

use super::unpacked::{Left, Lenient};
use crate::input::foreign::{hint_of, is_checkpoint, is_model};
use safetensors_convert::error::beyond_limit;
use safetensors_convert::numpy::Header;
use safetensors_convert::pickle::{Finding, Name, Problem, Scan, Use, scan};
use safetensors_convert::text::quoted;
use safetensors_convert::zip::{
    Entry, Part, ends_like_archive, entries_of, open_entry, open_stray, read_full, strays,
};
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

/// The deepest nesting of archives.
const DEEPEST: usize = 4;
/// The longest archive within another that is unpacked.
const LONGEST: u64 = 1 << 30;
/// The largest number of places with pickles in a file, and of archives that are still to be scanned.
const MOST: usize = 1 << 12;
/// The most memory for what was found in a file, and for names of archives that are still to be scanned; and
/// what a finding or an archive takes beside its name, in bytes.
const MEMORY: usize = 8 << 20;
const EACH: usize = 256;
/// The pickle that begins an old file of PyTorch, without its protocol, and that of protocols 0 and 1.
const OLD_TORCH: &[u8] = b"\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
const OLDEST_TORCH: &[u8] = b"L119547037146038801333356L\n.";
/// The pickles that precede the elements in such a file.
const OF_OLD_TORCH: u64 = 5;
/// The suffixes of pickles in archives.
const SUFFIXES: [&str; 6] = [".pkl", ".pickle", ".pk", ".p", ".joblib", ".dill"];
const NUMPY: &[u8] = b"\x93NUMPY";

/// The pickles that follow each other in one place of a file.
pub struct Pickles {
    /// The names of the entry and of the archives that have it; none for the file itself.
    pub entry: Vec<String>,
    /// The offset of the first one in its entry or its file.
    pub begin: u64,
    pub scan: Scan,
}

impl Pickles {
    /// Returns the reason why something was not scanned.
    fn not_scanned(entry: Vec<String>, error: &io::Error) -> Self {
        let is_limit = error.kind() == io::ErrorKind::QuotaExceeded;
        let problem = Problem { at: 0, is_limit, sentence: error.to_string() };
        Self { entry, begin: 0, scan: Scan { problem: Some(problem), ..Scan::default() } }
    }
}

/// Scans all pickles of a file. If something is found before a limit is exceeded, the limit is the problem
/// of the last item.
///
/// # Errors
/// Those of reading; an archive is unsound; a limit is exceeded before anything was found.
pub fn scan_file(path: &Path, file: &File) -> io::Result<Vec<Pickles>> {
    let is_model = is_checkpoint(file, path)?;
    let search = Search::new(Left::of(file.metadata()?.len()), is_model);
    let mut found = search.through(file.try_clone()?)?;
    if let [only] = &mut found[..]
        && only.entry.is_empty()
        && let (true, Some(problem)) = (only.scan.is_nothing(), &mut only.scan.problem)
        && let Some(hint) = hint_of(file)?
    {
        problem.sentence = hint;
    }
    Ok(found)
}

/// A file, or an archive that was an entry of another.
struct Whole {
    /// As for [`Pickles`].
    entry: Vec<String>,
    file: File,
    /// Whether entries were looked for by their own headers.
    is_searched: Cell<bool>,
}

impl Whole {
    fn new(entry: Vec<String>, file: File) -> Rc<Self> {
        Rc::new(Self { entry, file, is_searched: Cell::new(false) })
    }

    fn names(&self, last: &str) -> Vec<String> {
        self.entry.iter().cloned().chain([last.to_owned()]).collect()
    }
}

struct Search {
    found: Vec<Pickles>,
    /// What is found takes so many bytes.
    memory: usize,
    /// Archives in archives, which are unpacked one after another.
    waiting: Vec<(Rc<Whole>, Entry)>,
    /// The bytes that may still be unpacked.
    left: Left,
    /// Whether the file is of a format that its beginning does not show.
    is_model: bool,
}

impl Search {
    fn new(left: Left, is_model: bool) -> Self {
        Self { found: Vec::new(), memory: 0, waiting: Vec::new(), left, is_model }
    }

    fn through(mut self, file: File) -> io::Result<Vec<Pickles>> {
        match self.scan_all(file) {
            Err(error) if error.kind() == io::ErrorKind::QuotaExceeded && !self.found.is_empty() => {
                self.found.push(Pickles::not_scanned(Vec::new(), &error));
            }
            result => result?,
        }
        Ok(self.found)
    }

    fn scan_all(&mut self, file: File) -> io::Result<()> {
        self.scan_whole(&Whole::new(Vec::new(), file))?;
        // Archives in archives are scanned after those that have them.
        while let Some((outer, one)) = self.waiting.pop() {
            match self.unpack(&outer, &one) {
                Ok(file) => {
                    self.scan_whole(&Whole::new(outer.names(&one.name), file))?;
                }
                Err(error) => self.scan_damaged(&outer, error)?,
            }
        }
        Ok(())
    }

    fn scan_whole(&mut self, whole: &Rc<Whole>) -> io::Result<()> {
        let len = whole.file.metadata()?.len();
        let mut seen = Seen::in_bytes(|| Part::new(&whole.file, 0, len))?;
        drop_elements_of_torch(&seen.first, &mut seen.scan);
        let is_zip = is_zip(&seen.first);
        // A file may be a pickle and something else, as a loader decides.
        let is_model = (whole.entry.is_empty() && self.is_model) || has_other_format(&seen.first);
        if seen.is_pickle(!is_zip && !is_model) {
            self.add(seen.into_pickles(whole.entry.clone()))?;
        }
        match () {
            () if is_zip => self.scan_archive(whole),
            // Some programs find an archive by its end.
            () if ends_like_archive(&whole.file)? => self.scan_strays(whole),
            () => Ok(()),
        }
    }

    /// Scans the entries of an archive. Those of a damaged one are looked for by their own headers, because
    /// there are programs that read them so.
    fn scan_archive(&mut self, archive: &Rc<Whole>) -> io::Result<()> {
        let before = self.found.len();
        let scanned = entries_of(&archive.file, "a zip archive").and_then(|entries| {
            let are_storages = storages(&entries);
            let mut all = entries.into_iter().zip(are_storages);
            all.try_for_each(|(one, is_storage)| self.scan_entry(archive, one, is_storage))
        });
        match scanned {
            Ok(()) if self.found.iter().skip(before).all(|pickles| pickles.scan.problem.is_none()) => Ok(()),
            Ok(()) => self.scan_strays(archive),
            Err(error) => self.scan_damaged(archive, error),
        }
    }

    fn scan_damaged(&mut self, archive: &Whole, error: io::Error) -> io::Result<()> {
        if error.kind() != io::ErrorKind::InvalidData {
            return Err(error);
        }
        self.scan_strays(archive)?;
        if self.found.is_empty() {
            return Err(error);
        }
        self.add(Pickles::not_scanned(archive.entry.clone(), &error))
    }

    fn scan_entry(&mut self, outer: &Rc<Whole>, one: Entry, is_storage: bool) -> io::Result<()> {
        let open = || self.left.scanned(open_entry(&outer.file, &one));
        let mut contents = open();
        let first = beginning(&mut contents)?;
        if is_zip(&first) {
            drop(contents);
            return self.defer(outer, one);
        }
        let seen = Seen::after(first, contents, open)?;
        let is_named = SUFFIXES.iter().any(|suffix| one.name.to_ascii_lowercase().ends_with(suffix));
        let is_marked = || {
            matches!(seen.first[..], [0x80, ..=5, ..])
                && (seen.scan.pickles > 0 || does_something(&seen.scan))
        };
        let is_pickle = match is_storage && !is_named {
            true => surely_imports(&seen.scan),
            false => seen.is_pickle(is_named || is_marked()),
        };
        if is_pickle {
            self.add(seen.into_pickles(outer.names(&one.name)))?;
        }
        self.left.check()
    }

    /// Puts an archive within another on the list of those that are still to be scanned.
    fn defer(&mut self, outer: &Rc<Whole>, one: Entry) -> io::Result<()> {
        let name = quoted(&one.name);
        if outer.entry.len() == DEEPEST {
            return Err(beyond_limit(format!("entry {name} is an archive deeper than {DEEPEST} others")));
        }
        if one.unpacked > LONGEST {
            let len = one.unpacked;
            return Err(beyond_limit(format!(
                "entry {name} is an archive of {len} bytes, more than {LONGEST}"
            )));
        }
        self.memory += EACH + one.name.len();
        if self.waiting.len() == MOST || self.memory > MEMORY {
            return Err(beyond_limit(format!(
                "more than {MOST} archives in archives, or names of them too long"
            )));
        }
        self.waiting.push((Rc::clone(outer), one));
        Ok(())
    }

    /// Unpacks an archive within another into an unnamed file.
    fn unpack(&self, outer: &Whole, one: &Entry) -> io::Result<File> {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut self.left.unpacked(open_entry(&outer.file, one)), &mut copy)?;
        copy.flush()?;
        copy.rewind()?;
        Ok(copy)
    }

    /// Scans entries that nothing but their own headers confirms. Only imports that are not on the list
    /// matter.
    fn scan_strays(&mut self, outer: &Whole) -> io::Result<()> {
        if outer.is_searched.replace(true) {
            return Ok(());
        }
        self.left.spend(outer.file.metadata()?.len())?;
        for stray in strays(&outer.file)? {
            let stray = stray?;
            let seen = Seen::in_bytes(|| Lenient(self.left.scanned(open_stray(&outer.file, &stray))))?;
            let pickles = seen.into_pickles(outer.names(&stray.name));
            let is_same =
                |one: &Pickles| one.entry == pickles.entry && one.scan.findings == pickles.scan.findings;
            if imports_something(&pickles.scan) && !self.found.iter().any(is_same) {
                self.add(pickles)?;
            }
            self.left.check()?;
        }
        Ok(())
    }

    fn add(&mut self, mut pickles: Pickles) -> io::Result<()> {
        pickles.scan.findings.shrink_to_fit();
        let names = pickles.entry.iter().map(String::len).sum::<usize>();
        let findings = pickles.scan.findings.iter();
        let of_name = |name: &Name| name.module.len() + name.name.len();
        let findings = findings.map(|one| EACH + one.name.as_deref().map_or(0, of_name)).sum::<usize>();
        let sentence = pickles.scan.problem.as_ref().map_or(0, |problem| problem.sentence.len());
        self.memory += EACH + names + findings + sentence;
        if self.memory > MEMORY {
            return Err(beyond_limit("too many different names are imported or called in the whole file"));
        }
        if self.found.len() == MOST {
            return Err(beyond_limit(format!("more than {MOST} pickles")));
        }
        self.found.push(pickles);
        Ok(())
    }
}

/// What bytes have that may be pickles.
struct Seen {
    first: Vec<u8>,
    /// The offset of what was scanned: the end of the header of an array whose elements may be objects.
    begin: u64,
    scan: Scan,
}

impl Seen {
    /// Scans the bytes that `open` opens.
    fn in_bytes<R: Read>(open: impl Fn() -> R) -> io::Result<Self> {
        let mut contents = open();
        Self::after(beginning(&mut contents)?, contents, open)
    }

    /// Scans bytes whose beginning was read. Most of those that are no pickle show that there.
    fn after<R: Read>(first: Vec<u8>, rest: R, open: impl Fn() -> R) -> io::Result<Self> {
        let begin = end_of_header(&first, &open)?;
        let scan = if begin == 0 {
            scan(first.chain(rest))?
        } else {
            let mut contents = open();
            io::copy(&mut (&mut contents).take(begin), &mut io::sink())?;
            scan(contents)?
        };
        Ok(Self { first, begin, scan })
    }

    /// Whether these bytes count as pickles; `is_expected` if their place or name is that of one.
    fn is_pickle(&self, is_expected: bool) -> bool {
        let scan = &self.scan;
        let may_be_objects = self.begin > 0
            && (scan.problem.is_none()
                || says_objects(self.header())
                || scan.findings.iter().any(|finding| is_meant(finding, scan)));
        is_expected || may_be_objects || imports_something(scan)
    }

    /// The part of an array's header that is in `first`.
    fn header(&self) -> &[u8] {
        let len = usize::try_from(self.begin).unwrap_or(usize::MAX).min(self.first.len());
        self.first.get(..len).unwrap_or_default()
    }

    fn into_pickles(self, entry: Vec<String>) -> Pickles {
        Pickles { entry, begin: self.begin, scan: self.scan }
    }
}

fn beginning(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = vec![0; 1 << 12];
    let len = read_full(source, &mut first)?;
    first.truncate(len);
    Ok(first)
}

/// Whether each entry is a storage of PyTorch, such as `a/data/0` if there is `a/data.pkl`. PyTorch does not
/// unpickle it.
fn storages(entries: &[Entry]) -> Vec<bool> {
    let pickles: HashSet<_> = entries.iter().filter_map(|one| one.name.strip_suffix(".pkl")).collect();
    let is_storage =
        |one: &Entry| one.name.rsplit_once('/').is_some_and(|(folder, _)| pickles.contains(folder));
    entries.iter().map(is_storage).collect()
}

fn is_zip(first: &[u8]) -> bool {
    first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
}

/// The offset of the data of an array, where a pickle is if its elements are objects; 0 if they are numbers,
/// or if it is not an array. The header is a literal of Python, which has many spellings for objects; those
/// of numbers that the strict parser accepts have only one meaning.
fn end_of_header<R: Read>(first: &[u8], open: impl Fn() -> R) -> io::Result<u64> {
    let end = match first.strip_prefix(NUMPY) {
        Some([1, _, low, high, ..]) => 10 + u64::from(u16::from_le_bytes([*low, *high])),
        Some([2..=255, _, a, b, c, d, ..]) => 12 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => return Ok(0),
    };
    match Header::read(&mut open()) {
        Ok(_) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(end),
        Err(error) => Err(error),
    }
}

/// Whether the header of an array has the usual type of objects, which may be members of records, too: in
/// quotes, with an order of bytes or a size.
fn says_objects(header: &[u8]) -> bool {
    let is_type = |text: &[u8]| {
        let Some((quote @ (b'\'' | b'"'), text)) = text.split_first() else { return false };
        let text = match text {
            [b'|' | b'<' | b'>' | b'=', text @ ..] | text => text,
        };
        let rest = text.strip_prefix(b"O").unwrap_or_default();
        rest.iter().find(|byte| !byte.is_ascii_digit()) == Some(quote)
    };
    (0..header.len()).any(|at| header.get(at..).is_some_and(is_type))
}

/// Whether a file of this beginning is of another format: numpy, safetensors or GGUF.
fn has_other_format(first: &[u8]) -> bool {
    is_model(first) || first.starts_with(b"GGUF") || first.starts_with(NUMPY)
}

/// Whether a pickle would import or call something, even if its end is damaged.
fn does_something(scan: &Scan) -> bool {
    scan.findings.iter().any(|finding| finding.used != Use::PersistentId)
}

/// Whether bytes that need not be a pickle would import or call what is not on the list. A limit counts, too:
/// bytes that are no pickle end sooner, at one that is not an opcode.
fn imports_something(scan: &Scan) -> bool {
    let exceeds_limit = scan.problem.as_ref().is_some_and(|problem| problem.is_limit);
    exceeds_limit
        || scan.may_hide
        || scan.findings.iter().any(|finding| !finding.is_listed && is_meant(finding, scan))
}

/// Whether a use in bytes that need not be a pickle is unlikely to be there by chance. A name can be one, or
/// was too long to be kept; or it is computed in a complete pickle, or in one with such a name.
fn is_meant(finding: &Finding, scan: &Scan) -> bool {
    match &finding.name {
        Some(_) => has_name(finding),
        None => {
            let is_near = |other: &Finding| other.pickle == finding.pickle && has_name(other);
            let is_sure = finding.pickle < scan.pickles || scan.may_hide;
            matches!(finding.used, Use::Import | Use::Call) && (is_sure || scan.findings.iter().any(is_near))
        }
    }
}

/// Whether elements are a pickle: a complete one with the name of an import, and not only names on the list.
fn surely_imports(scan: &Scan) -> bool {
    let named = scan.findings.iter().filter(|one| has_name(one)).map(|one| one.pickle);
    let named: HashSet<_> = named.filter(|pickle| *pickle < scan.pickles).collect();
    scan.findings.iter().any(|one| !one.is_listed && named.contains(&one.pickle))
}

/// Whether the outermost module can be one. It is imported first, even if the rest cannot be found.
fn has_name(finding: &Finding) -> bool {
    let outermost = finding.name.as_ref().and_then(|name| name.module.split('.').next());
    outermost.is_some_and(|text| !text.is_empty() && !text.contains(char::is_control))
}

/// The elements of an old file of PyTorch follow its pickles, and are not one.
fn drop_elements_of_torch(first: &[u8], scan: &mut Scan) {
    if is_old_torch(first) && scan.pickles >= OF_OLD_TORCH {
        let may_hide = scan.may_hide;
        scan.problem.take_if(|problem| !problem.is_limit && !may_hide);
        let is_kept = |one: &&Finding| one.pickle < OF_OLD_TORCH || is_meant(one, scan);
        scan.findings = scan.findings.iter().filter(is_kept).cloned().collect();
    }
}

/// Whether it begins with the pickle of the number by which PyTorch knows its old files; of any protocol.
fn is_old_torch(first: &[u8]) -> bool {
    let number = match first {
        [0x80, 2..=3, number @ ..] => number,
        // In a frame.
        [0x80, 4..=5, 0x95, _, _, _, _, _, _, _, _, number @ ..] => number,
        _ => return first.starts_with(OLDEST_TORCH),
    };
    number.starts_with(OLD_TORCH)
}

#[cfg(test)]
mod tests {
    use super::{Pickles, Search, says_objects};
    use crate::scan::unpacked::Left;
    use safetensors_convert::zip::Archive;
    use std::fs::File;
    use std::io::{self, Write};

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("disk space");
        file
    }

    fn zip(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut archive = Archive::new(Vec::new(), true);
        for (name, bytes) in entries {
            archive.add::<io::Error>(name, |out| out.write_all(bytes)).expect("memory");
        }
        archive.finish().expect("memory")
    }

    fn searched(bytes: &[u8], left: u64) -> io::Result<Vec<Pickles>> {
        Search::new(Left::new(left), false).through(file(bytes))
    }

    /// Whether a limit is exceeded, before or after something is found. Everything else must be sound.
    fn is_limit(found: io::Result<Vec<Pickles>>) -> bool {
        match found {
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded, "{error}");
                true
            }
            Ok(found) => {
                let mut problems = found.iter().filter_map(|pickles| pickles.scan.problem.as_ref());
                problems.any(|problem| problem.is_limit)
            }
        }
    }

    /// All that is unpacked counts, wherever it is.
    #[test]
    fn what_archives_unpack_to_is_limited() {
        let pickle = [b"N".repeat(1 << 16), b"cos\nsystem\n.".to_vec()].concat();
        // Nothing in the inner archives is unpacked, but they are.
        let inner = zip(&(0..100).map(|at| (at.to_string(), Vec::new())).collect::<Vec<_>>());
        let nested: Vec<_> = (0..8).map(|at| (format!("n{at}"), inner.clone())).collect();
        for (bytes, least, most) in [
            (zip(&[("a.pkl".to_owned(), pickle.clone())]), 1 << 19, 1 << 20),
            // Damaged ones.
            ([b"x", &zip(&[("a.pkl".to_owned(), pickle)])[..]].concat(), 1 << 19, 1 << 20),
            (zip(&nested), 8 * 5000, 1 << 21),
        ] {
            assert!(is_limit(searched(&bytes, least)));
            assert!(!is_limit(searched(&bytes, most)));
        }
    }

    /// A damaged archive in an archive makes the scan look for entries in the outer one, but only once.
    #[test]
    fn the_outer_archive_is_searched_once() {
        let broken = |at: usize| (at.to_string(), [&b"PK\x05\x06"[..], &[0; 5000]].concat());
        let begin = ("a.pkl".to_owned(), b"N.".to_vec());
        let mut state = 1_u32;
        let random = || {
            state = state.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
            state.to_be_bytes()[0]
        };
        let random = std::iter::repeat_with(random).take(1 << 18).collect();
        let rest = (0..40).map(broken).chain([("pad".to_owned(), random)]);
        let outer = zip(&[begin].into_iter().chain(rest).collect::<Vec<_>>());
        let found = searched(&outer, 6 << 20).expect("no limit");
        assert_eq!(found.len(), 41);
        assert!(!is_limit(Ok(found)));
    }

    /// What precedes a limit is found, in an archive and in an entry.
    #[test]
    fn a_limit_keeps_what_was_found() {
        let evil = b"cos\nsystem\n(U\x02idtR.".to_vec();
        let many = (0..5000).map(|at| (format!("m/data/{at}"), vec![0; 4]));
        let damaged = ("m/data.pkl".to_owned(), [&evil[..], b"\xFF"].concat());
        let hidden = zip(&[damaged].into_iter().chain(many).collect::<Vec<_>>());
        let bomb = zip(&[("a.pkl".to_owned(), [&evil[..], &b"N0".repeat(1 << 16)].concat())]);
        for (bytes, left) in [(hidden, 1 << 30), (bomb, 1 << 17)] {
            let found = searched(&bytes, left).expect("findings");
            let name = found[0].scan.findings[0].name.as_ref().expect("a name");
            assert_eq!((name.module.as_str(), name.name.as_str()), ("os", "system"));
            assert!(is_limit(Ok(found)));
        }
    }

    #[test]
    fn types_of_objects_are_whole_texts() {
        for (header, is_object) in [
            ("'O'", true),
            ("\"|O\"", true),
            ("'>O8'", true),
            ("[('a','=O')]", true),
            ("('Open','<f8')", false),
            ("'O\"", false),
            ("'OO'", false),
            ("'|'", false),
            ("'", false),
        ] {
            assert_eq!(says_objects(header.as_bytes()), is_object, "{header}");
        }
    }

    #[test]
    fn archives_that_wait_are_limited() {
        let inner = zip(&[("a".to_owned(), Vec::new())]);
        let all = |count: usize| (0..count).map(|at| (at.to_string(), inner.clone())).collect::<Vec<_>>();
        assert!(!is_limit(searched(&zip(&all(super::MOST)), 1 << 30)));
        assert!(is_limit(searched(&zip(&all(super::MOST + 1)), 1 << 30)));
    }

    #[test]
    fn what_is_found_is_limited_in_total() {
        let names =
            |from: u32| (from..from + 10_000).map(|number| format!("cm\n{number}\n0")).collect::<String>();
        let entry = |at: u32| (format!("{at}.pkl"), [names(at * 10_000).as_bytes(), b"N."].concat());
        assert!(!is_limit(searched(&zip(&(0..2).map(entry).collect::<Vec<_>>()), 1 << 30)));
        assert!(is_limit(searched(&zip(&(0..20).map(entry).collect::<Vec<_>>()), 1 << 30)));
    }
}
