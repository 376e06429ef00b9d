//! A simulated disk that loses unsynced data in a power cut, and can fail at any call.
//!
//! After a power cut a file has the content of its last sync, and any subset of the sectors written later. A
//! directory has the names of its last sync, and a prefix of the later changes in their order, each of them
//! atomic.

use crate::disk::Entry;
use crate::disk::{Disk, Handle, Stat};
use core::fmt;
use embedded_safetensors::file::shared::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

/// The length of a sector. It is small, so that even a short header can be torn in many ways.
const SECTOR: usize = 4;

/// The failure to inject, and its call, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePlan {
    /// No failure.
    None,
    /// This call and all later ones fail, because there is no power.
    PowerCut(usize),
    /// This call fails. A write is half done.
    Fault(usize),
    /// No existing file can be opened for writing.
    ReadOnly,
    /// Before this call another program changes the last byte of each file that is not hidden.
    Change(usize),
    /// The same, but each is replaced by a changed copy.
    Replace(usize),
}

/// The new value of that byte.
pub(crate) const CHANGED: u8 = 0xEE;

/// The unsynced sectors that survive a power cut.
#[derive(Clone, Copy, Debug)]
enum Survival {
    Nothing,
    Everything,
    /// Random sectors.
    Random(u64),
}

#[derive(Clone)]
pub(crate) struct SimulatedDisk(Arc<Mutex<State>>, Arc<Mutex<Option<(usize, Action)>>>);

/// An action of another program.
type Action = Box<dyn FnOnce() + Send>;

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimulatedDisk").field(&self.0).finish()
    }
}

#[derive(Clone, Debug)]
struct State {
    files: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// All directories, including empty ones.
    directories: BTreeSet<PathBuf>,
    /// The changes since the last sync of their directory.
    renames: Vec<Change>,
    /// Whether two names can be exchanged atomically.
    exchanges: bool,
    plan: FailurePlan,
    calls: usize,
    clock: u64,
}

/// A change of the names in a directory: one is added, one is removed, or directories are renamed.
#[derive(Clone, Debug)]
struct Change {
    directory: PathBuf,
    added: Option<(PathBuf, usize)>,
    removed: Option<PathBuf>,
    moved: Vec<(PathBuf, PathBuf)>,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// The writes since the last sync.
    writes: Vec<Write>,
    modified: u64,
}

#[derive(Clone, Debug)]
struct Write {
    at: usize,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct OpenFile {
    disk: SimulatedDisk,
    index: usize,
}

impl SimulatedDisk {
    /// Creates a disk with these files, all synced.
    pub(crate) fn with<'f>(files: impl IntoIterator<Item = (&'f Path, &'f [u8])>) -> Self {
        let (paths, files): (Vec<&Path>, Vec<Inode>) =
            files.into_iter().map(|(path, bytes)| (path, Inode::durable(bytes))).unzip();
        let paths = paths.into_iter().map(Path::to_path_buf);
        let names: BTreeMap<PathBuf, usize> = paths.enumerate().map(|(index, path)| (path, index)).collect();
        Self::of(files, names)
    }

    fn of(files: Vec<Inode>, names: BTreeMap<PathBuf, usize>) -> Self {
        let (durable_names, renames) = (names.clone(), Vec::new());
        let directories =
            names.keys().flat_map(|path| path.ancestors().skip(1)).map(Path::to_path_buf).collect();
        let (plan, exchanges) = (FailurePlan::None, true);
        let state =
            State { files, names, durable_names, directories, renames, exchanges, plan, calls: 0, clock: 1 };
        Self(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// Returns the same disk with this failure from now on.
    pub(crate) fn with_failures(self, plan: FailurePlan) -> Self {
        let mut state = self.state();
        (state.plan, state.calls) = (plan, 0);
        drop(state);
        self
    }

    /// Returns the same disk, on which two names cannot be exchanged.
    pub(crate) fn without_exchange(self) -> Self {
        self.state().exchanges = false;
        self
    }

    /// Returns an independent copy of the disk.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())), Arc::default())
    }

    /// Runs an action of another program before this call.
    pub(crate) fn interleave(&self, at: usize, action: impl FnOnce() + Send + 'static) {
        *self.1.lock().expect("lock not poisoned") = Some((at, Box::new(action)));
    }

    fn run_interleaved(&self) {
        let calls = self.calls();
        let mut interleaved = self.1.lock().expect("lock not poisoned");
        let action = interleaved.take_if(|(at, _)| *at == calls);
        drop(interleaved);
        action.into_iter().for_each(|(_, action)| action());
    }

    /// Returns the number of calls made with this failure plan.
    pub(crate) fn calls(&self) -> usize {
        self.state().calls
    }

    /// Returns the bytes of the file of this name, as programs read them.
    pub(crate) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(path).map(|&index| state.files[index].bytes.clone())
    }

