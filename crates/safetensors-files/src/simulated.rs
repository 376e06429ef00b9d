//! A model of a disk that forgets what was not synced, and whose power fails after any call.
//!
//! What survives a power cut: of a file what was there at its last sync, and of later writes any sectors at all; of the names in
//! the folder those at its last sync, and of later changes the first so many, in their order, each as a whole.

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

/// Small, so that even a short header is torn in many ways.
const SECTOR: usize = 4;

/// What goes wrong, and at which call, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing.
    Fine,
    /// This call and all after it fail, because there is no power.
    PowerCut(usize),
    /// This call fails, and a write half way.
    Fault(usize),
    /// Before this call someone else changes the last byte of the file that has a name that all can see.
    Change(usize),
}

/// What someone else changes it to.
pub(crate) const CHANGED: u8 = 0xEE;

/// What survives of writes that were not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Luck {
    Nothing,
    Everything,
    /// Any sectors.
    Dice(u64),
}

#[derive(Clone)]
pub(crate) struct Forgetful(Arc<Mutex<State>>, Arc<Mutex<Option<(usize, Deed)>>>);

/// What someone else does.
type Deed = Box<dyn FnOnce() + Send>;

impl fmt::Debug for Forgetful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Forgetful").field(&self.0).finish()
    }
}

#[derive(Clone, Debug)]
struct State {
    files: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// Also those that nothing is in.
    folders: BTreeSet<PathBuf>,
    /// Since their folder was synced.
    renames: Vec<Change>,
    /// Whether two names can be exchanged in one act.
    exchanges: bool,
    plan: Plan,
    calls: usize,
    clock: u64,
}

/// What happened to the names in a folder: one leads to a file now, one to none; whole folders are called otherwise.
#[derive(Clone, Debug)]
struct Change {
    folder: PathBuf,
    appears: Option<(PathBuf, usize)>,
    vanishes: Option<PathBuf>,
    moved: Vec<(PathBuf, PathBuf)>,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// Since it was synced.
    writes: Vec<Write>,
    modified: u64,
}

#[derive(Clone, Debug)]
struct Write {
    at: usize,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    disk: Forgetful,
    index: usize,
}

impl Forgetful {
    /// A disk with these files, all on the medium.
    pub(crate) fn with<'f>(files: impl IntoIterator<Item = (&'f Path, &'f [u8])>) -> Self {
        let (paths, files): (Vec<&Path>, Vec<Inode>) =
            files.into_iter().map(|(path, bytes)| (path, Inode::durable(bytes))).unzip();
        let paths = paths.into_iter().map(Path::to_path_buf);
        let names: BTreeMap<PathBuf, usize> = paths.enumerate().map(|(index, path)| (path, index)).collect();
        Self::of(files, names)
    }

    fn of(files: Vec<Inode>, names: BTreeMap<PathBuf, usize>) -> Self {
        let (durable_names, renames) = (names.clone(), Vec::new());
        let folders = names.keys().flat_map(|path| path.ancestors().skip(1)).map(Path::to_path_buf).collect();
        let (plan, exchanges) = (Plan::Fine, true);
        let state =
            State { files, names, durable_names, folders, renames, exchanges, plan, calls: 0, clock: 1 };
        Self(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// The same disk, on which this goes wrong from now on.
    pub(crate) fn planning(self, plan: Plan) -> Self {
        let mut state = self.state();
        (state.plan, state.calls) = (plan, 0);
        drop(state);
        self
    }

    /// The same disk, on which two names cannot be exchanged.
    pub(crate) fn without_exchange(self) -> Self {
        self.state().exchanges = false;
        self
    }

    /// A copy of the disk as it is now, independent of it.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())), Arc::default())
    }

    /// Someone else does this before that call.
    pub(crate) fn meanwhile(&self, at: usize, deed: impl FnOnce() + Send + 'static) {
        *self.1.lock().expect("no test panics in here") = Some((at, Box::new(deed)));
    }

    fn let_others_go_on(&self) {
        let calls = self.calls();
        let mut deed = self.1.lock().expect("no test panics in here");
        let is_due = deed.take_if(|(at, _)| *at == calls);
        drop(deed);
        is_due.into_iter().for_each(|(_, deed)| deed());
    }

    /// How many calls have been made under this plan.
    pub(crate) fn calls(&self) -> usize {
        self.state().calls
    }

    /// The bytes of the file of this name, as a program sees them.
    pub(crate) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(path).map(|&index| state.files[index].bytes.clone())
    }

    pub(crate) fn names(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Every way in which the names can have survived a power cut now, with this luck for the bytes.
    pub(crate) fn after_power_cut(&self, luck: Luck) -> Vec<Self> {
        let state = self.state();
        let files: Vec<Inode> = state.files.iter().map(|file| file.survivor(luck)).collect();
        let mut names = state.durable_names.clone();
        let mut outcomes = Vec::from([Self::of(files.clone(), names.clone())]);
        for change in &state.renames {
            change.apply(&mut names);
            outcomes.push(Self::of(files.clone(), names.clone()));
        }
        outcomes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics in here")
    }

    /// Lets a call happen, or not.
    fn call(&self) -> io::Result<MutexGuard<'_, State>> {
        self.let_others_go_on();
        let mut state = self.state();
        let number = state.calls;
        state.calls += 1;
        state.clock += 1;
        match state.plan {
            Plan::PowerCut(from) if number >= from => Err(io::Error::other("there is no power")),
            Plan::Fault(at) if number == at => Err(io::ErrorKind::StorageFull.into()),
            Plan::Change(at) if number == at => {
                state.change_last_byte();
                Ok(state)
            }
            _ => Ok(state),
        }
    }
}

