//! `safetensors conform`: what a reader says about the conformance vectors.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::conform::{Asking, Break, Store, Unusable, ask_all, json, matches, page, summary};
use crate::exit::Exit;
use crate::product::Product;
use crate::text::{quoted, shown_text};
use crate::work::Work;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use vectors::{Manifest, Score, Vector};

/// Score any reader of safetensors files against the conformance vectors.
///
/// The reader is a command. It gets one file on its standard input and answers with its exit code: 0 if the file is sound, and
/// then with one JSON object on standard output, as `safetensors decode` prints it; 1 if it is not. Anything else, and no
/// answer in time, is a crash. Exit code: 0 if the reader is right about all vectors, 1 if it is not, 2 if it could not be asked.
#[derive(clap::Args)]
pub struct Conform {
    /// Take the vectors of this folder, instead of those in this program
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,

    /// Count codes, offsets and the verdict on files about which readers may differ, too
    #[arg(long)]
    strict: bool,

    /// Ask about the files of more than a megabyte, too
    #[arg(long)]
    large: bool,

    /// Ask only about vectors whose id matches, as in `utf8-*`
    #[arg(long, value_name = "GLOB", default_value = "*")]
    filter: String,

    /// Ask about so many files at once; otherwise as many as there are processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Kill a reader after so many seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,

    /// Print one JSON object with every answer
    #[arg(long)]
    json: bool,

    /// Write the results to a page of Markdown, too; `-` is standard output, and then nothing else is printed
    #[arg(long, value_name = "RESULTS.md")]
    page: Option<PathBuf>,

    /// Replace the page if there is one
    #[arg(long, requires = "page")]
    force: bool,

    /// The reader, and what it is given
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run for Conform {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        let store = self.vectors.clone().map_or(Store::Packed, Store::Folder);
        let manifest = store.manifest().map_err(|reason| complaint(&store, reason))?;
        let chosen = self.choose(&manifest)?;
        let page = self.page.as_ref().map(|path| Product::create(path, self.force)).transpose()?;
        let scores = self.ask(&store, &chosen)?;
        if let Some(page) = page {
            self.write_page(&manifest, &scores, page)?;
        }
        let is_printed = self.page.as_ref().is_some_and(|page| page.as_os_str() == "-");
        if !is_printed {
            self.print(&scores)?;
        }
        Ok(if scores.iter().all(Score::is_right) { Exit::Good } else { Exit::Bad })
    }
}

impl Conform {
    fn choose<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m Vector>, Complaint> {
        let asked = |vector: &&Vector| (self.large || !vector.large) && matches(&self.filter, &vector.id);
        let chosen: Vec<&Vector> = manifest.vectors.iter().filter(asked).collect();
        if chosen.is_empty() {
            return Err(Complaint::usage(format!("no vector matches {}", quoted(&self.filter))));
        }
        Ok(chosen)
    }

    fn ask<'v>(&self, store: &Store, vectors: &[&'v Vector]) -> Result<Vec<Score<'v>>, Complaint> {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let (command, strict) = (self.command.as_slice(), self.strict);
        let asking = Asking { store, command, jobs, seconds: self.timeout.into(), strict };
        let work = Work::new(
            "asking",
            vectors.iter().fold(0, |sum: u64, vector| sum.saturating_add(vector.length as u64)),
        );
        ask_all(&asking, vectors, |bytes| work.advance(bytes)).map_err(|broken| match broken {
            Break::Unusable(reason) => complaint(store, reason),
            Break::Stopped(complaint) => complaint,
        })
    }

    fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn write_page(
        &self,
        manifest: &Manifest,
        scores: &[Score<'_>],
        mut to: Product,
    ) -> Result<(), Complaint> {
        page(manifest, scores, &self.words().join(" "), &mut to).map_err(|error| to.cannot(error))?;
        to.finish()
    }

    fn print(&self, scores: &[Score<'_>]) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        if self.json {
            json(scores, &self.words(), self.strict, &mut out)?;
        } else {
            summary(scores, &mut out)?;
        }
        out.flush()
    }
}

fn complaint(store: &Store, reason: Unusable) -> Complaint {
    match reason {
        Unusable::Vectors(why) => Complaint::about(&store.manifest_path(), shown_text(&why)),
        Unusable::Reader(why) => Complaint::usage(shown_text(&why)),
    }
}
