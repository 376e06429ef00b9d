//! Times, taken in turns: a machine is never faster than it is, so the best turn of each way counts.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::row::{ROOM, Row, Section, Way};
use crate::vector::VALUES;

/// How often each way takes its turn at each place.
const ROUNDS: usize = 60;

/// So long takes one turn, or one call where that is longer.
const TURN: Duration = Duration::from_micros(30);

/// Where in memory a file begins, behind a line of the cache: wherever an allocator can put it. How far it lies from where the values
/// do, in lines of the cache, is about a tenth of the time of a copy.
const PLACES: [usize; 4] = [0, 16, 32, 48];

/// Measures the ways of a section and prints them.
pub fn section(section: Section, rows: &mut [Row], values: &[f32]) {
    let of_section = rows.iter_mut().filter(|row| row.section == section);
    let subjects = of_section.enumerate().map(|(number, row)| Subject::new(row, number, values));
    let mut subjects: Vec<Subject<'_>> = subjects.collect();
    for _ in 0..ROUNDS {
        for place in 0..PLACES.len() {
            subjects.iter_mut().for_each(|subject| subject.take_turns(place));
        }
    }
    subjects.iter().for_each(Subject::print);
}

#[derive(Clone, Copy)]
enum Act {
    Write,
    Read,
}

const ACTS: [Act; 2] = [Act::Write, Act::Read];

/// Nanoseconds of a call.
struct Times {
    /// In one turn.
    calls: u128,
    /// At each place.
    best: [f64; PLACES.len()],
}

impl Times {
    const NONE: Self = Self { calls: 1, best: [f64::MAX; PLACES.len()] };

    fn mean(&self) -> f64 {
        self.best.iter().sum::<f64>() / PLACES.len() as f64
    }
}

struct Subject<'r> {
    row: &'r mut Row,
    memory: Vec<u8>,
    /// Where the file begins and how long it is.
    begin: usize,
    len: usize,
    values: Vec<f32>,
    path: PathBuf,
    times: [Times; 2],
}

impl<'r> Subject<'r> {
    /// Writes the vector and reads it again, and sees to it that it is the same.
    fn new(row: &'r mut Row, number: usize, values: &[f32]) -> Self {
        let path = folder().join(format!("formats-{}-{number}", std::process::id()));
        let (memory, read, times) = (vec![0; ROOM], vec![0.0; VALUES], [Times::NONE; 2]);
        let mut subject = Self { row, memory, begin: 0, len: 0, values: read, path, times };
        for place in 0..PLACES.len() {
            subject.settle(place);
            assert!(subject.gives(values), "{} gives other values back than were written", subject.row.name);
        }
        for act in ACTS {
            let once = (0..5).map(|_| subject.turn(act)).min().unwrap_or(TURN);
            subject.times[act as usize].calls = (TURN.as_nanos() / once.as_nanos().max(1)).max(1);
        }
        subject
    }

    /// Whether it is these values that it reads.
    fn gives(&mut self, values: &[f32]) -> bool {
        if let Way::InPlace(_, find) = &mut self.row.way {
            return find(&self.memory[self.begin..][..self.len]) == bytemuck::cast_slice::<_, u8>(values);
        }
        self.values.fill(0.0);
        self.read();
        self.values == values
    }

    fn take_turns(&mut self, place: usize) {
        self.settle(place);
        for act in ACTS {
            let time = self.turn(act).as_nanos() as f64;
            let Times { calls, best } = &mut self.times[act as usize];
            best[place] = best[place].min(time / *calls as f64);
        }
    }

    /// Goes to this place with the file.
    fn settle(&mut self, place: usize) {
        let to_line = self.memory.as_ptr().align_offset(64);
        self.begin = to_line + PLACES[place];
        self.write();
    }

    fn write(&mut self) {
        match &mut self.row.way {
            Way::Memory(encode, _) | Way::InPlace(encode, _) => {
                self.len = encode(black_box(&mut self.memory[self.begin..]));
            }
            Way::File(save, _) => save(black_box(&self.path)),
        }
    }

    fn read(&mut self) {
        let file = &self.memory[self.begin..][..self.len];
        match &mut self.row.way {
            Way::Memory(_, decode) => decode(black_box(file), black_box(&mut self.values)),
            Way::InPlace(_, find) => drop(black_box(find(black_box(file)))),
            Way::File(_, load) => load(black_box(&self.path), black_box(&mut self.values)),
        }
    }

    /// The time of so many calls, when another one went before.
    fn turn(&mut self, act: Act) -> Duration {
        let act_once = match act {
            Act::Write => Self::write,
            Act::Read => Self::read,
        };
        act_once(self);
        let calls = self.times[act as usize].calls;
        let start = Instant::now();
        for _ in 0..calls {
            act_once(self);
        }
        start.elapsed()
    }

    fn print(&self) {
        let len = match self.row.way {
            Way::File(..) => std::fs::metadata(&self.path).map_or(0, |file| file.len()),
            _ => self.len as u64,
        };
        let Row { section, kind, name, how, .. } = &self.row;
        let [write, read] = ACTS.map(|act| self.times[act as usize].mean());
        let [section, kind] = [section.name(), kind.name()];
        let figure = serde_json::json!({
            "where": section, "whose": kind, "name": name, "how": how, "bytes": len, "write_ns": write, "read_ns": read,
        });
        println!("{figure}");
    }
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        if let Way::File(..) = self.row.way {
            // It is one of those that nobody looks for.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// In memory, where the system has a folder for that.
fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() }
}
