//! Sentences that are written once for both `Display` and defmt, which sends the index of a text in place
//! of the text; and log lines about a running network.

/// Implements `Display` and `defmt::Format` with a sentence for each case.
macro_rules! sentences {
    ($type:ident $(<$life:lifetime>)? $(<$inner:ident>)?:
        $($(#[$only:meta])* $case:pat $(if $guard:expr)? => $text:literal $(, $part:expr)*;)*) => {
        impl $(<$inner: core::fmt::Display>)? core::fmt::Display for $type $(<$life>)? $(<$inner>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $($(#[$only])* $case $(if $guard)? => write!(f, $text $(, $part)*),)* }
            }
        }

        #[cfg(feature = "log")]
        impl $(<$inner: defmt::Format>)? defmt::Format for $type $(<$life>)? $(<$inner>)? {
            fn format(&self, f: defmt::Formatter<'_>) {
                match self { $($(#[$only])* $case $(if $guard)? => defmt::write!(f, $text $(, $part)*),)* }
            }
        }
    };
}

/// Logs a line about the entire model; without the feature `log`, nothing.
macro_rules! debug {
    ($($line:tt)*) => {
        #[cfg(feature = "log")]
        defmt::debug!($($line)*);
    };
}

/// Logs a line about a part of the model, like [`debug`].
macro_rules! trace {
    ($($line:tt)*) => {
        #[cfg(feature = "log")]
        defmt::trace!($($line)*);
    };
}
