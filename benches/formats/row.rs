//! One way to write the vector and to read it back.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;

/// More bytes than any of the files has.
pub const CAPACITY: usize = 1 << 20;

/// The group of ways that are compared; each has its own floor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// From and to memory.
    Memory,
    /// Found in memory and not copied.
    InPlace,
    /// From and to a file.
    File,
    /// Written atomically, so that after a crash the file is complete or absent; and read back.
    Durable,
}

impl Section {
    pub const ALL: [Self; 4] = [Self::Memory, Self::InPlace, Self::File, Self::Durable];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::InPlace => "in place",
            Self::File => "file",
            Self::Durable => "durable",
        }
    }
}

/// Whose way it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Floor,
    Ours,
    Reference,
    Other,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ours => "ours",
            Self::Reference => "reference",
            Self::Other => "other",
        }
    }
}

/// Writes the file to the front of the buffer, and returns its length.
pub type Encode = Box<dyn FnMut(&mut [u8]) -> usize>;
/// Reads the file's values into the vector, or replaces the vector by a new one.
pub type Decode = Box<dyn FnMut(&[u8], &mut Vec<f32>)>;
/// Finds the bytes of the values.
pub type Find = Box<dyn for<'f> FnMut(&'f [u8]) -> &'f [u8]>;
pub type Save = Box<dyn FnMut(&Path)>;
pub type Load = Box<dyn FnMut(&Path, &mut Vec<f32>)>;

pub enum Way {
    Memory(Encode, Decode),
    InPlace(Encode, Find),
    File(Save, Load),
}

pub struct Row {
    pub section: Section,
    pub kind: Kind,
    pub name: &'static str,
    /// How it gets its values.
    pub how: String,
    pub way: Way,
}

impl Row {
    pub fn memory(
        kind: Kind,
        [name, how]: [&'static str; 2],
        encode: impl FnMut(&mut [u8]) -> usize + 'static,
        decode: impl FnMut(&[u8], &mut Vec<f32>) + 'static,
    ) -> Self {
        let way = Way::Memory(Box::new(encode), Box::new(decode));
        Self { section: Section::Memory, kind, name, how: how.to_owned(), way }
    }

    pub fn in_place(
        kind: Kind,
        [name, how]: [&'static str; 2],
        encode: impl FnMut(&mut [u8]) -> usize + 'static,
        find: impl for<'f> FnMut(&'f [u8]) -> &'f [u8] + 'static,
    ) -> Self {
        let way = Way::InPlace(Box::new(encode), Box::new(find));
        Self { section: Section::InPlace, kind, name, how: how.to_owned(), way }
    }

    /// Returns the same way with files, for libraries without an API for files: all of the file at once,
    /// through memory.
    pub fn through_memory(self) -> Option<Self> {
        let Way::Memory(mut encode, mut decode) = self.way else { return None };
        let (mut made, mut read) = (vec![0; CAPACITY], Vec::new());
        let save = move |path: &Path| {
            let len = encode(&mut made);
            fs::write(path, &made[..len]).expect("enough space");
        };
        let load = move |path: &Path, values: &mut Vec<f32>| {
            read.clear();
            File::open(path).and_then(|mut file| file.read_to_end(&mut read)).expect("found");
            decode(&read, values);
        };
        let how = format!("all of the file into memory, then {}", self.how);
        Some(Self { how, ..Self::file(Section::File, self.kind, [self.name, ""], save, load) })
    }

    pub fn file(
        section: Section,
        kind: Kind,
        [name, how]: [&'static str; 2],
        save: impl FnMut(&Path) + 'static,
        load: impl FnMut(&Path, &mut Vec<f32>) + 'static,
    ) -> Self {
        Self { section, kind, name, how: how.to_owned(), way: Way::File(Box::new(save), Box::new(load)) }
    }
}

/// Returns the number of bytes written to the front of the buffer.
pub fn written(file: &Cursor<&mut [u8]>) -> usize {
    usize::try_from(file.position()).expect("fits usize")
}
