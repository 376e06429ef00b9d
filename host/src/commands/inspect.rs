//! `safetensors inspect`: shows the contents of a header.

use super::{Context, Error, Exit, Files, Outcome, Run};
use crate::args::count;
use crate::convert::open_model;
use crate::input::model::{Model, Tensor};
use crate::input::selection::Selection;
use crate::input::source::Data;
use crate::print::facts::Facts;
use crate::print::listing::{Form, Listing};
use crate::print::parameters::Unpacked;
use crate::print::verdict;
use crate::text::terminal::terminal_width;
use embedded_safetensors::validate::Summary;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::path::Path;

/// Show the tensors, the metadata and the memory needs of files
///
/// Reads the header of each file and no tensor data. Exit code: 2 if at least one cannot be read, otherwise
/// 1 if at least one is invalid, otherwise 0.
#[derive(clap::Args)]
pub struct Inspect {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    selection: Selection,

    /// Sort the tensors; the largest first
    #[arg(long, value_enum, value_name = "KEY")]
    sort: Option<Key>,

    /// Show the first N tensors; the total has all
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    top: Option<NonZero<usize>>,

    /// Show the names as a tree, by their dots, with sums
    #[arg(long, conflicts_with = "dtypes")]
    tree: bool,

    /// Show a table of the dtypes instead of the tensors
    #[arg(long)]
    dtypes: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Key {
    Name,
    /// Bytes, in descending order
    Size,
    /// Offset in the data, file by file
    Offset,
    /// Dtype, and the largest first
    Dtype,
}

impl Run for Inspect {
    fn run(self, context: &Context) -> Outcome {
        self.check()?;
        self.files.each(context, "--only", |file, json| match self.inspect(context, file, json) {
            Err(error) if error.of_output().is_none() => Ok(verdict::print(Err(&error), file, json)?),
            done => done.map(|()| Exit::Good),
        })
    }
}

impl Inspect {
    /// # Errors
    /// Tensors are to be sorted or cut where none are listed.
    fn check(&self) -> Result<(), Error> {
        let view = if self.tree { "--tree" } else { "--dtypes" };
        let option = if self.sort.is_some() { "--sort" } else { "--top" };
        match (self.tree || self.dtypes) && (self.sort.is_some() || self.top.is_some()) {
            true => Err(Error::usage(format!(
                "{view} sums up all tensors, and {option} is about a list of them; use --only to choose tensors"
            ))),
            false => Ok(()),
        }
    }

    fn form(&self) -> Form {
        match () {
            () if self.dtypes => Form::Dtypes,
            () if self.tree => Form::Tree,
            () if self.selection.is_empty() && self.sort.is_none() && self.top.is_none() => Form::Whole,
            () => Form::Tensors,
        }
    }

    fn inspect(&self, context: &Context, path: &Path, json: bool) -> Result<(), Error> {
        let (model, left_out) = open_model(context, path, Data::Count)?;
        // The layout is not that of the file.
        let is_list = left_out.is_some() && self.form() == Form::Whole;
        let form = if is_list { Form::Tensors } else { self.form() };
        let is_whole_file = form == Form::Whole && model.index().is_none();
        let chosen: Vec<Tensor<'_>> = match is_whole_file {
            true => model.in_header_order().collect(),
            false => self.selection.tensors_of(&model)?,
        };
        let facts = facts(&model, &chosen, is_whole_file);
        let unpacked = Unpacked::of(context, &model, &chosen);
        let mut shown = Cow::Borrowed(&chosen[..]);
        if form == Form::Tensors {
            self.arrange(shown.to_mut());
        }
        let listing = Listing {
            model: &model,
            chosen: &chosen,
            shown: &shown,
            facts: &facts,
            unpacked: &unpacked,
            form,
        };
        let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
        if json { listing.print_json(&mut out) } else { listing.print(&mut out) }?;
        left_out.filter(|_| !json).map_or(Ok(()), |left_out| left_out.print("", &mut out))?;
        out.flush()?;
        // If this fails, what was printed may come from two versions of the file.
        model.check_unchanged()
    }

    fn arrange(&self, tensors: &mut Vec<Tensor<'_>>) {
        match self.sort {
            None | Some(Key::Offset) => {}
            Some(Key::Name) => tensors.sort_by(|one, other| one.name().cmp(other.name())),
            Some(Key::Size) => tensors.sort_by_key(|tensor| Reverse(tensor.byte_len())),
            Some(Key::Dtype) => tensors.sort_by_key(|tensor| (tensor.dtype(), Reverse(tensor.byte_len()))),
        }
        tensors.truncate(self.top.map_or(usize::MAX, NonZero::get));
    }
}

/// Facts about these tensors; of a whole file also about its layout.
fn facts(model: &Model, chosen: &[Tensor<'_>], is_whole_file: bool) -> Facts {
    let summary = model.parts().first().map(|part| part.index().summary()).filter(|_| is_whole_file);
    let nothing = Summary { tensors: 0, data_start: 0, data_len: 0 };
    let mut facts = Facts::new(&summary.unwrap_or(nothing), terminal_width().unwrap_or(80) - 4);
    for tensor in chosen {
        match is_whole_file {
            true => facts.add(tensor),
            false => drop(facts.count(tensor.dtype(), tensor.elements(), tensor.byte_len())),
        }
    }
    facts
}
