//! What must hold of a run beside the lines that are committed.

use super::content::Network;
use super::{Board, Case, Ended, desktop, log, no_parser};
use crate::toolchain::own_cargo;
use crate::workspace;

/// Something that must hold.
#[derive(Clone, Copy)]
pub enum Must {
    /// Every digit is read as this machine reads it, to the last bit.
    ReadAsHere(Network),
    /// Every vector is judged as this machine judges it.
    JudgeAsHere,
    /// All RAM that the program has needed.
    Ram(u64),
    /// No parser and nothing of this model in RAM, as would be seen in this other program.
    NoParser(Network, &'static str),
    /// At this byte of the image lies the recording that this machine makes with this model.
    Record(Network, u32),
    /// The program has nothing of the log that it could have.
    HaveNoLog,
    /// In a program that logs and prints the same sentences, both are the same.
    LogAsPrinted,
}

impl Must {
    pub fn judge(self, board: &Board, case: &Case, ended: &Ended) -> Result<(), String> {
        match self {
            Self::ReadAsHere(network) => same_lines("digit ", &desktop::digits(network)?, ended),
            Self::JudgeAsHere => same_lines("vector", &desktop::vectors()?, ended),
            Self::Ram(most) => at_most(most, ended),
            Self::NoParser(network, other) => no_parser::judge(board, case.program, other, network),
            Self::Record(network, at) => recorded(network, at, board, case),
            Self::HaveNoLog => log::is_absent(board, case.program),
            Self::LogAsPrinted => log::is_as_printed(&ended.lines),
        }
    }
}

fn same_lines(beginning: &str, here: &str, ended: &Ended) -> Result<(), String> {
    let here: Vec<&str> = here.lines().filter(|line| line.starts_with(beginning)).collect();
    let there: Vec<&str> =
        ended.lines.iter().map(String::as_str).filter(|line| line.starts_with(beginning)).collect();
    if here.is_empty() || here.len() != there.len() {
        let (here, there) = (here.len(), there.len());
        return Err(format!("{there} lines begin with \"{beginning}\"; on this machine {here} do"));
    }
    match here.iter().zip(&there).find(|(here, there)| here != there) {
        None => Ok(()),
        Some((here, there)) => {
            Err(format!("the board differs from this machine\n        here:  {here}\n        there: {there}"))
        }
    }
}

fn at_most(most: u64, ended: &Ended) -> Result<(), String> {
    let line = ended.lines.iter().find_map(|line| line.strip_prefix("RAM: "));
    let used = line.and_then(|line| line.split(' ').next()).and_then(|word| word.parse::<u64>().ok());
    match used {
        None => Err("it does not say how much RAM it needs".to_owned()),
        Some(used) if used > most => Err(format!("it needs {used} bytes of RAM, more than {most}")),
        Some(_) => Ok(()),
    }
}

/// The file in the flash is sound, and the one that this machine records.
fn recorded(network: Network, at: u32, board: &Board, case: &Case) -> Result<(), String> {
    let image = board.image(case);
    let flash = workspace::read(&image)?;
    let flash = flash.get(at as usize..).ok_or("the flash has no place for a recording")?;
    let due = desktop::recording(network, board.name, &image.with_extension("here.safetensors"))?;
    let file = flash.get(..due.len()).ok_or("the recording does not fit into the flash")?;
    let path = image.with_extension("safetensors");
    workspace::write(&path, file)?;
    let check = ["run", "--release", "--quiet", "--package", "safetensors-host", "--", "check"];
    own_cargo().args(check).args([&path]).capture()?;
    match file.iter().zip(&due).position(|(came, due)| came != due) {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} of the recording is not the one that is recorded here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(lines: &[&str]) -> Ended {
        Ended { lines: lines.iter().map(|line| (*line).to_owned()).collect(), exit_code: Some(0) }
    }

    #[test]
    fn a_bit_of_difference_is_seen() {
        let here = "model: A\ndigit 0: 1\ndigit 1: 2\n";
        let judge = |lines: &[&str]| same_lines("digit ", here, &ended(lines));
        assert_eq!(judge(&["board", "digit 0: 1", "digit 1: 2"]), Ok(()));
        assert!(judge(&["digit 0: 1", "digit 1: 3"]).unwrap_err().contains("there: digit 1: 3"));
        assert!(judge(&["digit 0: 1"]).is_err());
        assert!(same_lines("digit ", "", &ended(&[])).is_err());
    }

    #[test]
    fn ram_is_counted_as_the_board_says() {
        let used = ended(&["RAM: 8192 of 65536 bytes, 0 static and 8192 of stack"]);
        assert_eq!(at_most(8192, &used), Ok(()));
        assert!(at_most(8191, &used).is_err());
        assert!(at_most(8192, &ended(&["RAM"])).is_err());
    }
}
