//! What is said, written down once: for `Display`, and for defmt, which sends the number of a text in its place. And lines for
//! whoever watches the network at work.

/// The sentence of each case.
macro_rules! sentences {
    ($type:ident $(<$life:lifetime>)? $(<$inner:ident>)?:
        $($(#[$only:meta])* $case:pat $(if $guard:expr)? => $text:literal $(, $part:expr)*;)*) => {
        impl $(<$inner: core::fmt::Display>)? core::fmt::Display for $type $(<$life>)? $(<$inner>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $($(#[$only])* $case $(if $guard)? => write!(f, $text $(, $part)*),)* }
            }
        }

        #[cfg(feature = "defmt")]
        impl $(<$inner: defmt::Format>)? defmt::Format for $type $(<$life>)? $(<$inner>)? {
            fn format(&self, f: defmt::Formatter<'_>) {
                match self { $($(#[$only])* $case $(if $guard)? => defmt::write!(f, $text $(, $part)*),)* }
            }
        }
    };
}

/// A line about the whole model. Without the feature `log` there is nothing.
macro_rules! debug {
    ($($line:tt)*) => {
        #[cfg(feature = "log")]
        defmt::debug!($($line)*);
    };
}

/// A line about a part of it, as [`debug`].
macro_rules! trace {
    ($($line:tt)*) => {
        #[cfg(feature = "log")]
        defmt::trace!($($line)*);
    };
}
