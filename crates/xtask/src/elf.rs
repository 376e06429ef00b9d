//! What is asked of a linked program: sizes of sections, names of symbols, where bytes lie.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use std::path::Path;

/// A linked program.
pub struct Elf(Vec<u8>);

/// How many symbols, and how many bytes they have.
pub struct Symbols {
    pub count: u32,
    pub bytes: u64,
}

impl Elf {
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = crate::workspace::read(path)?;
        match object::File::parse(&bytes[..]) {
            Ok(_) => Ok(Self(bytes)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Parsed before.
    fn file(&self) -> Result<object::File<'_>, String> {
        object::File::parse(&self.0[..]).map_err(|error| error.to_string())
    }

    fn sections(&self) -> Vec<Section> {
        // Parsed before: nothing is lost where it cannot be.
        let Ok(file) = self.file() else { return Vec::new() };
        let section = |section: object::Section<'_, '_>| {
            let SectionFlags::Elf { sh_flags: flags } = section.flags() else { return None };
            let name = section.name().unwrap_or_default().to_owned();
            let data = section.data().unwrap_or_default().to_vec();
            Some(Section { name, flags, address: section.address(), size: section.size(), data })
        };
        file.sections().filter_map(section).collect()
    }

    /// The summed sizes of the sections with these names.
    pub fn size_of(&self, names: &[&str]) -> usize {
        let sections = self.sections();
        size(
            sections
                .iter()
                .filter(|section| names.contains(&&*section.name))
                .map(|section| section.size)
                .sum(),
        )
    }

    /// How many bytes of memory have a value at the start, and so a place in flash.
    pub fn size_loaded(&self) -> usize {
        let sections = self.sections();
        let loaded = sections.iter().filter(|section| section.is(elf::SHF_ALLOC) && !section.data.is_empty());
        size(loaded.map(|section| section.size).sum())
    }

    /// The addresses at which these bytes lie in memory that the program does not write to.
    pub fn addresses_of(&self, wanted: &[u8]) -> Vec<u64> {
        let sections = self.sections();
        let constant = |section: &&Section| section.is(elf::SHF_ALLOC) && !section.is(elf::SHF_WRITE);
        let windows = sections
            .iter()
            .filter(constant)
            .flat_map(|section| section.data.windows(wanted.len()).zip(section.address..));
        windows.filter(|(window, _)| *window == wanted).map(|(_, at)| at).collect()
    }

    /// The summed sizes of all functions, without the gaps between them, which are others in every order; nothing when the
    /// file has been stripped of its symbols.
    pub fn size_of_functions(&self) -> Option<usize> {
        let file = self.file().ok()?;
        file.symbol_table()?;
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        Some(size(functions.map(|symbol| symbol.size()).sum()))
    }

    /// The symbols whose names have one of these parts.
    pub fn symbols_with(&self, parts: &[&str]) -> Result<Symbols, String> {
        let mut found = Symbols { count: 0, bytes: 0 };
        for (name, size) in self.symbols()? {
            if parts.iter().any(|part| name.contains(part)) {
                found.count += 1;
                found.bytes += size;
            }
        }
        Ok(found)
    }

    /// The names of all symbols, and their sizes.
    fn symbols(&self) -> Result<Vec<(String, u64)>, String> {
        let file = self.file()?;
        file.symbol_table().ok_or("the linked program has no symbol table")?;
        let symbol =
            |symbol: object::Symbol<'_, '_>| (symbol.name().unwrap_or_default().to_owned(), symbol.size());
        Ok(file.symbols().map(symbol).collect())
    }

    /// That no symbol's name has one of these parts.
    pub fn lacks(&self, parts: &[&str]) -> Result<(), String> {
        let symbols = self.symbols()?;
        match symbols.iter().find(|(name, _)| parts.iter().any(|part| name.contains(part))) {
            None if symbols.iter().any(|(name, _)| name == "main") => Ok(()),
            None => Err("the symbol table lacks even main".to_owned()),
            Some((symbol, _)) => Err(format!("the linked program contains {symbol}")),
        }
    }
}

struct Section {
    name: String,
    flags: u64,
    address: u64,
    size: u64,
    /// What it has in the file.
    data: Vec<u8>,
}

impl Section {
    fn is(&self, flag: u32) -> bool {
        self.flags & u64::from(flag) != 0
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
