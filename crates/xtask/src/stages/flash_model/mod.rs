//! A model that is linked into firmware: what it costs, where its weights are, and which builds it refuses.

mod image;
mod network;
mod refusals;

use super::readme;
use crate::report::{Outcome, Tally};
use crate::workspace;

/// The model, which an example of the product has too.
const MODEL: &str = "crates/embedded-safetensors/examples/network.safetensors";

pub fn run() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the committed model is the generator's", check_file());
    tally.check("the readme promises this", readme::check([image::promise()]));
    image::measure(&mut tally)?;
    refusals::check(&mut tally)?;
    Ok(tally)
}

fn check_file() -> Result<(), String> {
    if workspace::read(&workspace::root().join(MODEL)).is_ok_and(|file| file == network::file()) {
        return Ok(());
    }
    let written = workspace::target_dir().join("flash-model/network.safetensors");
    workspace::write(&written, &network::file())?;
    Err(format!("{MODEL} is another file than {}, which the generator has just written", written.display()))
}
