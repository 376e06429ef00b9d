//! Reports what a test was doing when it failed.

/// Prints its message during a panic.
pub struct Context<F: Fn() -> String>(pub F);

impl<F: Fn() -> String> Drop for Context<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("  in: {}", (self.0)());
        }
    }
}
