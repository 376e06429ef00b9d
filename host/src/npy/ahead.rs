//! Pieces of a result that a thread makes while the piece before is read.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;

/// Makes one piece after the other, each in the buffer of an earlier one.
pub trait Make: Send + 'static {
    /// # Errors
    /// The piece cannot be made.
    fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()>;

    /// Whether all pieces are made.
    fn is_done(&self) -> bool;
}

/// The pieces as one text. Two of them are in memory at a time: one that is read, and one that is made.
pub struct MadeAhead<M> {
    state: State<M>,
    piece: Vec<u8>,
    given: usize,
}

enum State<M> {
    /// The first piece is made when it is asked for; often it is the only one.
    New(M),
    /// A thread makes the others, in the buffers that come back.
    Running { pieces: Receiver<io::Result<Vec<u8>>>, back: Sender<Vec<u8>> },
    /// No other piece comes.
    Done,
}

impl<M: Make> MadeAhead<M> {
    pub fn new(maker: M) -> Self {
        Self { state: State::New(maker), piece: Vec::new(), given: 0 }
    }

    /// Takes in the next piece, if there is one.
    fn advance(&mut self) -> io::Result<()> {
        self.given = 0;
        let mut piece = std::mem::take(&mut self.piece);
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::New(mut maker) if !maker.is_done() => {
                maker.make(&mut piece)?;
                self.piece = piece;
                if maker.is_done() { State::Done } else { run(maker)? }
            }
            State::Running { pieces, back } => {
                // Where no thread is left, no piece is left either.
                let _ = back.send(piece);
                match pieces.recv() {
                    Ok(piece) => {
                        self.piece = piece?;
                        State::Running { pieces, back }
                    }
                    Err(_) => State::Done,
                }
            }
            State::New(_) | State::Done => State::Done,
        };
        Ok(())
    }
}

fn run<M: Make>(maker: M) -> io::Result<State<M>> {
    // A piece is handed over before the next is begun.
    let (sender, pieces) = sync_channel(0);
    let (back, buffers) = channel();
    Builder::new().spawn(move || make_all(maker, &sender, &buffers))?;
    Ok(State::Running { pieces, back })
}

/// Until all are made, one cannot be, or nobody takes them any more.
fn make_all(mut maker: impl Make, pieces: &SyncSender<io::Result<Vec<u8>>>, buffers: &Receiver<Vec<u8>>) {
    while !maker.is_done() {
        let mut piece = buffers.try_recv().unwrap_or_default();
        let made = maker.make(&mut piece);
        let is_made = made.is_ok();
        if pieces.send(made.map(|()| piece)).is_err() || !is_made {
            return;
        }
    }
}

impl<M: Make> Read for MadeAhead<M> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            self.advance()?;
        }
        let left = &self.piece[self.given..];
        let len = left.len().min(buffer.len());
        buffer[..len].copy_from_slice(&left[..len]);
        self.given += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::{MadeAhead, Make};
    use std::io::{self, Read};

    /// Counts down; fails at the number that it is told.
    struct Countdown(u8, Option<u8>);

    impl Make for Countdown {
        fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
            if self.1 == Some(self.0) {
                return Err(io::Error::other("it fails"));
            }
            piece.clear();
            piece.resize(self.0.into(), self.0);
            self.0 -= 1;
            Ok(())
        }

        fn is_done(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn all_pieces_come_in_their_order() {
        for pieces in 0..5 {
            let expected: Vec<u8> = (1..=pieces).rev().flat_map(|piece| vec![piece; piece.into()]).collect();
            let mut all = Vec::new();
            MadeAhead::new(Countdown(pieces, None)).read_to_end(&mut all).expect("nothing fails");
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn an_error_comes_where_it_belongs_and_nothing_after_it() {
        for at in 1..=4_u8 {
            let mut reader = MadeAhead::new(Countdown(4, Some(at)));
            let mut all = Vec::new();
            assert_eq!(reader.read_to_end(&mut all).expect_err("it fails").to_string(), "it fails");
            assert_eq!(all.len(), (at + 1..=4).map(usize::from).sum::<usize>());
        }
    }

    #[test]
    fn what_is_not_read_is_not_waited_for() {
        let mut reader = MadeAhead::new(Countdown(200, None));
        reader.read_exact(&mut [0; 300]).expect("there is more");
        drop(reader);
    }
}