impl State {
    fn change_last_byte(&mut self) {
        let is_hidden =
            |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let clock = self.clock;
        for (_, &index) in self.names.iter().filter(|(path, _)| !is_hidden(path)) {
            let file = &mut self.files[index];
            file.write(file.bytes.len() as u64 - 1, &[CHANGED], clock);
        }
    }

    fn change(&mut self, appears: Option<(PathBuf, usize)>, vanishes: Option<PathBuf>) {
        let path = appears.as_ref().map(|(path, _)| path).or(vanishes.as_ref());
        let folder = path.and_then(|path| path.parent()).expect("something happened").to_path_buf();
        let change = Change { folder, appears, vanishes, moved: Vec::new() };
        change.apply(&mut self.names);
        self.renames.push(change);
    }

    fn move_folders(&mut self, moved: Vec<(PathBuf, PathBuf)>) {
        let folder = moved[0].0.parent().expect("it is in a folder").to_path_buf();
        let change = Change { folder, appears: None, vanishes: None, moved };
        change.apply(&mut self.names);
        self.folders = self.folders.iter().map(|folder| change.moved(folder)).collect();
        self.renames.push(change);
    }

    fn find(&self, place: &Path) -> io::Result<usize> {
        self.names.get(place).copied().ok_or(io::ErrorKind::NotFound.into())
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        self.vanishes.as_ref().map(|path| names.remove(path));
        names.extend(self.appears.clone());
        *names = names.iter().map(|(path, &index)| (self.moved(path), index)).collect();
    }

    /// What a path is after it.
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

    /// What is left of it.
    fn survivor(&self, luck: Luck) -> Self {
        let mut bytes = self.durable.clone();
        let mut dice = match luck {
            Luck::Nothing => return Self::durable(&bytes),
            Luck::Everything => return Self::durable(&self.bytes),
            Luck::Dice(seed) => seed,
        };
        let sectors = self.writes.iter().flat_map(|write| {
            let pieces = write.bytes.chunks(SECTOR).enumerate();
            pieces.map(move |(number, piece)| (write.at + number * SECTOR, piece))
        });
        for (at, piece) in sectors {
            dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if dice >> 63 == 0 {
                put(&mut bytes, at, piece);
            }
        }
        Self::durable(&bytes)
    }
}

fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    file.resize(file.len().max(end), 0);
    file[at..end].copy_from_slice(bytes);
}

