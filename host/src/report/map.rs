//! A file drawn to scale.

use crate::input::model::{Model, Part, Tensor};
use crate::report::Palette;
use crate::report::escape::escaped;
use crate::text::{counted, grouped, human};
use embedded_safetensors::Dtype;
use std::fmt::Write;

/// The width of a file, in units of the drawing.
const WIDTH: f64 = 1000.0;
/// The height of a file.
const HEIGHT: f64 = 56.0;
/// The most parts of all drawings together.
const MOST: f64 = 2000.0;

/// Neighbours that are drawn as one, because each is too narrow to be seen.
struct Segment<'m> {
    begin: u64,
    end: u64,
    tensors: u64,
    /// The one with most bytes.
    widest: Tensor<'m>,
    /// The bytes of each dtype, which have this share of the height.
    dtypes: Vec<(Dtype, u64)>,
}

impl<'m> Segment<'m> {
    fn of(tensor: Tensor<'m>) -> Self {
        let (begin, end) = (tensor.begin(), tensor.end());
        Self { begin, end, tensors: 1, widest: tensor, dtypes: vec![(tensor.dtype(), tensor.byte_len())] }
    }

    fn add(&mut self, tensor: Tensor<'m>) {
        (self.end, self.tensors) = (tensor.end(), self.tensors + 1);
        match self.dtypes.iter_mut().find(|(dtype, _)| *dtype == tensor.dtype()) {
            Some((_, bytes)) => *bytes += tensor.byte_len(),
            None => self.dtypes.push((tensor.dtype(), tensor.byte_len())),
        }
        if tensor.byte_len() > self.widest.byte_len() {
            self.widest = tensor;
        }
    }
}

/// The maps of all files, and the legend.
pub fn maps(model: &Model, palette: &Palette) -> String {
    let mut html = String::new();
    let parts = model.parts();
    for part in parts {
        let name = part.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        if parts.len() > 1 {
            let _ = write!(html, "<div class=n>{}</div>", escaped(&name));
        }
        html += &map(part, palette, WIDTH * parts.len() as f64 / MOST);
        let len = part.index().summary().file_len();
        let _ = write!(html, "<div class=scale><span>0</span><span>{} bytes</span></div>", grouped(len));
    }
    html += "<div class=key><span><i class=k></i>header</span>";
    for (dtype, class) in palette.entries() {
        let _ = write!(html, "<span><i class={class}></i>{dtype}</span>");
    }
    html + "</div>"
}

fn map(part: &Part, palette: &Palette, least: f64) -> String {
    let (summary, mut html) = (part.index().summary(), String::new());
    let scale = WIDTH / (summary.file_len().max(1) as f64);
    html += "<svg class=map viewBox=\"0 0 1000 56\" preserveAspectRatio=none role=img aria-label=\"layout of the file\">";
    let header = format!("header, {} bytes", grouped(summary.data_start));
    column(&mut html, &[("k".to_owned(), 1)], 0.0, summary.data_start as f64 * scale, &header);
    for segment in segments(part, |bytes| bytes as f64 * scale < least) {
        let Segment { begin, end, tensors, widest, mut dtypes } = segment;
        dtypes.sort_unstable_by_key(|(dtype, _)| palette.place(*dtype));
        let shape = widest.dims();
        let parts: Vec<_> = dtypes.into_iter().map(|(dtype, bytes)| (palette.class(dtype), bytes)).collect();
        let title = format!("{}, {} {:?}", widest.name(), widest.dtype(), &shape[..shape.len().min(16)]);
        let more = if tensors > 1 {
            format!(" and {}", counted(tensors - 1, "small tensor"))
        } else {
            String::new()
        };
        let title = format!("{title}{more}");
        let (from, to) = (summary.data_start + begin, summary.data_start + end);
        let title = format!("{title}, bytes {} to {}, {}", grouped(from), grouped(to), human(to - from));
        column(&mut html, &parts, from as f64 * scale, (to - from) as f64 * scale, &title);
    }
    html + "</svg>"
}

fn segments(part: &Part, is_narrow: impl Fn(u64) -> bool) -> Vec<Segment<'_>> {
    let mut list: Vec<Segment<'_>> = Vec::new();
    for tensor in part.tensors().filter(|tensor| tensor.byte_len() > 0) {
        match list.last_mut() {
            Some(last) if is_narrow(last.end - last.begin) => last.add(tensor),
            _ => list.push(Segment::of(tensor)),
        }
    }
    list
}

/// A column with a part for each of these classes, of which each has a share of the height.
fn column(html: &mut String, parts: &[(String, u64)], x: f64, width: f64, title: &str) {
    // Gaps between neighbours, which leave most of a narrow one.
    let (title, width) = (escaped(title), width - (width / 8.0).min(0.8));
    let (all, mut sum) = (parts.iter().map(|(_, share)| share).sum::<u64>().max(1) as f64, 0);
    let y = |sum: u64| (sum as f64 / all * HEIGHT * 10.0).round() / 10.0;
    let _ = write!(html, "<g><title>{title}</title>");
    for (class, share) in parts {
        let (top, bottom) = (y(sum), y(sum + share));
        sum += share;
        let height = bottom - top;
        let _ = write!(html, "<rect class={class} x={x:.2} y={top} width={width:.2} height={height:.1} />");
    }
    html.push_str("</g>");
}
