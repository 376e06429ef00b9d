//! The sink for the output of the programs.

#[cfg(not(feature = "log"))]
pub use text::{Log, open};

#[cfg(feature = "log")]
pub use sent::{Log, open};

#[cfg(not(feature = "log"))]
mod text {
    use app::Text;
    use board::Console;

    /// Prints to the debugger's console.
    pub type Log = Text<Console>;

    /// Returns the log.
    pub fn open() -> Log {
        Text(Console)
    }
}

#[cfg(feature = "log")]
mod sent {
    use app::Defmt;
    use cortex_m as _;
    use defmt_semihosting as _;

    /// Sends defmt's numbers to the debugger; the program's ELF file has the texts.
    pub type Log = Defmt;

    /// Returns the log.
    pub fn open() -> Log {
        Defmt
    }
}