    pub(crate) fn names(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Returns every possible state of the names after a power cut now, each with no unsynced sector, with
    /// all, and with so many random choices.
    pub(crate) fn after_power_cut(&self, choices: u64) -> impl Iterator<Item = Self> {
        let random = (1..=choices).map(Survival::Random);
        let all = [Survival::Nothing, Survival::Everything].into_iter().chain(random);
        all.flat_map(|survival| self.outcomes(survival))
    }

    fn outcomes(&self, survival: Survival) -> Vec<Self> {
        let state = self.state();
        let files: Vec<Inode> = state.files.iter().map(|file| file.survivor(survival)).collect();
        let mut names = state.durable_names.clone();
        let mut outcomes = Vec::from([Self::of(files.clone(), names.clone())]);
        for change in &state.renames {
            change.apply(&mut names);
            outcomes.push(Self::of(files.clone(), names.clone()));
        }
        outcomes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("lock not poisoned")
    }

    /// Counts a call, and fails it if planned.
    fn call(&self) -> io::Result<MutexGuard<'_, State>> {
        self.run_interleaved();
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        state.clock += 1;
        match state.plan {
            FailurePlan::PowerCut(from) if number >= from => Err(io::Error::other("there is no power")),
            FailurePlan::Fault(at) if number == at => Err(io::ErrorKind::StorageFull.into()),
            FailurePlan::Change(at) if number == at => {
                state.change_last_byte();
                Ok(state)
            }
            FailurePlan::Replace(at) if number == at => {
                let State { files, names, .. } = &mut *state;
                for (_, index) in names.iter_mut().filter(|(path, _)| !is_hidden(path)) {
                    files.push(files[*index].clone());
                    *index = files.len() - 1;
                }
                state.change_last_byte();
                Ok(state)
            }
            _ => Ok(state),
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

impl State {
    fn change_last_byte(&mut self) {
        let clock = self.clock;
        for (_, &index) in self.names.iter().filter(|(path, _)| !is_hidden(path)) {
            let file = &mut self.files[index];
            file.write(file.bytes.len() as u64 - 1, &[CHANGED], clock);
        }
    }

    fn change(&mut self, added: Option<(PathBuf, usize)>, removed: Option<PathBuf>) {
        let path = added.as_ref().map(|(path, _)| path).or(removed.as_ref());
        let directory = path.and_then(|path| path.parent()).expect("a name has changed").to_path_buf();
        let change = Change { directory, added, removed, moved: Vec::new() };
        change.apply(&mut self.names);
        self.renames.push(change);
    }

    fn move_directories(&mut self, moved: Vec<(PathBuf, PathBuf)>) {
        let directory = moved[0].0.parent().expect("path has a parent").to_path_buf();
        let change = Change { directory, added: None, removed: None, moved };
        change.apply(&mut self.names);
        self.directories = self.directories.iter().map(|directory| change.moved(directory)).collect();
        self.renames.push(change);
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or(io::ErrorKind::NotFound.into())
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        self.removed.as_ref().map(|path| names.remove(path));
        names.extend(self.added.clone());
        *names = names.iter().map(|(path, &index)| (self.moved(path), index)).collect();
    }

    /// Returns a path after the change.
    fn moved(&self, path: &Path) -> PathBuf {
        let below = |(from, to): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(from).ok()?;
            Some(if rest == Path::new("") { to.clone() } else { to.join(rest) })
        };
        self.moved.iter().find_map(below).unwrap_or(path.to_path_buf())
    }
}

impl Inode {
    fn durable(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), durable: bytes.to_vec(), ..Self::default() }
    }

    /// Returns the file after a power cut.
    fn survivor(&self, survival: Survival) -> Self {
        let mut bytes = self.durable.clone();
        let mut random = match survival {
            Survival::Nothing => return Self::durable(&bytes),
            Survival::Everything => return Self::durable(&self.bytes),
            Survival::Random(seed) => seed,
        };
        let sectors = self.writes.iter().flat_map(|write| {
            let pieces = write.bytes.chunks(SECTOR).enumerate();
            pieces.map(move |(number, piece)| (write.at + number * SECTOR, piece))
        });
        for (at, piece) in sectors {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if random >> 63 == 0 {
                write_at(&mut bytes, at, piece);
            }
        }
        Self::durable(&bytes)
    }
}

fn write_at(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(bytes);
}

