//! Bars of figures as SVG, for the pages of the report: text stays text, the colours follow the reader's light or
//! dark page, and the same figures always give the same bytes.

use crate::measure::number;
use std::fmt::Write;

/// A picture: what it shows in a line, what its axis counts in another, and groups of bars below one another.
pub struct Chart {
    pub title: String,
    pub about: String,
    pub axis: Axis,
    pub groups: Vec<Group>,
}

/// How figures become lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// From zero. A bar twice as long is twice as much.
    Linear,
    /// Each power of ten is as long as the next.
    Logarithmic,
}

/// Bars that belong together, below a line that says why; none where that is empty.
pub struct Group {
    pub name: String,
    pub bars: Vec<Bar>,
}

/// One figure: whose it is, how long its bar is, what stands behind the bar, and where a limit is drawn across it.
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub shown: String,
    pub kind: Kind,
    pub limit: Option<f64>,
}

/// Whose figure a bar shows, which sets its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ours,
    Reference,
    Floor,
    Other,
}

impl Bar {
    /// A bar with its own figure behind it.
    pub fn new(kind: Kind, label: impl Into<String>, value: f64) -> Self {
        Self { label: label.into(), value, shown: number(value), kind, limit: None }
    }

    /// With these words behind it.
    pub fn shown(self, shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), ..self }
    }

    /// With a line where the limit is.
    pub fn limit(self, limit: Option<f64>) -> Self {
        Self { limit, ..self }
    }
}

