//! Runs loops with the widest vectors that the processor has.

/// Does `work`, compiled for AVX2 if the processor has it. Everything that `work` calls is compiled for AVX2
/// only if it is inlined.
#[inline]
pub fn run<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}
