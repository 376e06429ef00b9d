//! Rejects the wrong models, which are in the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, _| {
        app::reject_wrong_models(sink);
        Ok(())
    })
}
