//! The paths of a microcontroller: the doors of `firmware/linkcheck`, in emulators that count.

use super::{Count, INSTRUCTIONS, Place};
use crate::stages::{Asked, CORTEX_M3, Firmware, Machine, RISC_V, asked};
use crate::toolchain::Toolchain;

/// For size, as most firmware is built, and for speed.
const LEVELS: [&str; 2] = ["s", "3"];

pub fn count() -> Result<Vec<Place>, String> {
    let mut places = Vec::new();
    for board in [&CORTEX_M3, &RISC_V] {
        board.need_emulator()?;
        for level in LEVELS {
            let firmware = Firmware::linkcheck(Toolchain::for_target(board.triple)?, level);
            firmware.build_only(&["cost"])?;
            let machine = Machine { board, firmware };
            let counts: Result<Vec<Count>, String> =
                asked()?.into_iter().map(|asked| take(&machine, asked)).collect();
            let name = format!("{}, opt-level {level}", board.name);
            places.push(Place {
                name,
                compiler: firmware.toolchain.version()?,
                unit: INSTRUCTIONS,
                counts: counts?,
            });
        }
    }
    Ok(places)
}

fn take(machine: &Machine, asked: Asked) -> Result<Count, String> {
    let Asked { path, request, due } = asked;
    let figures = machine.run(request)?;
    match figures.get("counted")? {
        counted if counted == due => {
            Ok(Count { path, number: machine.board.instructions(figures.get("ticks")?) })
        }
        counted => Err(format!("{path}: {counted}, not {due}")),
    }
}
