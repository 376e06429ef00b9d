//! Measures times in turns. Other load can only make a turn slower, so the best turn of each way counts.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::row::{CAPACITY, Row, Section, Way};
use crate::vector::VALUES;

/// The number of turns of each way at each offset.
const ROUNDS: usize = 60;

/// The duration of a turn; one call if that takes longer.
const TURN: Duration = Duration::from_micros(30);

/// The offsets of a file from the start of a cache line, as any allocator may choose them. The distance
/// between file and values in cache lines changes the time of a copy by about a tenth.
const OFFSETS: [usize; 4] = [0, 16, 32, 48];

/// Measures the ways of a section and prints them.
pub fn section(section: Section, rows: &mut [Row], values: &[f32]) {
    let of_section = rows.iter_mut().filter(|row| row.section == section);
    let subjects = of_section.enumerate().map(|(number, row)| Subject::new(row, number, values));
    let mut subjects: Vec<Subject<'_>> = subjects.collect();
    for _ in 0..ROUNDS {
        for offset in 0..OFFSETS.len() {
            subjects.iter_mut().for_each(|subject| subject.take_turns(offset));
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

/// The nanoseconds of a call.
struct Times {
    /// The number of calls in a turn.
    calls: u128,
    /// The best time at each offset.
    best: [f64; OFFSETS.len()],
}

impl Times {
    const NONE: Self = Self { calls: 1, best: [f64::MAX; OFFSETS.len()] };

    fn mean(&self) -> f64 {
        self.best.iter().sum::<f64>() / OFFSETS.len() as f64
    }
}

struct Subject<'r> {
    row: &'r mut Row,
    memory: Vec<u8>,
    /// The offset of the file in `memory`.
    begin: usize,
    len: usize,
    values: Vec<f32>,
    path: PathBuf,
    times: [Times; 2],
}

impl<'r> Subject<'r> {
    /// Writes the vector, reads it back, and checks that it is the same.
    fn new(row: &'r mut Row, number: usize, values: &[f32]) -> Self {
        let path = folder().join(format!("formats-{}-{number}", std::process::id()));
        let (memory, read, times) = (vec![0; CAPACITY], vec![0.0; VALUES], [Times::NONE; 2]);
        let mut subject = Self { row, memory, begin: 0, len: 0, values: read, path, times };
        for offset in 0..OFFSETS.len() {
            subject.move_to(offset);
            assert!(subject.reads(values), "{} reads other values than it has written", subject.row.name);
        }
        for act in ACTS {
            let once = (0..5).map(|_| subject.turn(act)).min().unwrap_or(TURN);
            subject.times[act as usize].calls = (TURN.as_nanos() / once.as_nanos().max(1)).max(1);
        }
        subject
    }

    /// Whether it reads these values.
    fn reads(&mut self, values: &[f32]) -> bool {
        if let Way::InPlace(_, find) = &mut self.row.way {
            return find(&self.memory[self.begin..][..self.len]) == bytemuck::cast_slice::<_, u8>(values);
        }
        self.values.fill(0.0);
        self.read();
        self.values == values
    }

    fn take_turns(&mut self, offset: usize) {
        self.move_to(offset);
        for act in ACTS {
            let time = self.turn(act).as_nanos() as f64;
            let Times { calls, best } = &mut self.times[act as usize];
            best[offset] = best[offset].min(time / *calls as f64);
        }
    }

    /// Writes the file at this offset.
    fn move_to(&mut self, offset: usize) {
        let to_line = self.memory.as_ptr().align_offset(64);
        self.begin = to_line + OFFSETS[offset];
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

    /// Returns the time of a turn, after one call that is not timed.
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
            "where": section, "whose": kind, "name": name, "how": how,
            "bytes": len, "write_ns": write, "read_ns": read,
        });
        println!("{figure}");
    }
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        if let Way::File(..) = self.row.way {
            // A leftover file does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns a directory in memory, if the system has one.
fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() }
}
