//! Makes the pieces of a stream on a thread, while the piece before is read.

use crate::parallel::joined;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Makes one piece after another, each in the buffer of an earlier one.
pub trait Make: Send + 'static {
    /// # Errors
    /// The piece cannot be made.
    fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()>;

    /// Whether all pieces are made.
    fn is_done(&self) -> bool;
}

/// Reads the pieces as one stream. At most two are in memory: one being read, and one being made.
pub struct MadeAhead<M> {
    state: State<M>,
    piece: Vec<u8>,
    given: usize,
}

enum State<M> {
    /// This thread makes the next piece: always the first, which often is the only one, and all if no
    /// thread can be started.
    Here(M),
    /// Another thread makes the rest, in buffers that are sent back.
    There(Maker),
    Done,
    Failed,
}

struct Maker {
    pieces: Receiver<io::Result<Vec<u8>>>,
    back: Sender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl<M: Make> MadeAhead<M> {
    pub fn new(maker: M) -> Self {
        Self { state: State::Here(maker), piece: Vec::new(), given: 0 }
    }

    /// Gets the next piece, if there is one. After an error all calls fail.
    fn advance(&mut self) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.piece);
        self.given = 0;
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Here(maker) if maker.is_done() => self.state = State::Done,
            State::Here(mut maker) => {
                maker.make(&mut piece)?;
                self.piece = piece;
                self.state = if maker.is_done() { State::Done } else { continue_on_thread(maker) };
            }
            State::There(maker) => {
                // Sending fails only if the thread has ended, and then needs no buffer.
                let _ = maker.back.send(piece);
                match maker.pieces.recv() {
                    Ok(piece) => (self.piece, self.state) = (piece?, State::There(maker)),
                    // The thread ends after all pieces are made.
                    Err(_) => {
                        joined(maker.thread.join())?;
                        self.state = State::Done;
                    }
                }
            }
            State::Done => self.state = State::Done,
            State::Failed => return Err(io::Error::other("an earlier read of it failed")),
        }
        Ok(())
    }
}

/// Moves the maker to a new thread; keeps it here if no thread can be started.
fn continue_on_thread<M: Make>(maker: M) -> State<M> {
    let (give, take) = channel();
    // A piece is handed over before the next one is started.
    let (sender, pieces) = sync_channel(0);
    let (back, buffers) = channel();
    let thread = Builder::new().spawn(move || match take.recv() {
        Ok(maker) => make_all(maker, &sender, &buffers),
        Err(_) => Ok(()),
    });
    match thread {
        Ok(thread) => match give.send(maker) {
            Ok(()) => State::There(Maker { pieces, back, thread }),
            Err(unsent) => State::Here(unsent.0),
        },
        Err(_) => State::Here(maker),
    }
}

/// Makes pieces until all are made, one fails, or the reader is gone.
fn make_all(
    mut maker: impl Make,
    pieces: &SyncSender<io::Result<Vec<u8>>>,
    buffers: &Receiver<Vec<u8>>,
) -> io::Result<()> {
    while !maker.is_done() {
        let mut piece = buffers.try_recv().unwrap_or_default();
        let made = maker.make(&mut piece);
        let is_made = made.is_ok();
        if pieces.send(made.map(|()| piece)).is_err() || !is_made {
            break;
        }
    }
    Ok(())
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
    use std::sync::{Arc, Weak};

    /// Counts down; at one number it fails, or panics if `panics` is set.
    struct Countdown {
        number: u8,
        fails_at: Option<u8>,
        panics: bool,
        is_alive: Arc<()>,
    }

    fn countdown(number: u8, fails_at: Option<u8>, panics: bool) -> (MadeAhead<Countdown>, Weak<()>) {
        let is_alive = Arc::new(());
        let alive = Arc::downgrade(&is_alive);
        (MadeAhead::new(Countdown { number, fails_at, panics, is_alive }), alive)
    }

    impl Make for Countdown {
        fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
            assert!(Arc::strong_count(&self.is_alive) == 1, "there is one maker");
            if self.fails_at == Some(self.number) {
                assert!(!self.panics, "it panics");
                return Err(io::Error::other("it fails"));
            }
            piece.clear();
            piece.resize(self.number.into(), self.number);
            self.number -= 1;
            Ok(())
        }

        fn is_done(&self) -> bool {
            self.number == 0
        }
    }

    #[test]
    fn pieces_arrive_in_order() {
        for pieces in 0..5 {
            let expected: Vec<u8> = (1..=pieces).rev().flat_map(|piece| vec![piece; piece.into()]).collect();
            let mut all = Vec::new();
            countdown(pieces, None, false).0.read_to_end(&mut all).expect("nothing fails");
            assert_eq!(all, expected);
        }
    }

    /// Otherwise a truncated result would pass for a complete one.
    #[test]
    fn errors_and_panics_are_not_the_end_of_the_stream() {
        for (at, panics) in [(1, false), (2, false), (3, false), (4, false), (1, true), (3, true)] {
            let (mut reader, _) = countdown(4, Some(at), panics);
            let mut all = Vec::new();
            let error = reader.read_to_end(&mut all).expect_err("it fails").to_string();
            assert!(error.contains(if panics { "panicked" } else { "it fails" }), "{error}");
            assert_eq!(all.len(), (at + 1..=4).map(usize::from).sum::<usize>());
            reader.read(&mut [0]).expect_err("it has failed");
        }
    }

    #[test]
    fn thread_ends_when_the_reader_is_dropped() {
        let (mut reader, alive) = countdown(200, None, false);
        reader.read_exact(&mut [0; 300]).expect("more bytes");
        assert!(alive.strong_count() == 1, "running");
        drop(reader);
        while alive.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
