//! Tensors found by their names, as many as are wanted in one pass over the header.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::header::entry::TensorCheck;
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

/// Follows one pass over a header and fills in what is wanted.
pub(crate) struct Search<'w, 'n> {
    parser: HeaderParser,
    check: TensorCheck,
    wanted: &'w mut [Wanted<'n>],
    /// How long the name is that is coming by, so far.
    name_len: usize,
    /// Whether it may be one that is wanted; then, whether it is.
    matches: bool,
}

impl<'w, 'n> Search<'w, 'n> {
    /// Forgets what an earlier search has found.
    pub(crate) fn new(wanted: &'w mut [Wanted<'n>]) -> Self {
        wanted.iter_mut().for_each(|one| one.state = State::Sought);
        let (parser, check) = (HeaderParser::new(), TensorCheck::new());
        let mut search = Self { parser, check, wanted, name_len: 0, matches: true };
        search.begin_name();
        search
    }

    /// Takes what was seen for found, once the pass is known to have been over the right header.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when something is missing that must be there; the rest is found all the same.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let at = self.parser.position();
        let mut missing = None;
        for (index, one) in self.wanted.iter_mut().enumerate() {
            match one.state {
                State::Sought if !one.optional && missing.is_none() => missing = Some(index as u64),
                State::Sought => {}
                State::Seen | State::Found => one.state = State::Found,
            }
        }
        missing.map_or(Ok(()), |wanted| Err(ErrorKind::NotFound { wanted }.at(at)))
    }

    /// `true`: the header is complete.
    fn take(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        loop {
            let event = match self.parser.next(input)? {
                Event::NeedInput => return Ok(Progress::NeedInput),
                Event::HeaderEnd => return Ok(Progress::Done),
                event => event,
            };
            let at = self.parser.event_start();
            // A fault of the file goes before a limit of the memory.
            let is_last = self.check.accept(&event, at)?;
            self.see(&event).map_err(|kind| kind.at(at))?;
            if is_last {
                self.end_entry();
            }
        }
    }

    fn see(&mut self, event: &Event<'_>) -> Result<(), ErrorKind> {
        match *event {
            Event::Name(piece) if self.matches => self.see_piece(piece.as_bytes()),
            Event::Metadata => self.begin_name(),
            Event::Tensor if self.matches => return self.begin_entry(),
            Event::Shape => self.matching().for_each(|one| one.shape = Shape::SCALAR),
            Event::Dim(dim) => return self.matching().try_for_each(|one| one.shape.push(dim)),
            _ => {}
        }
        Ok(())
    }

    fn matching(&mut self) -> impl Iterator<Item = &mut Wanted<'n>> {
        let wanted = if self.matches { &mut *self.wanted } else { &mut [] };
        wanted.iter_mut().filter(|one| one.matches)
    }

    fn begin_name(&mut self) {
        self.name_len = 0;
        self.matches = true;
        self.wanted.iter_mut().for_each(|one| one.matches = true);
    }

    fn see_piece(&mut self, piece: &[u8]) {
        let passed = self.name_len;
        self.name_len += piece.len();
        self.wanted.iter_mut().for_each(|one| one.see_piece(passed, piece));
        self.matches = self.wanted.iter().any(|one| one.matches);
    }

    fn begin_entry(&mut self) -> Result<(), ErrorKind> {
        let len = self.name_len;
        self.wanted.iter_mut().try_for_each(|one| one.begin_entry(len))?;
        self.matches = self.wanted.iter().any(|one| one.matches);
        Ok(())
    }

    fn end_entry(&mut self) {
        if self.matches {
            self.wanted.iter_mut().filter(|one| one.matches).for_each(|one| one.end_entry(&self.check));
        }
        self.begin_name();
    }
}

impl Machine for Search<'_, '_> {
    fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        self.take(input).map_err(|error| self.parser.fail(error))
    }

    fn end_of_input(&mut self) -> Result<(), Error> {
        self.parser.end_of_input()
    }
}
