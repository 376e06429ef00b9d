//! The little of a 32-bit little-endian ELF file that is asked here: sizes and contents of sections, names of symbols.

use std::path::Path;
use std::slice::ChunksExact;

const HEADERS_AT: usize = 0x20;
const HEADER_SIZE_AT: usize = 0x2e;
const HEADER_COUNT_AT: usize = 0x30;
const NAMES_INDEX_AT: usize = 0x32;
const SYMBOL_SIZE: usize = 16;
const SYMBOL_TABLE: u32 = 2;
const FUNCTION: usize = 2;
const WITHOUT_BYTES: u32 = 8;
const WRITABLE: u32 = 1;
const IN_MEMORY: u32 = 2;

/// A linked program.
pub struct Elf {
    bytes: Vec<u8>,
    sections: Vec<Section>,
}

/// How many symbols, and how many bytes they have.
pub struct Symbols {
    pub count: u32,
    pub bytes: u32,
}

struct Section {
    name: u32,
    kind: u32,
    flags: u32,
    address: u32,
    offset: usize,
    size: usize,
    link: usize,
}

impl Elf {
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = crate::workspace::read(path)?;
        Self::parse(bytes).ok_or_else(|| format!("{} is not a 32-bit ELF file", path.display()))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        bytes.starts_with(b"\x7fELF\x01\x01").then_some(())?;
        let start = word(&bytes, HEADERS_AT)? as usize;
        let (size, count) = (half(&bytes, HEADER_SIZE_AT)?, half(&bytes, HEADER_COUNT_AT)?);
        let sections =
            (0..count).map(|index| section(&bytes, start + index * size)).collect::<Option<_>>()?;
        Some(Self { bytes, sections })
    }

    /// The summed sizes of the sections with these names.
    pub fn size_of(&self, names: &[&str]) -> usize {
        let wanted =
            |section: &&Section| self.section_name(section).is_some_and(|name| names.contains(&name));
        self.sections.iter().filter(wanted).map(|section| section.size).sum()
    }

    /// How many bytes of memory have a value at the start, and so a place in flash.
    pub fn size_loaded(&self) -> usize {
        let loaded =
            |section: &&Section| section.flags & IN_MEMORY == IN_MEMORY && section.kind != WITHOUT_BYTES;
        self.sections.iter().filter(loaded).map(|section| section.size).sum()
    }

    /// The addresses at which these bytes lie in memory that the program does not write to.
    pub fn addresses_of(&self, wanted: &[u8]) -> Vec<u32> {
        let constant = |section: &&Section| section.flags & (IN_MEMORY | WRITABLE) == IN_MEMORY;
        let sections = self.sections.iter().filter(constant);
        sections.flat_map(|section| self.addresses_in(section, wanted)).collect()
    }

    fn addresses_in(&self, section: &Section, wanted: &[u8]) -> Vec<u32> {
        let bytes = self.bytes.get(section.offset..section.offset + section.size).unwrap_or(&[]);
        let addresses = bytes.windows(wanted.len()).zip(section.address..);
        addresses.filter(|(window, _)| *window == wanted).map(|(_, address)| address).collect()
    }

    /// The summed sizes of all functions, without the gaps between them, which are others in every order; nothing when the
    /// file has been stripped of its symbols.
    pub fn size_of_functions(&self) -> Option<usize> {
        let (symbols, _) = self.symbol_table()?;
        let functions = symbols.filter(|symbol| half(symbol, 12).is_some_and(|info| info & 0xf == FUNCTION));
        functions.map(|symbol| Some(word(symbol, 8)? as usize)).sum()
    }

    /// The symbols whose names have one of these parts.
    pub fn symbols_with(&self, parts: &[&str]) -> Result<Symbols, String> {
        let (symbols, strings) = self.symbol_table().ok_or("the linked program has no symbol table")?;
        let mut found = Symbols { count: 0, bytes: 0 };
        for symbol in symbols {
            let name = word(symbol, 0).and_then(|name| self.string(strings, name)).unwrap_or("");
            if parts.iter().any(|part| name.contains(part)) {
                found.count += 1;
                found.bytes += word(symbol, 8).unwrap_or(0);
            }
        }
        Ok(found)
    }

    /// The names of all symbols; nothing when the file has been stripped of them.
    fn symbols(&self) -> Option<Vec<&str>> {
        let (symbols, strings) = self.symbol_table()?;
        symbols.map(|symbol| self.string(strings, word(symbol, 0)?)).collect()
    }

    /// All symbols, and where their names are.
    fn symbol_table(&self) -> Option<(ChunksExact<'_, u8>, &Section)> {
        let table = self.sections.iter().find(|section| section.kind == SYMBOL_TABLE)?;
        let symbols = self.bytes.get(table.offset..table.offset + table.size)?.chunks_exact(SYMBOL_SIZE);
        Some((symbols, self.sections.get(table.link)?))
    }

    /// That no symbol's name has one of these parts.
    pub fn lacks(&self, parts: &[&str]) -> Result<(), String> {
        let symbols = self.symbols().ok_or("the linked program has no symbol table to look into")?;
        let unwanted = |symbol: &&&str| parts.iter().any(|part| symbol.contains(part));
        match symbols.iter().find(unwanted) {
            None if symbols.contains(&"main") => Ok(()),
            None => Err("the symbol table lacks even main".to_owned()),
            Some(symbol) => Err(format!("the linked program contains {symbol}")),
        }
    }

    fn section_name(&self, section: &Section) -> Option<&str> {
        let index = half(&self.bytes, NAMES_INDEX_AT)?;
        self.string(self.sections.get(index)?, section.name)
    }

    fn string(&self, table: &Section, at: u32) -> Option<&str> {
        let strings = self.bytes.get(table.offset..table.offset + table.size)?;
        let string = strings.get(at as usize..)?.split(|&byte| byte == 0).next()?;
        std::str::from_utf8(string).ok()
    }
}

fn section(bytes: &[u8], at: usize) -> Option<Section> {
    let field = |index: usize| word(bytes, at + 4 * index);
    Some(Section {
        name: field(0)?,
        kind: field(1)?,
        flags: field(2)?,
        address: field(3)?,
        offset: field(4)? as usize,
        size: field(5)? as usize,
        link: field(6)? as usize,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}
