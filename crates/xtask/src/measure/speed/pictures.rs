//! The pages that show what was measured, and their pictures.

use super::{Amount, Case, OURS, REFERENCE, budgets};
use crate::measure::limits::Ratio;
use crate::measure::number;
use crate::measure::row::{Row, table};
use crate::measure::table::{Difference, Likeness, Table};
use crate::plot::{Axis, Bar, Chart, Group, Kind};

const PAGE: &str = "benches/report/README.md";

/// A picture of some cases.
struct Picture {
    /// The name of its file, and of the page's table of all its cases.
    name: &'static str,
    title: &'static str,
    /// The beginnings of the names of the cases in the table.
    tells: &'static [&'static str],
    /// What it shows of them.
    shows: fn(&Case) -> bool,
    scale: Scale,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Of a call, or of a tensor where it works on so many.
    Nanoseconds,
    Microseconds,
    GigabytesPerSecond,
    TimesReference,
}

const PICTURES: [Picture; 9] = [
    Picture {
        name: "check",
        title: "Check a header of 1,000 tensors",
        tells: &["check, "],
        shows: |case| case.what.contains(" 1000 tensors, "),
        scale: Scale::Nanoseconds,
    },
    Picture {
        name: "sizes",
        title: "Check headers of any size in chunks of 4 KiB",
        tells: &[],
        shows: |case| case.what.starts_with("check, ") && case.what.ends_with("4 KiB chunks"),
        scale: Scale::TimesReference,
    },
    Picture {
        name: "open",
        title: "Open a model for lookups",
        tells: &["open with index, ", "open as a view, "],
        shows: |case| case.what.contains("in memory") && !case.what.contains("spaced"),
        scale: Scale::TimesReference,
    },
    Picture {
        name: "cold",
        title: "The first open of a process",
        tells: &["open cold, "],
        shows: |case| case.what.contains(", model, "),
        scale: Scale::Microseconds,
    },
    Picture {
        name: "lookup",
        title: "Look tensors up, and list them",
        tells: &["look up ", "list "],
        shows: |case| case.what.contains("1000 "),
        scale: Scale::Nanoseconds,
    },
    Picture {
        name: "stream",
        title: "A large tensor from a file",
        tells: &["stream ", "open a map", "open a file"],
        shows: |case| matches!(case.amount, Amount::Bytes(_)),
        scale: Scale::GigabytesPerSecond,
    },
    Picture {
        name: "elements",
        title: "A tensor in memory, read as f32",
        tells: &["F32 ", "F16 ", "BF16 ", "I8 ", "F8_E4M3 "],
        shows: |case| case.what.contains("64 KiB") || case.what.contains("64 MiB"),
        scale: Scale::GigabytesPerSecond,
    },
    Picture {
        name: "slices",
        title: "Parts of a matrix in memory",
        tells: &["slice "],
        shows: |_| true,
        scale: Scale::GigabytesPerSecond,
    },
    Picture {
        name: "write",
        title: "Write a file to memory",
        tells: &["write ", "read a vector of "],
        shows: |case| matches!(case.amount, Amount::Tensors(_)),
        scale: Scale::Nanoseconds,
    },
];

/// The limits, in both pages; and, where all cases were measured, each of them.
pub fn tables(rows: &[Row], cases: &[Case], are_all: bool) -> Vec<Table> {
    let shown = |page, name, text, equal| Table {
        page,
        name,
        text,
        likeness: Likeness { equal, others: Difference::Any },
    };
    let limits = ["README.md", PAGE].map(|page| shown(page, "desktop", table(rows), 2));
    let told = PICTURES.iter().filter(|picture| are_all && !picture.tells.is_empty());
    limits.into_iter().chain(told.map(|picture| shown(PAGE, picture.name, picture.table(cases), 1))).collect()
}

/// Every picture by its path.
pub fn draw(limits: &[Ratio], cases: &[Case]) -> Vec<(String, String)> {
    let draw = |picture: &Picture| {
        (format!("benches/report/{}.svg", picture.name), picture.chart(limits, cases).svg())
    };
    PICTURES.iter().map(draw).collect()
}

impl Picture {
    fn chart(&self, limits: &[Ratio], cases: &[Case]) -> Chart {
        let told = |case: &&Case| self.tells.is_empty() || self.tells(case);
        let shown = cases.iter().filter(told).filter(|case| (self.shows)(case));
        Chart {
            title: self.title.to_owned(),
            about: self.scale.about().to_owned(),
            axis: self.scale.axis(),
            groups: shown.map(|case| self.scale.group(limits, case)).collect(),
        }
    }

    fn tells(&self, case: &Case) -> bool {
        self.tells.iter().any(|beginning| case.what.starts_with(beginning))
    }