impl Disk for Forgetful {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.call().map(|_| path.to_path_buf())
    }

    fn look(&self, place: &Path) -> io::Result<Option<Stat>> {
        let state = self.call()?;
        let folder = || {
            let version = Version { identity: None, len: 0, modified: None };
            let stat = Stat { other: Some("a folder"), permissions: None, version };
            state.folders.contains(place).then_some(stat)
        };
        Ok(state.names.get(place).map(|&index| state.files[index].stat(index)).or_else(folder))
    }

    fn create_new(&self, place: &Path, _: Option<&Permissions>) -> io::Result<Box<dyn Handle>> {
        let mut state = self.call()?;
        if state.names.contains_key(place) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let index = state.files.len();
        state.files.push(Inode::default());
        state.change(Some((place.to_path_buf(), index)), None);
        Ok(Box::new(Open { disk: self.clone(), index }))
    }

    fn open(&self, place: &Path, _: bool) -> io::Result<Box<dyn Handle>> {
        let index = self.call()?.find(place)?;
        Ok(Box::new(Open { disk: self.clone(), index }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        if state.folders.contains(from) {
            assert!(!state.names.contains_key(to) && !state.folders.contains(to), "something is there");
            state.move_folders(Vec::from([(from.into(), to.into())]));
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

    fn remove(&self, place: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        state.find(place)?;
        state.change(None, Some(place.to_path_buf()));
        Ok(())
    }

    fn create_folder(&self, place: &Path, _: Option<&Permissions>) -> io::Result<()> {
        self.call()?.folders.insert(place.into());
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let state = self.call()?;
        let folders = state.folders.iter().map(|path| (path, true));
        let all = state.names.keys().map(|path| (path, false)).chain(folders);
        let inside = all.filter(|(path, _)| path.parent() == Some(folder));
        let entry =
            |(path, is_folder): (&PathBuf, bool)| Entry { path: path.clone(), is_folder, other: None };
        Ok(inside.map(entry).collect())
    }

    /// File by file.
    fn remove_folder(&self, place: &Path) -> io::Result<()> {
        let inside = self.names().into_iter().filter(|path| path.starts_with(place));
        inside.collect::<Vec<_>>().iter().try_for_each(|path| self.remove(path))?;
        self.call()?.folders.retain(|path| !path.starts_with(place));
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        if !state.exchanges {
            return Err(io::ErrorKind::Unsupported.into());
        }
        assert!(state.folders.contains(one) && state.folders.contains(other), "there are two");
        let (one, other) = (one.to_path_buf(), other.to_path_buf());
        state.move_folders(Vec::from([(one.clone(), other.clone()), (other, one)]));
        Ok(())
    }

    fn pause(&self) {
        drop(self.call());
    }

    /// What happened in other folders is as it was.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.call()?;
        let (here, elsewhere): (Vec<Change>, _) =
            state.renames.drain(..).partition(|change| change.folder == folder);
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
        let at = usize::try_from(at).expect("files are small here");
        put(&mut self.bytes, at, bytes);
        self.writes.push(Write { at, bytes: bytes.to_vec() });
        self.modified = clock;
    }
}

impl Handle for Open {
    fn stat(&self) -> io::Result<Stat> {
        Ok(self.disk.call()?.files[self.index].stat(self.index))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.call()?;
        let at = usize::try_from(offset).expect("files are small here");
        let present = state.files[self.index].bytes.get(at..).unwrap_or(&[]);
        let len = present.len().min(buffer.len());
        buffer[..len].copy_from_slice(&present[..len]);
        Ok(len)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.disk.call().map(drop);
        let mut state = self.disk.state();
        // Where the power fails during a write, any of it may be there; where there is a fault, the half.
        let is_off = matches!(state.plan, Plan::PowerCut(from) if state.calls > from + 1);
        let done = match outcome {
            Err(_) if is_off => 0,
            Err(_) => bytes.len() / 2,
            Ok(()) => bytes.len(),
        };
        let clock = state.clock;
        state.files[self.index].write(offset, &bytes[..done], clock);
        outcome
    }

    /// As a write of zeros.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.call()?;
        let (clock, file) = (state.clock, self.index);
        let present = state.files[file].bytes.len() as u64;
        let more = usize::try_from(len.checked_sub(present).expect("files only grow here")).expect("small");
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
