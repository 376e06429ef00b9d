//! Inspects linked programs: sizes of sections, names of symbols.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use std::path::Path;

/// A linked program.
pub struct Elf {
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
}

struct Section {
    name: String,
    size: usize,
    is_loaded: bool,
}

struct Symbol {
    name: String,
    size: usize,
    is_function: bool,
}

impl Elf {
    /// Reads a program, which must have its symbols.
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = crate::workspace::read(path)?;
        let file = object::File::parse(&bytes[..]).map_err(|error| format!("{}: {error}", path.display()))?;
        let section = |section: object::Section<'_, '_>| Section {
            name: section.name().unwrap_or_default().to_owned(),
            size: size(section.size()),
            is_loaded: is_allocated(section.flags()) && section.file_range().is_some(),
        };
        let symbol = |symbol: object::Symbol<'_, '_>| Symbol {
            name: symbol.name().unwrap_or_default().to_owned(),
            size: size(symbol.size()),
            is_function: symbol.kind() == SymbolKind::Text,
        };
        let program = Self {
            sections: file.sections().map(section).collect(),
            symbols: file.symbols().map(symbol).collect(),
        };
        match program.symbols.iter().any(|symbol| symbol.name == "main") {
            true => Ok(program),
            false => Err(format!("the symbol table of {} lacks even main", path.display())),
        }
    }

    fn sum(&self, is_counted: impl Fn(&Section) -> bool) -> usize {
        self.sections.iter().filter(|section| is_counted(section)).map(|section| section.size).sum()
    }

    /// Returns the sum of the sizes of the sections with these names.
    pub fn size_of(&self, names: &[&str]) -> usize {
        self.sum(|section| names.contains(&&*section.name))
    }

    /// Returns the number of bytes that are loaded, and need flash.
    pub fn size_loaded(&self) -> usize {
        self.sum(|section| section.is_loaded)
    }

    /// Returns the sum of the sizes of all functions, without padding, which depends on their order.
    pub fn size_of_functions(&self) -> usize {
        self.symbols.iter().filter(|symbol| symbol.is_function).map(|symbol| symbol.size).sum()
    }

    /// Returns the names of the symbols that contain one of these parts.
    pub fn named(&self, parts: &[&str]) -> Vec<&str> {
        let names = self.symbols.iter().map(|symbol| symbol.name.as_str());
        names.filter(|name| parts.iter().any(|part| name.contains(part))).collect()
    }

    /// Checks that no symbol's name contains one of these parts.
    pub fn lacks(&self, parts: &[&str]) -> Result<(), String> {
        self.named(parts).first().map_or(Ok(()), |name| Err(format!("the linked program contains {name}")))
    }
}

fn is_allocated(flags: SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_ALLOC) != 0)
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
