//! Finds the pickles of a file: the file itself, entries of archives, and arrays of objects.

use super::seen::{Seen, is_zip};
use super::unpacked::{Left, Lenient, SCANNED};
use crate::input::foreign::{hint_of, is_checkpoint};
use safetensors_convert::error::beyond_limit;
use safetensors_convert::pickle::{Name, Problem, Scan};
use safetensors_convert::text::quoted;
use safetensors_convert::zip::{
    Entry, Part, ends_like_archive, entries, most_unpacked, open_entry, open_stray, strays,
};
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;
use std::rc::Rc;

/// The deepest nesting of archives.
const DEEPEST: usize = 4;
/// The longest archive within another that is unpacked.
const LONGEST: u64 = 1 << 30;
/// The largest number of places with pickles in a file, and of archives that are still to be scanned.
const MOST: usize = 1 << 12;
/// The most memory for findings in a file and for names of archives that are still to be scanned; and what a
/// finding or an archive takes beside its name, in bytes.
const MEMORY: usize = 8 << 20;
const EACH: usize = 256;
/// The suffixes of pickles in archives.
const SUFFIXES: [&str; 6] = [".pkl", ".pickle", ".pk", ".p", ".joblib", ".dill"];

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
    let search = Search::new(most_unpacked(file.metadata()?.len()), is_model);
    let mut found = search.through(file.try_clone()?)?;
    if let [Pickles { entry, scan, .. }] = &mut found[..]
        && entry.is_empty()
        && let (true, Some(problem)) = (scan.is_nothing(), &mut scan.problem)
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
    /// The bytes that findings and names take.
    memory: usize,
    /// Archives in archives, which are unpacked one after another.
    waiting: Vec<(Rc<Whole>, Entry)>,
    /// The bytes that may still be unpacked.
    left: Left,
    /// Whether the file is of a format that its beginning does not show.
    is_model: bool,
}

