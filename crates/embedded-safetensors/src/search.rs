//! Tensors found by their names, as many as are wanted in one pass over the header.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::header::entry::{Found, TensorCheck};
use crate::header::{Event, HeaderParser};
use crate::info::{Extent, TensorInfo};
use crate::location::{Locate, Location};
use crate::progress::{Machine, Progress};
use crate::shape::Shape;

/// The name of a tensor that is looked for, and what was found.
///
/// *Memory*: at most 128 bytes; the name is borrowed.
#[derive(Clone, Copy, Debug)]
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

    fn begin_entry(&mut self, name_len: usize) -> Result<(), ErrorKind> {
        self.matches = self.matches && self.name.len() == name_len;
        match (self.matches, self.state) {
            (true, State::Seen) => Err(ErrorKind::NameTwice),
            _ => Ok(()),
        }
    }

    fn end_entry(&mut self, check: &TensorCheck) {
        self.dtype = check.dtype();
        let Extent { begin, end, .. } = check.extent();
        (self.begin, self.end) = (begin, end);
        self.state = State::Seen;
    }
}

impl Locate for Wanted<'_> {
    fn locate(&self) -> Result<Location, Error> {
        match self.state {
            State::Found => Ok(Location { dtype: self.dtype, begin: self.begin, end: self.end }),
            State::Sought | State::Seen => Err(ErrorKind::NotFound { wanted: 0 }.at(0)),
        }
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
    parser: HeaderParser,
    check: TensorCheck,
    /// How long the name is that is coming by, so far.
    name_len: usize,
    /// Whether it may be one that is wanted; then, whether it is.
    matches: bool,
}

impl Lookup {
    /// Forgets what an earlier search has found.
    pub(crate) fn new<'n>(wanted: &mut [impl Seek<'n>]) -> Self {
        all(wanted).for_each(|one| one.state = State::Sought);
        let mut lookup =
            Self { parser: HeaderParser::new(), check: TensorCheck::new(), name_len: 0, matches: true };
        lookup.begin_name(wanted);
        lookup
    }

    pub(crate) const fn parser(&self) -> &HeaderParser {
        &self.parser
    }

    pub(crate) const fn parser_mut(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }

    /// Reads on to the next tensor, wanted or not, and moves `input` past what it consumed.
    ///
    /// # Errors
    /// The first fault, and the same one again at every further call.
    pub(crate) fn next<'n>(
        &mut self,
        input: &mut &[u8],
        wanted: &mut [impl Seek<'n>],
    ) -> Result<Found, Error> {
        self.take(input, wanted).map_err(|error| self.parser.fail(error))
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
        missing.map_or(Ok(()), |wanted| Err(ErrorKind::NotFound { wanted }.at(self.parser.position())))
    }

    fn take<'n>(&mut self, input: &mut &[u8], wanted: &mut [impl Seek<'n>]) -> Result<Found, Error> {
        loop {
            let event = match self.parser.next(input)? {
                Event::NeedInput => return Ok(Found::NeedInput),
                Event::HeaderEnd => return Ok(Found::HeaderEnd),
                event => event,
            };
            let at = self.parser.event_start();
            // A fault of the file goes before a limit of the memory.
            let is_last = self.check.accept(&event, at)?;
            self.see(&event, wanted).map_err(|kind| kind.at(at))?;
            if is_last {
                self.end_entry(wanted);
                return Ok(Found::Tensor(self.check.extent()));
            }
        }
    }

    fn see<'n>(&mut self, event: &Event<'_>, wanted: &mut [impl Seek<'n>]) -> Result<(), ErrorKind> {
        match *event {
            Event::Name(piece) if self.matches => self.see_piece(piece.as_bytes(), wanted),
            Event::Metadata => self.begin_name(wanted),
            Event::Tensor if self.matches => return self.begin_entry(wanted),
            Event::Shape => self.matching(wanted).for_each(|one| one.shape = Shape::SCALAR),
            Event::Dim(dim) => return self.matching(wanted).try_for_each(|one| one.shape.push(dim)),
            _ => {}
        }
        Ok(())
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
        all(wanted).for_each(|one| one.matches = true);
    }

    fn see_piece<'n>(&mut self, piece: &[u8], wanted: &mut [impl Seek<'n>]) {
        let passed = self.name_len;
        self.name_len += piece.len();
        all(wanted).for_each(|one| one.see_piece(passed, piece));
        self.matches = all(wanted).any(|one| one.matches);
    }

    fn begin_entry<'n>(&mut self, wanted: &mut [impl Seek<'n>]) -> Result<(), ErrorKind> {
        let len = self.name_len;
        all(wanted).try_for_each(|one| one.begin_entry(len))?;
        self.matches = all(wanted).any(|one| one.matches);
        Ok(())
    }

    fn end_entry<'n>(&mut self, wanted: &mut [impl Seek<'n>]) {
        self.matching(wanted).for_each(|one| one.end_entry(&self.check));
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
    fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        loop {
            match self.lookup.next(input, self.wanted)? {
                Found::NeedInput => return Ok(Progress::NeedInput),
                Found::HeaderEnd => return Ok(Progress::Done),
                Found::Length(_) | Found::Tensor(_) => {}
            }
        }
    }

    fn end_of_input(&mut self) -> Result<(), Error> {
        self.lookup.parser_mut().end_of_input()
    }
}
