//! Writing: what a file is to hold is described ([`spec`]), proven and laid out ([`plan`], in the order that [`order`] makes), its
//! header spelled piece by piece ([`pieces`], whole entries at once by [`whole`]) into any buffer ([`encoder`]), and its data taken in the order of the file ([`cursor`]). It is written
//! from front to end ([`writer`]), or in storage that is written at any place ([`recorder`]).

pub(crate) mod cursor;
mod decimal;
pub(crate) mod encoder;
mod escape;
pub(crate) mod layout;
mod order;
mod pieces;
pub(crate) mod plan;
pub(crate) mod recorder;
pub(crate) mod spec;
mod whole;
#[cfg(feature = "embedded-io")]
pub(crate) mod writer;
