//! Tensors found by their names, as many as are wanted in one pass over the header.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::header::entry::Tensors;
use crate::header::{Fault, HeaderParser, Signal};
use crate::info::{Extent, TensorInfo};
use crate::location::{Locate, Location};
use crate::progress::{Machine, Progress};
use crate::shape::Shape;

/// The name of a tensor that is looked for, and what was found.
///
/// *Memory*: at most 112 bytes; the name is borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Wanted<'n> {
    name: &'n str,
    optional: bool,
    state: State,
    /// Whether the name that is coming by is this one, as far as it has come; then, whether the entry
    /// behind it is this one's.
    matches: bool,
    dtype: Dtype,
    shape: Shape,
    begin: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum State {
    /// No tensor of this name has come by.
    Sought,
    /// One has, in a pass that is not over.
    Seen,
    /// A whole pass has found one and no second.
    Found,
}

impl<'n> Wanted<'n> {
    /// A tensor that must be there: a search that does not find it fails.
    pub const fn new(name: &'n str) -> Self {
        Self {
            name,
            optional: false,
            state: State::Sought,
            matches: false,
            dtype: Dtype::BOOL,
            shape: Shape::SCALAR,
            begin: 0,
            end: 0,
        }
    }

    /// A tensor that may be there or not.
    pub const fn optional(name: &'n str) -> Self {
        Self { optional: true, ..Self::new(name) }
    }

    /// The name that is looked for.
    pub const fn name(&self) -> &'n str {
        self.name
    }

    /// What was found. Nothing before a search has come to its end, or after one that failed.
    pub const fn info(&self) -> Option<TensorInfo> {
        match self.state {
            State::Found => {
                let place = Extent { begin: self.begin, end: self.end, begin_at: 0 };
                Some(TensorInfo::checked(self.dtype, self.shape, place))
            }
            State::Sought | State::Seen => None,
        }
    }

    fn see_piece(&mut self, passed: usize, piece: &[u8]) {
        let rest = self.name.as_bytes().get(passed..).unwrap_or(&[]);
        self.matches = self.matches && rest.starts_with(piece);
    }

    /// Whether the entry behind the name would be the second of this one.
    fn repeats(&mut self, name_len: usize) -> bool {
        self.matches = self.matches && self.name.len() == name_len;
        self.matches && self.state == State::Seen
    }

    fn end_entry(&mut self, tensors: &Tensors) {
        self.dtype = tensors.dtype();
        let Extent { begin, end, .. } = tensors.extent();
        (self.begin, self.end) = (begin, end);
        self.state = State::Seen;
    }
}

impl Locate for Wanted<'_> {
    fn locate(&self) -> Result<Location, Error> {
        match self.state {
            State::Found => Ok(Location { dtype: self.dtype, begin: self.begin, end: self.end }),
            State::Sought | State::Seen => Err(ErrorKind::NotFound { wanted: None }.at(0)),
        }
    }

    fn dims(&self) -> &[u64] {
        self.shape.dims()
    }
}

/// Something that holds what is wanted: a [`Wanted`] alone, or one with a place for its bytes.
pub(crate) trait Seek<'n> {
    fn wanted(&mut self) -> &mut Wanted<'n>;
}

impl<'n> Seek<'n> for Wanted<'n> {
    fn wanted(&mut self) -> &mut Self {
        self
    }
}

/// Reads a header tensor by tensor, checks each against itself, and fills in those that are wanted.
pub(crate) struct Lookup {
    tensors: Tensors,
    /// How long the name is that is coming by, so far.
    name_len: usize,
    /// Whether it may be one that is wanted; then, whether it is.
    matches: bool,
}

