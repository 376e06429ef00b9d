//! Who hears what the programs have to say.

use app::Text;
use board::Console;

/// The debugger's console hears it.
pub type Log = Text<Console>;

/// The one log.
pub fn open() -> Log {
    Text(Console)
}
