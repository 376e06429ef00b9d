//! Texts that `Display` and defmt share. defmt sends the number of a text instead of the text, so a log
//! shows the same sentence, and the device sends only numbers.

/// Declares the name of each case, which [`Named`] formats.
macro_rules! names {
    ($type:ident: $(#[$doc:meta])* $name:ident: $($case:pat => $text:literal,)*) => {
        impl $type {
            $(#[$doc])*
            pub const fn $name(self) -> &'static str {
                match self { $($case => $text,)* }
            }

            #[cfg(feature = "defmt")]
            pub(crate) fn name_in_log(self) -> defmt::Str {
                match self { $($case => defmt::intern!($text),)* }
            }
        }

        impl core::fmt::Display for crate::error::log::Named<$type> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.0.$name())
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for crate::error::log::Named<$type> {
            fn format(&self, f: defmt::Formatter<'_>) {
                defmt::write!(f, "{=istr}", self.0.name_in_log());
            }
        }
    };
}

/// Declares the sentence of each case.
macro_rules! sentences {
    ($type:ident $(<$inner:ident>)?: $($case:pat $(if $guard:expr)? => $text:literal $(, $part:expr)*;)*) => {
        impl $(<$inner: core::fmt::Display>)? core::fmt::Display for $type $(<$inner>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $($case $(if $guard)? => write!(f, $text $(, $part)*),)* }
            }
        }

        #[cfg(feature = "defmt")]
        impl $(<$inner: defmt::Format>)? defmt::Format for $type $(<$inner>)? {
            fn format(&self, f: defmt::Formatter<'_>) {
                match self { $($case $(if $guard)? => defmt::write!(f, $text $(, $part)*),)* }
            }
        }
    };
}

/// Implements `Debug` and `defmt::Format` with one text, for types with private fields.
macro_rules! shown {
    ($type:ty, $it:ident => $text:literal $(, $part:expr)*) => {
        impl core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $it = self;
                write!(f, $text $(, $part)*)
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for $type {
            fn format(&self, f: defmt::Formatter<'_>) {
                let $it = self;
                defmt::write!(f, $text $(, $part)*);
            }
        }
    };
}

/// A value that is formatted as its name or its code.
pub(crate) struct Named<T>(pub(crate) T);
