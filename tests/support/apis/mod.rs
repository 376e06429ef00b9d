//! Reads one file through every API: all give the same verdict, and the same tensors, metadata and bytes.

#[cfg(feature = "std")]
mod path;
mod pushed;
pub mod stored;
mod viewed;

use embedded_safetensors::{Error, ErrorKind, index::IndexMemory, tensor::MAX_RANK};

use crate::memory::Memory;
use crate::random::Random;
use crate::verdict::full_verdict;
use vectors::table::{Table, Tensor};

/// How an API reads a file: it asserts that everything it returns for a valid one is right.
type Read = fn(&Case<'_>, &mut Random) -> Result<(), Error>;

/// An API that reads files.
struct Api {
    name: &'static str,
    /// The parts of the verdict that it omits, and what it cannot do.
    lacks: &'static [Lack],
    read: Read,
}

const fn api(name: &'static str, lacks: &'static [Lack], read: Read) -> Api {
    Api { name, lacks, read }
}

/// A part of the verdict that an API omits, or something that it cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// It does not detect duplicate tensor names.
    Names,
    /// It does not detect duplicate metadata keys.
    Keys,
    /// It does not compare the fields of a tensor's entry with each other.
    Tensors,
    /// It does not compare tensors with each other and with the length of the file.
    Layout,
    /// It may not know the length of the file. If a header is longer than the file, it may report an error in
    /// the bytes that follow.
    Length,
    /// It does not read tensors that are not in the order of their offsets.
    Order,
    /// It does not read shapes of more dimensions than [`MAX_RANK`].
    Rank,
}

/// An API that opens a path takes a hundred times as long as all others: one file in this many is tested.
const ON_DISK: usize = 32;

/// Tensors of one file that are looked up one by one.
const MOST_LOOKUPS: usize = 40;

/// Those that need no file on a disk.
const IN_MEMORY: [&[Api]; 3] = [&viewed::APIS, &pushed::APIS, &stored::APIS];

/// A file, and the expected verdict.
pub struct Case<'f> {
    file: &'f [u8],
    expected: Result<Table, Error>,
}

/// Reads the file through every API.
///
/// # Errors
/// The API whose verdict differs from full validation, and how.
///
/// # Panics
/// If an API returns something that is not in the file.
pub fn compare(file: &[u8], random: &mut Random) -> Result<(), String> {
    let case = Case::new(file);
    IN_MEMORY.into_iter().try_for_each(|apis| case.compare(apis, random))?;
    #[cfg(feature = "std")]
    case.compare(&path::APIS, random)?;
    Ok(())
}

/// As [`compare`], but only one in [`ON_DISK`] files is written to a disk.
///
/// # Errors
/// As [`compare`].
///
/// # Panics
/// As [`compare`].
pub fn compare_quickly(file: &[u8], random: &mut Random) -> Result<(), String> {
    match random.below(ON_DISK) {
        0 => compare(file, random),
        _ => IN_MEMORY.into_iter().try_for_each(|apis| Case::new(file).compare(apis, random)),
    }
}

/// Reads a valid file through every API that a device can have, and with `std` through those of files on a
/// disk.
///
/// Returns the name of each, and the error of one that does not read tensors in that order.
///
/// # Panics
/// If an API returns something that is not in the file, or an error for another reason.
pub fn each(file: &[u8], random: &mut Random) -> Vec<(&'static str, Result<(), Error>)> {
    let case = Case::new(file);
    assert!(case.is_valid(), "{:?}", case.expected);
    let read = |api: &Api, random: &mut Random| {
        let found = (api.read)(&case, random);
        assert_eq!(api.compare(found, &case.expected), Ok(()), "{}", api.name);
        (api.name, found)
    };
    let apis = IN_MEMORY.into_iter().flatten();
    #[cfg(feature = "std")]
    let apis = apis.chain(&path::APIS);
    apis.map(|api| read(api, random)).collect()
}

impl Api {
    fn compare(&self, found: Result<(), Error>, expected: &Result<Table, Error>) -> Result<(), String> {
        match (found, expected) {
            (Ok(()), Ok(_)) => Ok(()),
            (Ok(()), Err(expected)) if self.overlooks(expected.kind) => Ok(()),
            (Err(_), Err(expected)) if is_longer(expected.kind) && self.lacks(Lack::Length) => Ok(()),
            // The error follows something that is not checked.
            (Err(found), Err(expected)) if self.overlooks(expected.kind) && found.at > expected.at => Ok(()),
            (Err(found), _) if self.cannot(found.kind) => Ok(()),
            (Err(found), Err(expected))
                if found == *expected || self.finds_before(found.kind, expected.kind) =>
            {
                Ok(())
            }
            (found, expected) => {
                Err(format!("{found:?}, but {:?} is expected", expected.as_ref().map(|_| ())))
            }
        }
    }

    fn lacks(&self, lack: Lack) -> bool {
        self.lacks.contains(&lack)
    }

    fn overlooks(&self, kind: ErrorKind) -> bool {
        match kind {
            ErrorKind::DuplicateName => self.lacks(Lack::Names),
            ErrorKind::DuplicateKey => self.lacks(Lack::Keys),
            _ if is_of_layout(kind) => self.lacks(Lack::Layout),
            _ => is_of_tensor(kind) && self.lacks(Lack::Tensors),
        }
    }

