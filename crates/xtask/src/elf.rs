//! Inspects linked programs: sizes of sections, names of symbols, addresses of bytes.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use std::path::Path;

/// A linked program.
pub struct Elf {
    sections: Vec<Section>,
    /// `None` if the file has been stripped of its symbols.
    symbols: Option<Vec<Symbol>>,
}

struct Section {
    name: String,
    flags: u64,
    address: u64,
    size: usize,
    /// The bytes in the file.
    data: Vec<u8>,
}

struct Symbol {
    name: String,
    size: usize,
    is_function: bool,
}

impl Elf {
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = crate::workspace::read(path)?;
        let file = object::File::parse(&bytes[..]);
        file.and_then(|file| Self::read(&file)).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn read(file: &object::File<'_>) -> object::Result<Self> {
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags: flags } = section.flags() else { continue };
            let (name, data) = (section.name()?.to_owned(), section.data()?.to_vec());
            sections.push(Section {
                name,
                flags,
                address: section.address(),
                size: size(section.size()),
                data,
            });
        }
        let symbol = |symbol: object::Symbol<'_, '_>| Symbol {
            name: symbol.name().unwrap_or_default().to_owned(),
            size: size(symbol.size()),
            is_function: symbol.kind() == SymbolKind::Text,
        };
        let symbols = file.symbol_table().map(|_| file.symbols().map(symbol).collect());
        Ok(Self { sections, symbols })
    }

    fn sum(&self, is_counted: impl Fn(&Section) -> bool) -> usize {
        self.sections.iter().filter(|section| is_counted(section)).map(|section| section.size).sum()
    }

    /// Returns the sum of the sizes of the sections with these names.
    pub fn size_of(&self, names: &[&str]) -> usize {
        self.sum(|section| names.contains(&&*section.name))
    }

    /// Returns the number of bytes that are loaded, and so need flash.
    pub fn size_loaded(&self) -> usize {
        self.sum(|section| section.is(elf::SHF_ALLOC) && !section.data.is_empty())
    }

    /// Returns the addresses of these bytes in read-only memory.
    pub fn addresses_of(&self, bytes: &[u8]) -> Vec<u64> {
        let constant = |section: &&Section| section.is(elf::SHF_ALLOC) && !section.is(elf::SHF_WRITE);
        let sections = self.sections.iter().filter(constant);
        let windows = sections.flat_map(|section| section.data.windows(bytes.len()).zip(section.address..));
        windows.filter(|(window, _)| *window == bytes).map(|(_, at)| at).collect()
    }

    /// Returns the sum of the sizes of all functions, without padding, which depends on their order; `None`
    /// if the file has been stripped of its symbols.
    pub fn size_of_functions(&self) -> Option<usize> {
        let functions = self.symbols.as_ref()?.iter().filter(|symbol| symbol.is_function);
        Some(functions.map(|symbol| symbol.size).sum())
    }

    /// Counts the symbols whose names contain one of these parts.
    pub fn count(&self, parts: &[&str]) -> Result<usize, String> {
        self.named(parts).map(|symbols| symbols.len())
    }

    fn named(&self, parts: &[&str]) -> Result<Vec<&Symbol>, String> {
        let symbols = self.symbols.as_ref().ok_or("the linked program has no symbol table")?;
        let is_meant = |symbol: &&Symbol| parts.iter().any(|part| symbol.name.contains(part));
        Ok(symbols.iter().filter(is_meant).collect())
    }

    /// Checks that no symbol's name contains one of these parts.
    pub fn lacks(&self, parts: &[&str]) -> Result<(), String> {
        match self.named(parts)?.first() {
            Some(symbol) => Err(format!("the linked program contains {}", symbol.name)),
            None if self.named(&["main"])?.iter().any(|symbol| symbol.name == "main") => Ok(()),
            None => Err("the symbol table lacks even main".to_owned()),
        }
    }
}

impl Section {
    fn is(&self, flag: u32) -> bool {
        self.flags & u64::from(flag) != 0
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