    fn table(&self, cases: &[Case]) -> String {
        let lines: String = cases.iter().filter(|case| self.tells(case)).map(line).collect();
        format!("| what | ours | reference | ours is faster | floors |\n|---|---|---|---|---|\n{lines}")
    }
}

fn line(case: &Case) -> String {
    let (reference, gain) = match (case.nanos(REFERENCE), case.gain()) {
        (Some(nanos), Some(gain)) => (time(nanos), format!("{}x", number(gain))),
        _ => ("–".to_owned(), "–".to_owned()),
    };
    let floors: Vec<_> = case.floors().map(|(name, nanos)| format!("{name} {}", time(*nanos))).collect();
    format!("| {} | {} | {reference} | {gain} | {} |\n", case.what, time(case.ours()), floors.join(", "))
}

/// A time of three digits that tell something.
fn time(nanos: f64) -> String {
    match nanos {
        0.0..1e3 => format!("{} ns", number(nanos)),
        1e3..1e6 => format!("{} µs", number(nanos / 1e3)),
        _ => format!("{} ms", number(nanos / 1e6)),
    }
}

impl Scale {
    const fn about(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds for each tensor; less is better",
            Self::Microseconds => "microseconds; less is better",
            Self::GigabytesPerSecond => "GB/s; more is better",
            Self::TimesReference => {
                "times as fast as the reference; more is better, and the line is the budget"
            }
        }
    }

    const fn axis(self) -> Axis {
        match self {
            Self::Nanoseconds | Self::Microseconds => Axis::Logarithmic,
            Self::GigabytesPerSecond | Self::TimesReference => Axis::Linear,
        }
    }

    fn group(self, limits: &[Ratio], case: &Case) -> Group {
        let bars = match self {
            Self::TimesReference => return gain(limits, case),
            _ => case
                .times
                .iter()
                .map(|(name, nanos)| Bar::new(kind(name), name, self.value(case.amount, *nanos))),
        };
        Group { name: case.what.clone(), bars: bars.collect() }
    }

    fn value(self, amount: Amount, nanos: f64) -> f64 {
        match (self, amount) {
            (Self::Nanoseconds, Amount::Tensors(tensors)) => nanos / tensors,
            (Self::Microseconds, _) => nanos / 1e3,
            (Self::GigabytesPerSecond, Amount::Bytes(bytes)) => bytes / nanos,
            _ => nanos,
        }
    }
}

fn gain(limits: &[Ratio], case: &Case) -> Group {
    let bar = Bar::new(Kind::Ours, case.what.as_str(), case.gain().unwrap_or(f64::NAN));
    Group { name: String::new(), bars: vec![bar.limit(budgets::least(limits, &case.what))] }
}

fn kind(name: &str) -> Kind {
    match name {
        OURS => Kind::Ours,
        REFERENCE => Kind::Reference,
        _ => Kind::Floor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::limits::Limits;

    fn case(what: &str, amount: Amount) -> Case {
        let times = [("ours", 2e3), ("reference", 3e6), ("copy", 10.0)];
        Case {
            what: what.to_owned(),
            amount,
            times: times.map(|(name, nanos)| (name.to_owned(), nanos)).into(),
        }
    }

    #[test]
    fn a_line_of_the_table_has_all_times() {
        let line = line(&case("write it", Amount::Bytes(1.0)));
        assert_eq!(line, "| write it | 2 µs | 3 ms | 1,500x | copy 10 ns |\n");
    }

    #[test]
    fn a_bar_is_as_long_as_what_the_axis_counts() {
        let bars = |scale: Scale, amount| {
            scale.group(&[], &case("a", amount)).bars.into_iter().map(|bar| bar.value).collect::<Vec<_>>()
        };
        assert_eq!(bars(Scale::Nanoseconds, Amount::Tensors(10.0)), [200.0, 3e5, 1.0]);
        assert_eq!(bars(Scale::Microseconds, Amount::Tensors(10.0)), [2.0, 3e3, 0.01]);
        assert_eq!(bars(Scale::GigabytesPerSecond, Amount::Bytes(4e3)), [2.0, 4e3 / 3e6, 400.0]);
        assert_eq!(bars(Scale::TimesReference, Amount::Tensors(1.0)), [1500.0]);
    }

    #[test]
    fn each_case_with_a_limit_is_in_one_table() {
        let limits = Limits::read().unwrap().speed;
        for what in budgets::cases(&limits) {
            let case = case(what, Amount::Bytes(1.0));
            assert_eq!(PICTURES.iter().filter(|picture| picture.tells(&case)).count(), 1, "{what}");
        }
        let case = case("check, canonical, 1000 tensors, 4 KiB chunks", Amount::Tensors(1.0));
        assert_eq!(Scale::TimesReference.group(&limits, &case).bars[0].limit, Some(12.0));
    }
}