    fn cannot(&self, kind: ErrorKind) -> bool {
        match kind {
            ErrorKind::OutOfOrder => self.lacks(Lack::Order),
            ErrorKind::Rank { .. } => self.lacks(Lack::Rank),
            _ => false,
        }
    }

    /// Full validation checks for equal names last; an API with an index finds them in its first pass.
    fn finds_before(&self, found: ErrorKind, expected: ErrorKind) -> bool {
        found == ErrorKind::DuplicateName
            && !self.lacks(Lack::Names)
            && (is_of_layout(expected) || expected == ErrorKind::DuplicateKey)
    }
}

/// Whether the header is longer than the file.
fn is_longer(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::HeaderBeyondFile { .. })
}

/// Whether several fields of an entry are needed to detect it.
fn is_of_tensor(kind: ErrorKind) -> bool {
    kind.code().starts_with("tensor.") || kind.code() == "layout.reversed"
}

/// Whether several entries, or the length of the file, are needed to detect it.
fn is_of_layout(kind: ErrorKind) -> bool {
    let areas = ["layout.", "data.", "container.header-beyond-file"];
    areas.iter().any(|area| kind.code().starts_with(area)) && !is_of_tensor(kind)
}

impl<'f> Case<'f> {
    /// Validates the file.
    pub fn new(file: &'f [u8]) -> Self {
        Self { file, expected: full_verdict(file) }
    }

    fn compare(&self, apis: &[Api], random: &mut Random) -> Result<(), String> {
        apis.iter().try_for_each(|api| {
            let found = (api.read)(self, random);
            api.compare(found, &self.expected).map_err(|problem| format!("{}: {problem}", api.name))
        })
    }

    /// Returns the verdict of full validation.
    ///
    /// # Errors
    /// That of the file.
    pub fn verdict(&self) -> Result<(), Error> {
        self.expected.as_ref().map(drop).map_err(|error| *error)
    }

    /// Whether the file is valid.
    pub fn is_valid(&self) -> bool {
        self.expected.is_ok()
    }

    /// Returns the tensors of a valid file.
    pub fn tensors(&self) -> &[Tensor] {
        self.expected.as_ref().map_or(&[], |table| &table.tensors)
    }

    /// Returns those whose shapes can be held without an index.
    fn flat(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors().iter().filter(|tensor| tensor.shape.len() <= MAX_RANK)
    }

    /// Returns some of these, if there are many: the header is read again to look each of them up.
    fn some(&self, random: &mut Random) -> impl Iterator<Item = &Tensor> {
        let step = self.tensors().len().div_ceil(MOST_LOOKUPS).max(1);
        self.flat().skip(random.below(step)).step_by(step)
    }

    fn has_only_flat(&self) -> bool {
        self.flat().count() == self.tensors().len()
    }

    /// Returns the bytes of a tensor.
    ///
    /// # Panics
    /// If the file does not have it.
    pub fn bytes(&self, tensor: &Tensor) -> &'f [u8] {
        let data_start = 8 + u64::from_le_bytes(self.file[..8].try_into().expect("8 bytes"));
        let [begin, end] =
            tensor.data_offsets.map(|offset| usize::try_from(data_start + offset).expect("fits in usize"));
        &self.file[begin..end]
    }

    /// Asserts that these are the tensors of the file, if it is valid.
    fn lists(&self, mut tensors: Vec<Tensor>) {
        tensors.sort();
        if self.is_valid() {
            assert_eq!(tensors, self.tensors());
        }
    }

    /// Returns some keys of the metadata of a valid file with their values, and keys that it does not have.
    fn some_pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let pairs = self.expected.as_ref().ok().and_then(|table| table.metadata.as_ref());
        let has = move |key: &str| pairs.is_some_and(|pairs| pairs.contains_key(key));
        let absent = ["", "no such key", "__metadata__"].into_iter().filter(move |key| !has(key));
        let known = pairs.into_iter().flatten().take(MOST_LOOKUPS);
        let prefixes = pairs.into_iter().flatten().take(MOST_LOOKUPS).filter_map(|(key, _)| {
            let end = key.char_indices().next_back()?.0;
            Some(&key[..end])
        });
        let absent = absent.chain(prefixes.filter(move |key| !has(key))).map(|key| (key, None));
        known.map(|(key, value)| (&key[..], Some(&value[..]))).chain(absent)
    }

    /// Asserts that these are the pairs of the metadata of the file, if it is valid.
    fn has_pairs<'p>(&self, pairs: Option<impl IntoIterator<Item = (&'p str, &'p str)>>) {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let pairs = pairs.map(|pairs| pairs.into_iter().map(owned).collect());
        if let Ok(table) = &self.expected {
            assert_eq!(pairs, table.metadata);
        }
    }
}

/// Lends the memory, with a random key.
fn lend<'m>(memory: &'m mut Memory, random: &mut Random) -> IndexMemory<'m> {
    memory.lend().with_key([random.number(), random.number()])
}
