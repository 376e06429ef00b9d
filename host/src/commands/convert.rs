//! `safetensors convert`: converts between models and numpy arrays, and casts tensors.

use crate::columns::{Side, Table};
use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::convert::{
    Change, Changer, FromBits, Input, Kind, Losses, NameOf, Options, Output, Plan, Planned, Reason, Scale,
    read_bits, write,
};
use crate::exit::Exit;
use crate::json::{self, Object};
use crate::overwrite::check_not_input;
use crate::product::check_output_path;
use crate::siblings::reject_partial_models;
use crate::text::{counted, grouped, quoted, short, shown_text};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Report, can_be_target};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Convert between safetensors, .npy and .npz, and cast tensors to other dtypes
///
/// Numbers are rounded to nearest, ties to even. The output shows how far the new numbers are from the old
/// ones. Exit code: 0 if the file is written, 1 if the input is invalid, 2 for all other errors, 130 if
/// interrupted.
#[derive(clap::Args)]
pub struct Convert {
    /// Input: a .npy, a .npz, or a model (a file, a shard index or directory, or `-` for standard input)
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// Output file; the suffix sets the format: .safetensors, .npy or .npz
    #[arg(value_name = "OUT", required_unless_present = "output", conflicts_with = "output")]
    out: Option<PathBuf>,

    /// Same as the argument OUT
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Cast floating-point tensors to F64, F32, F16, BF16, F8_E4M3, F8_E5M2 or an integer dtype such as U8;
    /// names such as float16, half and torch.bfloat16 are known, too
    #[arg(long, value_name = "DTYPE", value_parser = NameOf(can_be_target), hide_possible_values = true)]
    to: Option<Dtype>,

    /// Cast integers and BOOL too
    #[arg(long)]
    all: bool,

    /// Cast only tensors that match this glob, of any dtype (repeatable)
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Do not cast tensors that match this glob (repeatable)
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,

    /// Clamp out-of-range values; NaN becomes 0 in integers
    #[arg(long)]
    saturate: bool,

    /// With --to I8, scale the largest magnitude to 127 first; the F32 divisors are stored as NAME.scale
    #[arg(long, value_name = "SCOPE")]
    scale: Option<Scale>,

    /// Multiply I8 tensors by their NAME.scale, and drop the scales
    #[arg(long, conflicts_with = "scale")]
    unscale: bool,

    /// Write BF16 as U16 bits and F8 as U8 bits; numpy has neither
    #[arg(long)]
    bits: bool,

    /// Reinterpret U16 as BF16, or U8 as an F8 dtype: the reverse of --bits; GLOB selects tensors
    /// (repeatable)
    #[arg(long, value_name = "DTYPE[=GLOB]")]
    from_bits: Vec<FromBits>,

    /// Tensor name for a .npy input [default: the file name without .npy]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Compress the .npz output
    #[arg(long)]
    compress: bool,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print a summary as one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Convert {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        let path = self.target();
        let kind = Kind::of_output(path)?;
        self.check(kind)?;
        check_not_input(&self.input, path)?;
        check_output_path(path, self.force)?;
        if Kind::of_input(&self.input) == Kind::Model {
            reject_partial_models(std::slice::from_ref(&self.input), Some(path))?;
        }
        let mut input = Input::open(&self.input, self.name.as_deref())?;
        input.must_not_be(path)?;
        let read_as_bits = read_bits(&mut input, &self.from_bits)?;
        let plan = Plan::new(&input, &self.options(), path)?;
        let metadata = input.metadata();
        let lost = metadata.as_ref().filter(|_| kind != Kind::Model).map_or(0, Vec::len);
        let (force, is_compressed) = (self.force, self.compress);
        let output = Output { path, force, is_compressed, metadata };
        let mut changer = Changer::new(&input, self.saturate, &plan.tensors);
        let reports = write(&output, &plan, &mut changer, &|| input.check_unchanged())?;
        let read_as_bits = &read_as_bits;
        let done = Done { command: &self, input: &input, plan: &plan, reports: &reports, read_as_bits, lost };
        if self.json { done.print_json() } else { done.print() }?;
        Ok(Exit::Good)
    }
}

impl Convert {
    /// The output; exactly one of the two arguments is given.
    fn target(&self) -> &Path {
        self.out.as_deref().or(self.output.as_deref()).unwrap_or(Path::new(""))
    }

    fn check(&self, kind: Kind) -> Result<(), Complaint> {
        if self.bits && kind == Kind::Model {
            return Err(Complaint::usage(
                "--bits works with .npy and .npz only: safetensors has these dtypes",
            ));
        }
        if self.compress && kind != Kind::Archive {
            return Err(Complaint::usage("--compress works with .npz only"));
        }
        if self.to.is_none() && !(self.only.is_empty() && self.except.is_empty()) {
            return Err(Complaint::usage("--only and --except need --to"));
        }
        Ok(())
    }

    fn options(&self) -> Options<'_> {
        let Self { to, all, scale, unscale, bits, .. } = *self;
        Options { to, all, only: &self.only, except: &self.except, scale, unscale, bits }
    }
}

/// The results to print.
struct Done<'d> {
    command: &'d Convert,
    input: &'d Input,
    plan: &'d Plan,
    reports: &'d [Option<Report>],
    /// For each input tensor, the dtype that its integer bits are read as, if any.
    read_as_bits: &'d [Option<Dtype>],
    /// The number of metadata keys that the output cannot hold.
    lost: usize,
}

