//! Where a test was when it failed.

/// Prints its sentence when a panic passes by.
pub struct Context<F: Fn() -> String>(pub F);

impl<F: Fn() -> String> Drop for Context<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("  in: {}", (self.0)());
        }
    }
}