impl Lookup {
    /// Forgets what an earlier search has found.
    pub(crate) fn new<'n>(wanted: &mut [impl Seek<'n>]) -> Self {
        all(wanted).for_each(|one| one.state = State::Sought);
        let mut lookup = Self { tensors: Tensors::of_file(None), name_len: 0, matches: true };
        lookup.begin_name(wanted);
        lookup
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        self.tensors.parser()
    }

    /// The place of the tensor that is complete.
    pub(crate) const fn extent(&self) -> Extent {
        self.tensors.extent()
    }

    /// The error behind [`Signal::Failed`].
    pub(crate) const fn error(&self) -> Error {
        self.tensors.error()
    }

    /// As [`Machine::end_of_input`].
    pub(crate) fn end_of_input(&mut self) -> Result<(), Error> {
        self.tensors.end_of_input()
    }

    /// Reads on to the end of a tensor, wanted or not, or of the header, or to where no more can be read,
    /// and moves `input` past what it consumed.
    pub(crate) fn next<'n>(&mut self, input: &mut &[u8], wanted: &mut [impl Seek<'n>]) -> Signal {
        let mut run: &[u8] = &[];
        loop {
            // A fault of the file goes before a limit of the memory.
            let signal = self.tensors.advance(input, &mut run);
            match signal {
                Signal::Name if self.matches => {
                    self.see_piece(self.tensors.parser().piece(run).as_bytes(), wanted);
                }
                Signal::Metadata => self.begin_name(wanted),
                Signal::Tensor if self.matches && self.repeats(wanted) => {
                    return self.tensors.stop(Fault::NameTwice);
                }
                Signal::Shape => self.matching(wanted).for_each(|one| one.shape = Shape::SCALAR),
                Signal::Dim if !self.keep_dim(wanted) => return self.tensors.stop(Fault::Rank),
                Signal::TensorEnd => self.end_entry(wanted),
                _ => {}
            }
            if signal.ends() {
                return signal;
            }
        }
    }

    /// Takes what was seen for found, once the pass is known to have been over the right header.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when something is missing that must be there; the rest is found all the same.
    pub(crate) fn settle<'n>(&self, wanted: &mut [impl Seek<'n>]) -> Result<(), Error> {
        let mut missing = None;
        for (index, one) in all(wanted).enumerate() {
            match one.state {
                State::Sought if !one.optional && missing.is_none() => missing = Some(index as u64),
                State::Sought => {}
                State::Seen | State::Found => one.state = State::Found,
            }
        }
        missing.map_or(Ok(()), |_| Err(ErrorKind::NotFound { wanted: missing }.at(self.parser().position())))
    }

    // What the next four have on the stack must not wait there for the parser: their caller calls that too.

    #[inline(never)]
    fn keep_dim<'n>(&self, wanted: &mut [impl Seek<'n>]) -> bool {
        let dim = self.tensors.dim();
        self.matching(wanted).all(|one| one.shape.push(dim).is_ok())
    }

    fn matching<'w, 'n: 'w>(
        &self,
        wanted: &'w mut [impl Seek<'n>],
    ) -> impl Iterator<Item = &'w mut Wanted<'n>> {
        all(if self.matches { wanted } else { &mut [] }).filter(|one| one.matches)
    }

    fn begin_name<'n>(&mut self, wanted: &mut [impl Seek<'n>]) {
        self.name_len = 0;
        self.matches = true;
        self.tensors.tell_all(true);
        all(wanted).for_each(|one| one.matches = true);
    }

    #[inline(never)]
    fn see_piece<'n>(&mut self, piece: &[u8], wanted: &mut [impl Seek<'n>]) {
        let passed = self.name_len;
        self.name_len += piece.len();
        all(wanted).for_each(|one| one.see_piece(passed, piece));
        self.matches = all(wanted).any(|one| one.matches);
        self.tensors.tell_all(self.matches);
    }

    /// Whether the name that is complete is the second of one that is wanted.
    #[inline(never)]
    fn repeats<'n>(&mut self, wanted: &mut [impl Seek<'n>]) -> bool {
        let len = self.name_len;
        let repeats = all(wanted).any(|one| one.repeats(len));
        self.matches = all(wanted).any(|one| one.matches);
        self.tensors.tell_all(self.matches);
        repeats
    }

    #[inline(never)]
    fn end_entry<'n>(&mut self, wanted: &mut [impl Seek<'n>]) {
        self.matching(wanted).for_each(|one| one.end_entry(&self.tensors));
        self.begin_name(wanted);
    }
}

fn all<'w, 'n: 'w>(wanted: &'w mut [impl Seek<'n>]) -> impl Iterator<Item = &'w mut Wanted<'n>> {
    wanted.iter_mut().map(Seek::wanted)
}

/// Follows one pass over a header and fills in what is wanted.
pub(crate) struct Search<'w, 'n> {
    lookup: Lookup,
    wanted: &'w mut [Wanted<'n>],
}

impl<'w, 'n> Search<'w, 'n> {
    /// As [`Lookup::new`].
    pub(crate) fn new(wanted: &'w mut [Wanted<'n>]) -> Self {
        Self { lookup: Lookup::new(wanted), wanted }
    }

    /// As [`Lookup::settle`].
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        self.lookup.settle(self.wanted)
    }
}

impl Machine for Search<'_, '_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        loop {
            match self.lookup.next(input, self.wanted) {
                Signal::TensorEnd => {}
                signal => return signal.progress(),
            }
        }
    }

    fn error(&self) -> Error {
        self.lookup.error()
    }

    fn end_of_input(&mut self) -> Result<(), Error> {
        self.lookup.end_of_input()
    }
}
