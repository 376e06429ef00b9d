//! `safetensors check`: prints a verdict for every file.

use crate::commands::{Run, check_stdin_once, count};
use crate::error::{Complaint, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Part, is_sharded};
use crate::input::published::Violation;
use crate::input::source::Data;
use crate::input::validation::{SHORT, open_valid};
use crate::input::walk::{Found, expand};
use crate::print::verdict::Verdict;
use crate::text::{counted, grouped};
use crate::threads::{cores, in_order};
use std::io::{IsTerminal, stderr};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Validate files, or show what is wrong with them
///
/// Reads the header of each file, and tensor data only with --finite. In a directory, checks all
/// *.safetensors and *.safetensors.index.json files below it, except hidden files and directories, sorted by
/// path. Exit code: 2 if at least one cannot be read, otherwise 1 if at least one is invalid, otherwise 0.
#[derive(clap::Args)]
pub struct Check {
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Read all data, too, and reject NaN and infinities
    #[arg(long)]
    finite: bool,

    /// Also reject what the published text of the format rejects, although the reference accepts it
    #[arg(long, conflicts_with = "finite")]
    as_published: bool,

    /// Number of files to check at once [default: number of cores]
    #[arg(long, short, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    jobs: Option<NonZero<usize>>,

    /// Files or directories to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Run for Check {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        check_stdin_once(&self.files)?;
        let files: Vec<Found> = self.files.iter().flat_map(|file| expand(file)).collect();
        let mut tally = Tally::default();
        let check = |found| check_file(found, self.finite, self.as_published);
        in_order(&files, self.jobs.unwrap_or_else(cores), check, |(file, verdict)| {
            if self.json { verdict.print_json(file) } else { verdict.print(file) }?;
            tally.add(verdict.exit());
            Ok::<_, Complaint>(())
        })?;
        tally.tell();
        Ok(tally.worst())
    }
}

/// The number of files with each verdict.
#[derive(Default)]
struct Tally {
    good: u64,
    bad: u64,
    failed: u64,
}

impl Tally {
    fn add(&mut self, exit: Exit) {
        match exit {
            Exit::Good => self.good += 1,
            Exit::Bad => self.bad += 1,
            Exit::Failed | Exit::Interrupted => self.failed += 1,
        }
    }

    fn worst(&self) -> Exit {
        match self {
            Self { failed: 1.., .. } => Exit::Failed,
            Self { bad: 1.., .. } => Exit::Bad,
            _ => Exit::Good,
        }
    }

    /// Only for a terminal, and only if several files were checked.
    fn tell(&self) {
        let all = self.good + self.bad + self.failed;
        if all > 1 && stderr().is_terminal() {
            let [good, bad, failed] = [self.good, self.bad, self.failed].map(grouped);
            eprintln!("{}: {good} valid, {bad} invalid, {failed} not read", counted(all, "file"));
        }
    }
}

fn check_file((file, found): &Found, finite: bool, as_published: bool) -> (&Path, Verdict) {
    let verdict = match found {
        Ok(()) if finite => Verdict::of_values(file),
        Ok(()) => match is_sharded(file) {
            Ok(true) => check_shards(file, as_published).unwrap_or_else(Verdict::Other),
            Ok(false) => check_header(file, as_published).unwrap_or_else(Verdict::Other),
            Err(complaint) => Verdict::Other(complaint),
        },
        Err(reason) => Verdict::Other(Complaint::not_read(file, reason.clone())),
    };
    (file, verdict)
}

/// Validates a sharded model; by the published text, also each of its shards.
fn check_shards(file: &Path, as_published: bool) -> Result<Verdict, Complaint> {
    let model = Model::open(file)?;
    let shards = if as_published { model.parts() } else { &[] };
    for shard in shards {
        if let Some(violation) = violation_in(shard)? {
            return Ok(Verdict::Unpublished(shard.path().to_path_buf(), violation));
        }
    }
    Ok(Verdict::of(&model))
}

fn violation_in(shard: &Part) -> Result<Option<Violation>, Complaint> {
    let mut source = shard.source().map_err(|reason| Complaint::not_read(shard.path(), reason))?;
    Violation::find(&mut source).map_err(|failure| Complaint::of(shard.path(), &mut source, failure))
}

fn check_header(file: &Path, as_published: bool) -> Result<Verdict, Complaint> {
    let (mut source, (summary, _)) = open_valid(file, SHORT, Data::Count)?;
    let found = if as_published { Violation::find(&mut source) } else { Ok(None) };
    let found = found.map_err(|failure| Complaint::of(file, &mut source, failure))?;
    Ok(found.map_or(Verdict::Valid(summary), |found| Verdict::Unpublished(file.to_path_buf(), found)))
}
