//! A network that the compiler has found in its model: in the program are the bytes of the file, in flash, and no parser.

use super::Board;
use super::content::Network;
use crate::elf::Elf;
use crate::workspace;

/// What is in the name of everything that the core has in a program.
const CORE: &str = "embedded_safetensors";

const RAM: [&str; 2] = [".data", ".bss"];

/// Judges one program of a board; the other has the parser, to prove that it would be seen.
pub fn judge(board: &Board, program: &str, other: &str, network: Network) -> Result<(), String> {
    let elf = Elf::open(&board.program(program)?)?;
    elf.lacks(&[CORE])?;
    check_memory(&elf, &workspace::read(&network.path())?)?;
    match Elf::open(&board.program(other)?)?.lacks(&[CORE]) {
        Ok(()) => Err(format!("the parser is not seen in {other} either")),
        Err(_) => Ok(()),
    }
}

fn check_memory(elf: &Elf, model: &[u8]) -> Result<(), String> {
    let (places, ram) = (elf.addresses_of(model).len(), elf.size_of(&RAM));
    match (places, ram) {
        (1, 0) => Ok(()),
        _ => Err(format!("the model is in flash {places} times, and {ram} bytes of RAM have a name")),
    }
}