impl Done<'_> {
    fn tensors(&self) -> impl Iterator<Item = (&Planned, &Option<Report>)> {
        self.plan.tensors.iter().zip(self.reports)
    }

    fn from(&self, planned: &Planned) -> &'static str {
        self.input.arrays.get(planned.source).map_or("", |array| array.dtype.name())
    }

    fn bytes(&self) -> Result<u64, Complaint> {
        let path = self.command.target();
        let metadata = std::fs::metadata(path).map_err(|error| Complaint::not_read(path, error))?;
        Ok(metadata.len())
    }

    fn print(&self) -> Result<(), Complaint> {
        let mut out = BufWriter::new(io::stdout().lock());
        let output = self.command.target().to_string_lossy();
        let tensors = counted(self.plan.tensors.len() as u64, "tensor");
        writeln!(out, "{}: {tensors}, {}", shown_text(&output), counted(self.bytes()?, "byte"))?;
        if self.reports.iter().any(Option::is_some) {
            self.table().print(&mut out)?;
        }
        self.print_left(&mut out)?;
        self.input.padding.print(&mut out)?;
        if self.lost > 0 {
            let keys = counted(self.lost as u64, "key");
            writeln!(out, "  left out: {keys} of metadata, which numpy cannot store")?;
        }
        Ok(out.flush()?)
    }

    /// Prints notes on what the table does not show.
    fn print_left(&self, out: &mut impl Write) -> io::Result<()> {
        for wish in self.kinds_of_bits() {
            let read = self.input.arrays.iter().zip(self.read_as_bits).filter(|(_, of)| **of == Some(wish));
            let names: Vec<String> = read.map(|(array, _)| quoted(&array.name)).collect();
            writeln!(out, "  read as {wish}: {}", listed(&names))?;
        }
        for reason in Reason::ALL {
            let count = self.plan.left.iter().filter(|left| **left == reason).count();
            if count > 0 {
                writeln!(out, "  not cast: {}, {}", counted(count as u64, "tensor"), reason.text())?;
            }
        }
        Ok(())
    }

    /// The distinct dtypes of `--from-bits`.
    fn kinds_of_bits(&self) -> Vec<Dtype> {
        let mut dtypes = Vec::new();
        for FromBits { dtype, .. } in &self.command.from_bits {
            if !dtypes.contains(dtype) {
                dtypes.push(*dtype);
            }
        }
        dtypes
    }

    /// The table of the cast tensors with the largest losses.
    fn table(&self) -> Table {
        let mut table = Table::new([
            ("tensor", Side::Left),
            ("from", Side::Left),
            ("to", Side::Left),
            ("max error", Side::Right),
            ("mean error", Side::Right),
            ("inexact", Side::Right),
            ("", Side::Left),
        ]);
        let losses = Losses::of(&self.reports.iter().map(Option::as_ref).collect::<Vec<_>>());
        for ((planned, report), is_shown) in self.tensors().zip(losses.shown) {
            let Some(report) = report.as_ref().filter(|_| is_shown) else { continue };
            let to = match planned.change {
                Change::Cast(to) | Change::Unscale { to, .. } => to,
                _ => planned.array.dtype,
            };
            let names = [quoted(&planned.array.name), self.from(planned).to_owned(), to.to_string()];
            table.push(names.into_iter().chain(cells(report)));
        }
        if let Some((count, report)) = &losses.others {
            let names = [counted(*count, "other"), String::new(), String::new()];
            table.push(names.into_iter().chain(cells(report)));
        }
        table
    }

    fn print_json(&self) -> Result<(), Complaint> {
        let tensors = self.tensors().map(|(planned, report)| {
            let shape = json::array(planned.array.dims.iter().map(u64::to_string));
            let object = Object::new().text("name", &planned.array.name).text("from", self.from(planned));
            let object = object.text("to", planned.array.dtype.name()).raw("shape", &shape);
            match report {
                Some(report) => members(object, report).end(),
                None => object.end(),
            }
        });
        let object = Object::new().text("file", &self.command.input.to_string_lossy()).flag("ok", true);
        let object = object.text("output", &self.command.target().to_string_lossy());
        let object = object.number("bytes", self.bytes()?).number("metadata_left_out", self.lost as u64);
        let object = object.number("padding_left_out", self.input.padding.tensors);
        let read_as_bits = self.read_as_bits.iter().flatten().count();
        let object = object.number("read_from_bits", read_as_bits as u64);
        let object = object.number("not_cast", self.plan.left.len() as u64);
        writeln!(io::stdout(), "{}", object.raw("tensors", &json::array(tensors)).end())?;
        Ok(())
    }
}

/// The first names, and the number of others.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        others => format!("{} and {others} more", names[..SHOWN].join(", ")),
    }
}

/// The losses of a row.
fn cells(report: &Report) -> [String; 4] {
    let [most, mean] = [report.max_error, report.mean_error()].map(short);
    [most, mean, format!("{} of {}", grouped(report.inexact), grouped(report.values)), notes(report)]
}

/// The counts that deserve attention.
fn notes(report: &Report) -> String {
    let counts = [
        (report.overflowed, "became infinite"),
        (report.clamped, "clamped"),
        (report.zeroed, "became zero"),
        (report.nans, "NaN"),
    ];
    let noted = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)));
    noted.collect::<Vec<_>>().join(", ")
}

fn members(object: Object, report: &Report) -> Object {
    let object = object.float("max_error", report.max_error).float("mean_error", report.mean_error());
    let object = object.number("values", report.values).number("inexact", report.inexact);
    let object = object.number("overflowed", report.overflowed).number("clamped", report.clamped);
    object.number("zeroed", report.zeroed).number("nan", report.nans)
}
