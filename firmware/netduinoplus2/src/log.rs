//! Who hears what the programs have to say.

#[cfg(not(feature = "log"))]
pub use text::{Log, open};

#[cfg(feature = "log")]
pub use sent::{Log, open};

#[cfg(not(feature = "log"))]
mod text {
    use app::Text;
    use board::Console;

    /// The debugger's console hears it.
    pub type Log = Text<Console>;

    /// The one log.
    pub fn open() -> Log {
        Text(Console)
    }
}

#[cfg(feature = "log")]
mod sent {
    use app::Defmt;
    use cortex_m as _;
    use defmt_semihosting as _;

    /// The debugger gets numbers, of which the program's file has the texts.
    pub type Log = Defmt;

    /// The one log.
    pub fn open() -> Log {
        Defmt
    }
}
