//! `safetensors fit` and `flash` in a build without the feature `chips`.

use super::{Context, Error, Outcome, Run};
use crate::print::diagnostic::say;
use std::ffi::OsString;

pub use WithoutChips as Fit;
pub use WithoutChips as Flash;

/// Needs a build with the feature `chips`: cargo install --path host --features chips
#[derive(clap::Args)]
pub struct WithoutChips {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for WithoutChips {
    fn run(self, _: &Context) -> Outcome {
        let sentence = "`fit` and `flash` need a build with the feature `chips`: \
            cargo install --path host --features chips";
        Ok(say(&Error::usage(sentence), self.arguments.iter().any(|argument| argument == "--json")))
    }
}
