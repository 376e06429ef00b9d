//! What a program needs at most that streams a model of 6 GiB through 4 KiB, above one that does nothing.
//!
//! Both programs are this one, started again with a word that says what to do. Each asks the system at its
//! end how much memory it had at most, which does not count that of whoever started it.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("peak memory is only measured on Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "report-nothing"] => measured::report(0),
        [_, "report-stream", path] => measured::report(measured::stream(path)),
        _ => measured::all(),
    }
}

#[cfg(target_os = "linux")]
mod measured {
    use embedded_safetensors::{Model, Wanted};
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const MIB: u64 = 1 << 20;
    const HUGE: u64 = 6 << 30;
    const SMALL: &[u8] = b"behind 6 GiB of zeros";
    /// Above the program that does nothing.
    const LIMIT: u64 = 2 * MIB;
    const PATIENCE: Duration = Duration::from_secs(60);

    pub fn all() {
        // Where holes are read at the speed of memory, if there is such a place.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let path = place.path().join("m");
        write(&path);
        let (empty, _) = run(&["report-nothing"]);
        let start = Instant::now();
        let (peak, streamed) = run(&["report-stream", path.to_str().expect("a plain path")]);
        let (above, time) = (peak.saturating_sub(empty), start.elapsed());
        println!("streaming {streamed} bytes: {} KiB above {} KiB, {time:.1?}", above / 1024, empty / 1024);
        assert_eq!(streamed, HUGE + SMALL.len() as u64);
        assert!(above < LIMIT, "streaming takes too much memory");
        assert!(time < PATIENCE, "streaming takes too long");
    }

    /// A file with a hole for a tensor, and a small tensor behind it.
    fn write(path: &Path) {
        let end = HUGE + SMALL.len() as u64;
        let header = format!(
            r#"{{"huge":{{"dtype":"U8","shape":[{HUGE}],"data_offsets":[0,{HUGE}]}},"small":{{"dtype":"U8","shape":[{}],"data_offsets":[{HUGE},{end}]}}}}"#,
            SMALL.len()
        );
        let len = header.len() as u64;
        let file = File::create(path).expect("a file");
        file.set_len(8 + len + end).expect("the disk takes files with holes");
        file.write_all_at(&len.to_le_bytes(), 0).expect("there is room");
        file.write_all_at(header.as_bytes(), 8).expect("there is room");
        file.write_all_at(SMALL, 8 + len + HUGE).expect("there is room");
    }

    /// Starts this program again; how much memory it had at most, and how many bytes it streamed.
    fn run(words: &[&str]) -> (u64, u64) {
        let program = std::env::current_exe().expect("the path of this program");
        let output = Command::new(program).args(words).output().expect("it runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let (peak, streamed) = text.trim().split_once(' ').expect("two numbers");
        (peak.parse().expect("a number"), streamed.parse().expect("a number"))
    }

    pub fn report(streamed: u64) {
        println!("{} {streamed}", own_peak());
    }

    /// Reads both tensors chunk by chunk, and looks at every byte.
    pub fn stream(path: &str) -> u64 {
        let mut buffer = [0; 4096];
        let mut model = Model::open(File::open(path).expect("the file"), &mut buffer).expect("it is sound");
        let mut wanted = [Wanted::new("huge"), Wanted::new("small")];
        model.find_all(&mut wanted, &mut buffer).expect("they are there");
        let mut streamed = 0;
        for (tensor, repeated) in wanted.iter().zip([&[0; 4096], SMALL]) {
            let mut reader = model.tensor(tensor).expect("it is this file's");
            while let Some(chunk) = reader.next_chunk(&mut buffer).expect("the disk works") {
                assert!(repeated.starts_with(chunk), "wrong bytes before byte {}", reader.position());
                streamed += chunk.len() as u64;
            }
        }
        streamed
    }

    /// The most memory that this process has had.
    fn own_peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes * 1024
    }
}