/// Light where nobody asks for dark. The ground is drawn too: whatever the page behind it is, the text can be read.
const STYLE: &str = "
text{font:13px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}.about,.tick{font-size:12px;fill:#59636e}.group,.mine{font-weight:600}
.ground{fill:#fff;stroke:#d1d9e0}.grid{stroke:#d1d9e0}.limit{stroke:#cf222e;stroke-width:2}
.ours{fill:#1a7f37}.reference{fill:#bc4c00}.floor{fill:#818b98}.other{fill:#54aeff}
@media(prefers-color-scheme:dark){
text{fill:#f0f6fc}.about,.tick{fill:#9198a1}.ground{fill:#0d1117;stroke:#3d444d}.grid{stroke:#3d444d}.limit{stroke:#ff7b72}
.ours{fill:#3fb950}.reference{fill:#f0883e}.floor{fill:#9198a1}.other{fill:#388bfd}
}
";

const WIDTH: f64 = 820.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
/// Title, what the axis counts, and some air.
const HEAD: f64 = 70.0;
/// What a letter takes at most on average, in the widest of the fonts that the style asks for.
const LETTER: f64 = 8.0;

impl Chart {
    pub fn svg(&self) -> String {
        let mut drawing = Drawing::of(self);
        let height = drawing.bottom + 34.0;
        let (title, about) = (escaped(&self.title), escaped(&self.about));
        drawing.line(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">"#
        ));
        drawing.line(format_args!("<title>{title}</title>\n<desc>{about}</desc>\n<style>{STYLE}</style>"));
        drawing.line(format_args!(
            r#"<rect class="ground" x="0.5" y="0.5" width="{}" height="{}" rx="6"/>"#,
            WIDTH - 1.0,
            height - 1.0
        ));
        drawing.text("title", MARGIN, 28.0, &self.title);
        drawing.text("about", MARGIN, 48.0, &self.about);
        drawing.ticks(self.axis);
        drawing.groups(&self.groups);
        drawing.svg + "</svg>\n"
    }
}

/// A picture in the making, and where its bars stand.
struct Drawing {
    svg: String,
    left: f64,
    width: f64,
    bottom: f64,
    axis: Axis,
    /// The ends of the axis, both of them round numbers.
    from: f64,
    to: f64,
}

impl Drawing {
    fn of(chart: &Chart) -> Self {
        let bars = || chart.groups.iter().flat_map(|group| &group.bars);
        let longest = |text: fn(&Bar) -> &str| {
            bars().map(|bar| text(bar).chars().count()).max().unwrap_or(0) as f64 * LETTER
        };
        let left = MARGIN + longest(|bar| &bar.label) + 8.0;
        let rows = bars().count() + chart.groups.iter().filter(|group| !group.name.is_empty()).count();
        // Figures that the axis has no place for do not count.
        let values = bars().flat_map(|bar| [Some(bar.value), bar.limit]).flatten();
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = values.fold((f64::MAX, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
        let to = if most == 0.0 { 1.0 } else { round_numbers().find(|&round| round >= most).unwrap_or(most) };
        // The next round number below: the smallest bar is seen too.
        let below = round_numbers().take_while(|&round| round < least.min(to)).last();
        let from = if chart.axis == Axis::Linear { 0.0 } else { below.unwrap_or(to / 10.0) };
        let width = (WIDTH - left - longest(|bar| &bar.shown) - MARGIN - 8.0).max(100.0);
        Self { svg: String::new(), left, width, bottom: HEAD + rows as f64 * ROW, axis: chart.axis, from, to }
    }

    /// Where a figure stands.
    fn at(&self, value: f64) -> f64 {
        let part = match self.axis {
            Axis::Linear => value / self.to,
            Axis::Logarithmic => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        self.left + self.width * if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.svg, "{line}");
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.line(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y}">{}</text>"#, escaped(text)));
    }

    fn upright(&mut self, class: &str, x: f64, top: f64, bottom: f64) {
        self.line(format_args!(
            r#"<line class="{class}" x1="{x:.1}" x2="{x:.1}" y1="{top}" y2="{bottom}"/>"#
        ));
    }

    fn ticks(&mut self, axis: Axis) {
        let (mut free, bottom) = (0.0, self.bottom);
        for tick in ticks(axis, self.from, self.to) {
            let (x, words) = (self.at(tick), number(tick));
            self.upright("grid", x, HEAD - 6.0, bottom + 4.0);
            let half = words.len() as f64 * LETTER / 2.0;
            if x - half >= free {
                let y = bottom + 18.0;
                self.line(format_args!(
                    r#"<text class="tick" x="{x:.1}" y="{y}" text-anchor="middle">{words}</text>"#
                ));
                free = x + half;
            }
        }
    }

    fn groups(&mut self, groups: &[Group]) {
        let mut top = HEAD;
        for group in groups {
            if !group.name.is_empty() {
                self.text("group", MARGIN, top + 15.0, &group.name);
                top += ROW;
            }
            for bar in &group.bars {
                self.bar(bar, top);
                top += ROW;
            }
        }
    }

    fn bar(&mut self, bar: &Bar, top: f64) {
        let (mut end, base) = (self.at(bar.value), top + 15.0);
        let weight = if bar.kind == Kind::Ours { "mine" } else { "label" };
        let class = format!("{:?}", bar.kind).to_lowercase();
        self.text(weight, MARGIN, base, &bar.label);
        let (x, y, width) = (self.left, top + 4.0, end - self.left);
        self.line(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y}" width="{width:.1}" height="14" rx="2"/>"#
        ));
        if let Some(x) = bar.limit.map(|limit| self.at(limit)) {
            self.upright("limit", x, top + 2.0, top + 20.0);
            end = end.max(x);
        }
        self.text(weight, end + 6.0, base, &bar.shown);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// 1, 2 and 5 times each power of ten that an axis can reach.
fn round_numbers() -> impl Iterator<Item = f64> {
    // Divided rather than multiplied by what no double is exactly.
    let ten_to = |digit: f64, power: i32| match power {
        ..0 => digit / 10f64.powi(-power),
        _ => digit * 10f64.powi(power),
    };
    (-12..15).flat_map(move |power| [1.0, 2.0, 5.0].map(|digit| ten_to(digit, power)))
}

/// The figures that an axis names: at most six in round steps, or powers of ten alone where there are many.
fn ticks(axis: Axis, from: f64, to: f64) -> Vec<f64> {
    if axis == Axis::Linear {
        let step = round_numbers().find(|step| step * 5.5 >= to).unwrap_or(to);
        return (0..6).map(|index| f64::from(index) * step).filter(|&tick| tick <= to * 1.000_001).collect();
    }
    let inside = |tick: &f64| *tick >= from * 0.999_999 && *tick <= to * 1.000_001;
    let all: Vec<f64> = round_numbers().filter(inside).collect();
    let is_ten = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    if all.len() > 8 { all.into_iter().filter(is_ten).collect() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(axis: Axis, bars: Vec<Bar>) -> Chart {
        let groups = vec![Group { name: "first".to_owned(), bars }];
        Chart { title: "Time <to> read".to_owned(), about: "a & b".to_owned(), axis, groups }
    }

    /// Of the first line of this class.
    fn attribute(svg: &str, class: &str, name: &str) -> f64 {
        let (_, rest) = svg.split_once(&format!("class=\"{class}\"")).unwrap();
        rest.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn bars_are_as_long_as_their_figures_and_limits_lie_across() {
        let bars =
            || vec![Bar::new(Kind::Ours, "<1>", 10.0).limit(Some(20.0)), Bar::new(Kind::Other, "b", 1000.0)];
        let [linear, logarithmic] = [Axis::Linear, Axis::Logarithmic].map(|axis| chart(axis, bars()).svg());
        let ratio = |svg| attribute(svg, "other", "width") / attribute(svg, "ours", "width");
        assert!((ratio(&linear) - 100.0).abs() < 2.0, "{linear}");
        // From 5, the next round number below 10, to 1000.
        assert!((ratio(&logarithmic) - 200f64.log10() / 2f64.log10()).abs() < 0.1, "{logarithmic}");
        let limit = attribute(&linear, "limit", "x1") - attribute(&linear, "ours", "x");
        assert!((limit - 2.0 * attribute(&linear, "ours", "width")).abs() < 0.3, "{linear}");
        assert!(linear.contains(">&lt;1&gt;</text>") && linear.contains(">a &amp; b</text>"), "{linear}");
    }

    #[test]
    fn nothing_leaves_the_picture() {
        for axis in [Axis::Linear, Axis::Logarithmic] {
            for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e12] {
                let svg = chart(axis, vec![Bar::new(Kind::Floor, "x", value)]).svg();
                assert!((0.0..WIDTH).contains(&attribute(&svg, "floor", "width")), "{svg}");
                assert!(!svg.contains("\"NaN") && !svg.contains("\"inf"), "{svg}");
            }
            assert!(chart(axis, Vec::new()).svg().ends_with("</svg>\n"));
        }
    }
}