impl Disk for SimulatedDisk {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.call().map(|_| path.to_path_buf())
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        let state = self.call()?;
        let directory = || {
            let version = Version { identity: None, len: 0, modified: None };
            let stat = Stat { other: Some("a directory"), permissions: None, version };
            state.directories.contains(path).then_some(stat)
        };
        Ok(state.names.get(path).map(|&index| state.files[index].stat(index)).or_else(directory))
    }

    fn create_new(&self, path: &Path, _: Option<&Permissions>) -> io::Result<Box<dyn Handle>> {
        let mut state = self.call()?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let index = state.files.len();
        state.files.push(Inode::default());
        state.change(Some((path.to_path_buf(), index)), None);
        Ok(Box::new(OpenFile { disk: self.clone(), index }))
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn Handle>> {
        let state = self.call()?;
        if writable && state.plan == FailurePlan::ReadOnly {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let index = state.find(path)?;
        Ok(Box::new(OpenFile { disk: self.clone(), index }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        if state.directories.contains(from) {
            if state.directories.contains(to) {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            state.move_directories(Vec::from([(from.into(), to.into())]));
            return Ok(());
        }
        let index = state.find(from)?;
        state.change(Some((to.to_path_buf(), index)), Some(from.to_path_buf()));
        Ok(())
    }

    fn rename_to_free(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.names().iter().any(|name| name == to) {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => self.rename(from, to),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        state.find(path)?;
        state.change(None, Some(path.to_path_buf()));
        Ok(())
    }

    fn create_directory(&self, path: &Path, _: Option<&Permissions>) -> io::Result<()> {
        self.call()?.directories.insert(path.into());
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let state = self.call()?;
        let directories = state.directories.iter().map(|path| (path, true));
        let all = state.names.keys().map(|path| (path, false)).chain(directories);
        let inside = all.filter(|(path, _)| path.parent() == Some(directory));
        let entry =
            |(path, is_directory): (&PathBuf, bool)| Entry { path: path.clone(), is_directory, other: None };
        Ok(inside.map(entry).collect())
    }

    /// Removes file by file.
    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        let inside = self.names().into_iter().filter(|path| path.starts_with(directory));
        inside.collect::<Vec<_>>().iter().try_for_each(|path| self.remove(path))?;
        self.call()?.directories.retain(|path| !path.starts_with(directory));
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        if !state.exchanges {
            return Err(io::ErrorKind::Unsupported.into());
        }
        assert!(state.directories.contains(one) && state.directories.contains(other), "both exist");
        let (one, other) = (one.to_path_buf(), other.to_path_buf());
        state.move_directories(Vec::from([(one.clone(), other.clone()), (other, one)]));
        Ok(())
    }

    fn pause(&self) {
        drop(self.call());
    }

    /// Syncs only the changes of this directory.
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        let (here, elsewhere): (Vec<Change>, _) =
            state.renames.drain(..).partition(|change| change.directory == directory);
        state.renames = elsewhere;
        here.iter().for_each(|change| change.apply(&mut state.durable_names));
        Ok(())
    }
}

impl Inode {
    fn stat(&self, index: usize) -> Stat {
        let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(self.modified));
        let (identity, len) = (Some((0, index as u64)), self.bytes.len() as u64);
        Stat { other: None, permissions: None, version: Version { identity, len, modified } }
    }

    fn write(&mut self, at: u64, bytes: &[u8], clock: u64) {
        let at = usize::try_from(at).expect("small file");
        write_at(&mut self.bytes, at, bytes);
        self.writes.push(Write { at, bytes: bytes.to_vec() });
        self.modified = clock;
    }
}

impl Handle for OpenFile {
    fn stat(&self) -> io::Result<Stat> {
        Ok(self.disk.call()?.files[self.index].stat(self.index))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.call()?;
        let at = usize::try_from(offset).expect("small file");
        let present = state.files[self.index].bytes.get(at..).unwrap_or(&[]);
        let len = present.len().min(buffer.len());
        buffer[..len].copy_from_slice(&present[..len]);
        Ok(len)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.disk.call().map(drop);
        let mut state = self.disk.state();
        // A write during a power cut may be partly stored; after a fault it is half done.
        let is_off = matches!(state.plan, FailurePlan::PowerCut(from) if state.calls > from + 1);
        let done = match outcome {
            Err(_) if is_off => 0,
            Err(_) => bytes.len() / 2,
            Ok(()) => bytes.len(),
        };
        let clock = state.clock;
        state.files[self.index].write(offset, &bytes[..done], clock);
        outcome
    }

    /// Writes zeros.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.call()?;
        let (clock, file) = (state.clock, self.index);
        let present = state.files[file].bytes.len() as u64;
        let more = usize::try_from(len.checked_sub(present).expect("files only grow")).expect("small");
        state.files[file].write(present, &Vec::from_iter(std::iter::repeat_n(0, more)), clock);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.call()?;
        let file = &mut state.files[self.index];
        file.durable = file.bytes.clone();
        file.writes.clear();
        Ok(())
    }
}
