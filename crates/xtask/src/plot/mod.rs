//! Bars of figures as SVG, for the pages of the report: text stays text, the colours follow the reader's light or
//! dark page, and the same figures always give the same bytes.

mod scale;

use crate::measure::number;
use scale::Scale;

pub use scale::Axis;

/// A picture: what it shows in a line, what its axis counts in another, and groups of bars below one another.
pub struct Chart {
    pub title: String,
    pub about: String,
    pub axis: Axis,
    pub groups: Vec<Group>,
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

/// Whose figure a bar shows, which sets its colour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ours,
    Reference,
    Floor,
    Other,
}

impl Kind {
    const fn class(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Reference => "reference",
            Self::Floor => "floor",
            Self::Other => "other",
        }
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
const THICK: f64 = 14.0;
/// Title, what the axis counts, and some air.
const HEAD: f64 = 70.0;
const TICKS: f64 = 26.0;
/// What a letter takes at most on average, in the widest of the fonts that the style asks for.
const LETTER: f64 = 8.0;

impl Chart {
    pub fn svg(&self) -> String {
        let area = Area::of(self);
        let (mut svg, height) = (String::new(), area.bottom + TICKS + MARGIN / 2.0);
        let (title, about) = (escaped(&self.title), escaped(&self.about));
        let size = format!("width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\"");
        line(&mut svg, &format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size} role=\"img\">"));
        line(&mut svg, &format!("<title>{title}</title>\n<desc>{about}</desc>\n<style>{STYLE}</style>"));
        let ground = format!("width=\"{}\" height=\"{}\" rx=\"6\"", WIDTH - 1.0, height - 1.0);
        line(&mut svg, &format!("<rect class=\"ground\" x=\"0.5\" y=\"0.5\" {ground}/>"));
        text(&mut svg, "title", (MARGIN, 28.0), &self.title);
        text(&mut svg, "about", (MARGIN, 48.0), &self.about);
        area.draw_ticks(&mut svg);
        area.draw_groups(&mut svg, &self.groups);
        svg + "</svg>\n"
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }
}

/// Where the bars stand.
struct Area {
    left: f64,
    width: f64,
    bottom: f64,
    scale: Scale,
}

impl Area {
    fn of(chart: &Chart) -> Self {
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0) as f64 * LETTER;
        let labels = longest(&mut chart.bars().map(|bar| bar.label.chars().count()));
        let shown = longest(&mut chart.bars().map(|bar| bar.shown.chars().count()));
        let left = MARGIN + labels + 8.0;
        let rows: usize = chart.groups.iter().map(Group::rows).sum();
        let values = chart.bars().flat_map(|bar| [Some(bar.value), bar.limit]).flatten();
        Self {
            left,
            width: (WIDTH - left - shown - MARGIN - 8.0).max(100.0),
            bottom: HEAD + rows as f64 * ROW,
            scale: Scale::over(chart.axis, values),
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.left + self.width * self.scale.part(value)
    }

    fn draw_ticks(&self, svg: &mut String) {
        let mut free = 0.0;
        for tick in self.scale.ticks() {
            let x = self.at(tick);
            let ends =
                format!("x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"", HEAD - 6.0, self.bottom + 4.0);
            line(svg, &format!("<line class=\"grid\" {ends}/>"));
            let place = format!("x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\"", self.bottom + 18.0);
            let words = number(tick);
            let half = words.len() as f64 * LETTER / 2.0;
            if x - half >= free {
                line(svg, &format!("<text class=\"tick\" {place}>{words}</text>"));
                free = x + half;
            }
        }
    }

    fn draw_groups(&self, svg: &mut String, groups: &[Group]) {
        let mut top = HEAD;
        for group in groups {
            if !group.name.is_empty() {
                text(svg, "group", (MARGIN, top + 15.0), &group.name);
                top += ROW;
            }
            for bar in &group.bars {
                self.draw_bar(svg, bar, top);
                top += ROW;
            }
        }
    }

    fn draw_bar(&self, svg: &mut String, bar: &Bar, top: f64) {
        let (end, base) = (self.at(bar.value), top + 15.0);
        let weight = if bar.kind == Kind::Ours { "mine" } else { "label" };
        text(svg, weight, (MARGIN, base), &bar.label);
        let size = format!("width=\"{:.1}\" height=\"{THICK}\" rx=\"2\"", end - self.left);
        let place = format!("x=\"{:.1}\" y=\"{}\"", self.left, top + 4.0);
        line(svg, &format!("<rect class=\"{}\" {place} {size}/>", bar.kind.class()));
        let limit = bar.limit.map(|limit| self.at(limit));
        if let Some(x) = limit {
            let ends =
                format!("x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"", top + 2.0, top + THICK + 6.0);
            line(svg, &format!("<line class=\"limit\" {ends}/>"));
        }
        let behind = limit.map_or(end, |limit| end.max(limit));
        text(svg, weight, (behind + 6.0, base), &bar.shown);
    }
}

impl Group {
    fn rows(&self) -> usize {
        self.bars.len() + usize::from(!self.name.is_empty())
    }
}

fn line(svg: &mut String, text: &str) {
    svg.push_str(text);
    svg.push('\n');
}

fn text(svg: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    line(svg, &format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{}</text>", escaped(text)));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
