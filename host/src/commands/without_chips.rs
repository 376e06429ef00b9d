//! `safetensors fit` and `flash` in a build without the feature `chips`.

use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use std::ffi::OsString;

/// Needs a build with the feature `chips`: cargo install --path host --features chips
#[derive(clap::Args)]
pub struct WithoutChips {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for WithoutChips {
    fn json(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--json")
    }

    fn run(self, _: &Context) -> Outcome {
        let sentence = "`fit` and `flash` need a build with the feature `chips`: \
            cargo install --path host --features chips";
        Err(Error::usage(sentence))
    }
}