impl Search {
    fn new(most: u64, is_model: bool) -> Self {
        Self { found: Vec::new(), memory: 0, waiting: Vec::new(), left: Left::new(most), is_model }
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
                Ok(file) => self.scan_whole(&Whole::new(outer.names(&one.name), file))?,
                Err(error) => self.scan_damaged(&outer, error)?,
            }
        }
        Ok(())
    }

    fn scan_whole(&mut self, whole: &Rc<Whole>) -> io::Result<()> {
        let len = whole.file.metadata()?.len();
        let mut seen = Seen::in_bytes(|| Part::new(&whole.file, 0, len))?;
        seen.drop_elements_of_torch();
        let is_zip = is_zip(&seen.first);
        // A file may be a pickle and something else, as a loader decides.
        let is_model = (whole.entry.is_empty() && self.is_model) || seen.has_other_format();
        let is_expected = !is_zip && !is_model;
        if is_expected {
            seen.drop_chance();
        }
        if seen.is_pickle(is_expected) {
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
        let scanned = entries(&archive.file).and_then(|entries| {
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
        let open = || self.left.count(SCANNED, open_entry(&outer.file, &one));
        let (first, rest) = Seen::beginning(open())?;
        if is_zip(&first) {
            drop(rest);
            return self.defer(outer, one);
        }
        let seen = Seen::after(first, rest, open)?;
        let name = one.name.to_ascii_lowercase();
        let is_named = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        let is_pickle = match is_storage && !is_named {
            true => seen.surely_imports(),
            false => seen.is_pickle(is_named || seen.begins_like_pickle()),
        };
        if is_pickle {
            self.add(seen.into_pickles(outer.names(&one.name)))?;
        }
        self.left.check()
    }

    /// Puts an archive within another on the list of those that are still to be scanned.
    fn defer(&mut self, outer: &Rc<Whole>, one: Entry) -> io::Result<()> {
        let (name, len) = (quoted(&one.name), one.contents.unpacked);
        self.memory += EACH + one.name.len();
        Err(beyond_limit(match () {
            () if outer.entry.len() == DEEPEST => {
                format!("entry {name} is an archive deeper than {DEEPEST} others")
            }
            () if len > LONGEST => format!("entry {name} is an archive of {len} bytes, more than {LONGEST}"),
            () if self.waiting.len() == MOST || self.memory > MEMORY => {
                format!("more than {MOST} archives in archives, or names of them too long")
            }
            () => {
                self.waiting.push((Rc::clone(outer), one));
                return Ok(());
            }
        }))
    }

    /// Unpacks an archive within another into an unnamed file.
    fn unpack(&self, outer: &Whole, one: &Entry) -> io::Result<File> {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut self.left.count(1, open_entry(&outer.file, one)), &mut copy)?;
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
            let seen = Seen::in_bytes(|| Lenient(self.left.count(SCANNED, open_stray(&outer.file, &stray))))?;
            let is_unlisted = seen.imports_something();
            let pickles = seen.into_pickles(outer.names(&stray.name));
            let is_same =
                |one: &Pickles| one.entry == pickles.entry && one.scan.findings == pickles.scan.findings;
            if is_unlisted && !self.found.iter().any(is_same) {
                self.add(pickles)?;
            }
            self.left.check()?;
        }
        Ok(())
    }

    fn add(&mut self, mut pickles: Pickles) -> io::Result<()> {
        let Pickles { entry, scan, .. } = &mut pickles;
        scan.findings.shrink_to_fit();
        let of_name = |name: &Name| name.module.len() + name.name.len();
        let findings = scan.findings.iter().map(|one| EACH + one.name.as_deref().map_or(0, of_name));
        let sentence = scan.problem.as_ref().map_or(0, |problem| problem.sentence.len());
        self.memory += EACH + entry.iter().map(String::len).chain(findings).sum::<usize>() + sentence;
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

/// Whether each entry is a storage of PyTorch, such as `a/data/0` if there is `a/data.pkl`. PyTorch does not
/// unpickle it.
fn storages(entries: &[Entry]) -> Vec<bool> {
    let pickles: HashSet<_> = entries.iter().filter_map(|one| one.name.strip_suffix(".pkl")).collect();
    let is_storage =
        |one: &Entry| one.name.rsplit_once('/').is_some_and(|(folder, _)| pickles.contains(folder));
    entries.iter().map(is_storage).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST, Pickles, Search};
    use safetensors_convert::zip::Archive;
    use std::io::{self, Write};

    const EVIL: &[u8] = b"cos\nsystem\n(U\x02idtR.";

    fn zip(entries: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
        let mut archive = Archive::new(Vec::new(), true);
        for (name, bytes) in entries {
            archive.add::<io::Error>(&name, |out| out.write_all(&bytes)).expect("memory");
        }
        archive.finish().expect("memory")
    }

    fn searched(bytes: &[u8], left: u64) -> io::Result<Vec<Pickles>> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("disk space");
        Search::new(left, false).through(file)
    }

    /// Whether a limit is exceeded, before or after something is found. Everything else must be sound.
    fn is_limit(found: io::Result<Vec<Pickles>>) -> bool {
        match found {
            Ok(found) => {
                let mut problems = found.iter().filter_map(|pickles| pickles.scan.problem.as_ref());
                problems.any(|problem| problem.is_limit)
            }
            Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => true,
            Err(error) => panic!("{error}"),
        }
    }

    /// Every unpacked byte counts, wherever it is; so do waiting archives and findings.
    #[test]
    fn what_is_unpacked_waits_or_is_found_is_limited() {
        let pickle = [&b"N".repeat(1 << 16), &b"cos\nsystem\n."[..]].concat();
        let long = zip([("a.pkl".to_owned(), pickle)]);
        let empty = |count: usize| zip((0..count).map(|at| (at.to_string(), Vec::new())));
        let archives = |count, one: Vec<u8>| zip((0..count).map(|at| (at.to_string(), one.clone())));
        let names = |from| (from..from + 10_000).map(|number| format!("cm\n{number}\n0")).collect::<String>();
        let entry = |at: u32| (format!("{at}.pkl"), [names(at * 10_000).as_bytes(), b"N."].concat());
        let all = 1 << 30;
        for (limited, least, sound, most) in [
            (&long, 1 << 19, &long, 1 << 20),
            // A damaged archive.
            (&[b"x", &long[..]].concat(), 1 << 19, &[b"x", &long[..]].concat(), 1 << 20),
            // Nothing in the inner archives is unpacked, but they are.
            (&archives(8, empty(100)), 8 * 5000, &archives(8, empty(100)), 1 << 21),
            (&archives(MOST + 1, empty(1)), all, &archives(MOST, empty(1)), all),
            (&zip((0..20).map(entry)), all, &zip((0..2).map(entry)), all),
        ] {
            assert!(is_limit(searched(limited, least)));
            assert!(!is_limit(searched(sound, most)));
        }
    }

    /// A damaged archive in an archive makes the scan look for entries in the outer one, but only once.
    #[test]
    fn the_outer_archive_is_searched_once() {
        let broken = |at: usize| (at.to_string(), [&b"PK\x05\x06"[..], &[0; 5000]].concat());
        let random = |at: u32| at.wrapping_mul(0x9E37_79B1).rotate_left(at % 31).to_be_bytes()[0];
        let pad = ("pad".to_owned(), (0..1 << 18).map(random).collect());
        let begin = ("a.pkl".to_owned(), b"N.".to_vec());
        let outer = zip([begin].into_iter().chain((0..40).map(broken)).chain([pad]));
        let found = searched(&outer, 6 << 20).expect("no limit");
        assert_eq!(found.len(), 41);
        assert!(!is_limit(Ok(found)));
    }

    /// What precedes a limit is found, in an archive and in an entry.
    #[test]
    fn a_limit_keeps_what_was_found() {
        let many = (0..5000).map(|at| (format!("m/data/{at}"), vec![0; 4]));
        let damaged = ("m/data.pkl".to_owned(), [EVIL, b"\xFF"].concat());
        let hidden = zip([damaged].into_iter().chain(many));
        let bomb = zip([("a.pkl".to_owned(), [EVIL, &b"N0".repeat(1 << 16)].concat())]);
        for (bytes, left) in [(hidden, 1 << 30), (bomb, 1 << 17)] {
            let found = searched(&bytes, left).expect("findings");
            let name = found[0].scan.findings[0].name.as_ref().expect("a name");
            assert_eq!((name.module.as_str(), name.name.as_str()), ("os", "system"));
            assert!(is_limit(Ok(found)));
        }
    }
}
