//! One way to write the vector and to read it again.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;

/// More than any of the files has.
pub const ROOM: usize = 1 << 20;

/// What is compared with what: each has a floor of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// From and to memory.
    Memory,
    /// Found in memory and left where it lies.
    InPlace,
    /// From and to a file.
    File,
    /// Written so that a file is there, whole, or is not, whatever happens to the machine; and read again.
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

/// Makes the file in the front of this memory, and says how long it is.
pub type Encode = Box<dyn FnMut(&mut [u8]) -> usize>;
/// Leaves the values of the file in the vector: in its memory, or in memory of its own that takes the place of that.
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
    /// How it comes to its values.
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

    /// The same from and to a file, as programs do that have no other door to one: all of it at once, through memory.
    pub fn through_memory(self) -> Option<Self> {
        let Way::Memory(mut encode, mut decode) = self.way else { return None };
        let (mut made, mut read) = (vec![0; ROOM], Vec::new());
        let save = move |path: &Path| {
            let len = encode(&mut made);
            fs::write(path, &made[..len]).expect("there is room");
        };
        let load = move |path: &Path, values: &mut Vec<f32>| {
            read.clear();
            File::open(path).and_then(|mut file| file.read_to_end(&mut read)).expect("it is there");
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

/// How many bytes were written to the front of this memory.
pub fn written(file: &Cursor<&mut [u8]>) -> usize {
    usize::try_from(file.position()).expect("it is a place in memory")
}
