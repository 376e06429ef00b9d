//! The page that shows all of it, and its pictures.

use super::{Figure, Figures, Section, Whose};
use crate::measure::number;
use crate::measure::table::{Difference, Likeness, Table};
use crate::plot::{Axis, Bar, Chart, Group, Kind};

const PAGE: &str = "benches/report/formats.md";

/// The sections with the names of their tables, and of their pictures where they have one.
const TABLES: [(Section, &str, Option<&str>); 4] = [
    (Section::Memory, "memory", Some("from and to memory")),
    (Section::InPlace, "in place", None),
    (Section::File, "file", Some("from and to a file in memory")),
    (Section::Durable, "durable", None),
];

/// The tables of the page: times are those of one machine.
pub fn tables(figures: &Figures) -> Vec<Table> {
    let likeness = Likeness { equal: 1, others: Difference::Any };
    let table = |(section, name, _)| Table { page: PAGE, name, text: table(figures, section), likeness };
    TABLES.into_iter().map(table).collect()
}

/// Its pictures, by their paths.
pub fn pictures(figures: &Figures) -> Vec<(String, String)> {
    let picture = |(section, name, place): (Section, &str, Option<&str>)| {
        let path = format!("benches/report/formats-{name}.svg");
        Some((path, picture_of(figures, section, place?).svg()))
    };
    TABLES.into_iter().filter_map(picture).collect()
}

const HEAD: &str = "| format | bytes of the file | writing, µs | times the floor | reading, µs | times the floor | how it is read |\n\
    |---|--:|--:|--:|--:|--:|---|\n";

/// In the order of the times of reading, the floor first.
fn table(figures: &Figures, section: Section) -> String {
    let Some(floor) = figures.floor(section) else { return HEAD.to_owned() };
    let rows = sorted(figures, section, |figure| figure.read_ns);
    HEAD.to_owned() + &rows.iter().map(|figure| line(figure, floor)).collect::<String>()
}

fn line(figure: &Figure, floor: &Figure) -> String {
    let Figure { how, bytes, write_ns, read_ns, .. } = figure;
    let title = match figure.whose {
        Whose::Ours => format!("**{}**", figure.title()),
        _ => figure.title(),
    };
    let cells = [
        title,
        number(*bytes as f64),
        number(write_ns / 1000.0),
        number(write_ns / floor.write_ns),
        number(read_ns / 1000.0),
        number(read_ns / floor.read_ns),
        how.clone(),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn sorted(figures: &Figures, section: Section, key: fn(&Figure) -> f64) -> Vec<&Figure> {
    let mut rows: Vec<&Figure> = figures.of(section).collect();
    rows.sort_by(|a, b| {
        let order = |figure: &Figure| (figure.whose != Whose::Floor, key(figure));
        order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

fn picture_of(figures: &Figures, section: Section, place: &str) -> Chart {
    let group = |name: &str, time: fn(&Figure) -> f64| {
        let rows = sorted(figures, section, time);
        let bars = rows.into_iter().map(|figure| bar(figure, figures.floor(section), time)).collect();
        Group { name: name.to_owned(), bars }
    };
    Chart {
        title: format!("A vector of 10,000 f32, {place}"),
        about: "Nanoseconds, on a logarithmic axis; in brackets, how many times those of the bare bytes. Shorter is better."
            .to_owned(),
        axis: Axis::Logarithmic,
        groups: vec![group("Reading", |figure| figure.read_ns), group("Writing", |figure| figure.write_ns)],
    }
}

fn bar(figure: &Figure, floor: Option<&Figure>, time: fn(&Figure) -> f64) -> Bar {
    let kind = match figure.whose {
        Whose::Floor => Kind::Floor,
        Whose::Ours => Kind::Ours,
        Whose::Reference => Kind::Reference,
        Whose::Other => Kind::Other,
    };
    let nanos = time(figure);
    let times = floor.map_or(f64::NAN, |floor| nanos / time(floor));
    Bar::new(kind, figure.title(), nanos).shown(format!("{} ({}x)", number(nanos), number(times)))
}
