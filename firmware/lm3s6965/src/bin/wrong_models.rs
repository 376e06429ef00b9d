//! Refuses the wrong models, which are in the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, _| {
        app::refuse_wrong_models(sink);
        Ok(())
    })
}
