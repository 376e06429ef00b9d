//! `report`: one HTML page about a model, which needs nothing else.

mod escape;
mod map;
mod tree;

use crate::input::model::Model;
use crate::lint::Finding;
use crate::print::facts::Facts;
use crate::tensor::stats::Row;
use crate::text::share_of;
use crate::text::{counted, grouped, human};
use embedded_safetensors::{Dtype, validate::Summary};
use escape::{beginning, escaped, label, script_hash};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The most findings of each code that are listed.
const FINDINGS: usize = 10;
/// The longest key or value of the metadata that is shown whole, in characters, and the most pairs.
const VALUE: usize = 2000;
const PAIRS: usize = 200;

/// A colour for each dtype of a model, in order of appearance: eight colours in three shades.
pub struct Palette(Vec<Dtype>);

impl Palette {
    /// The class attribute's value: the colour, and from the ninth dtype on its shade.
    fn class(&self, dtype: Dtype) -> String {
        let place = self.place(dtype);
        match place / 8 {
            0 => format!("c{place}"),
            shade => format!("\"c{} s{shade}\"", place % 8),
        }
    }

    fn place(&self, dtype: Dtype) -> usize {
        self.0.iter().position(|known| *known == dtype).unwrap_or(0)
    }

    fn entries(&self) -> impl Iterator<Item = (Dtype, String)> {
        self.0.iter().map(|dtype| (*dtype, self.class(*dtype)))
    }
}

/// The page about a valid model.
pub fn valid(name: &str, model: &Model, rows: &[Row<'_>], findings: &[Finding]) -> String {
    let mut facts = Facts::new(&Summary { tensors: 0, data_start: 0, data_len: 0 }, 2);
    for row in rows {
        facts.count(row.tensor.dtype(), row.tensor.elements(), row.tensor.byte_len());
    }
    let palette = Palette(facts.by_dtype.iter().map(|of| of.dtype).collect());
    let files = match model.index() {
        Some(_) => format!(" in {}", counted(model.parts().len() as u64, "file")),
        None => String::new(),
    };
    let mut body = format!("<span class=\"verdict ok\">valid</span> <span class=dim>{files}</span>");
    body += &cards(model, rows, &facts);
    let _ = write!(body, "<h2>Layout</h2><div class=box>{}</div>", map::maps(model, &palette));
    let _ = write!(body, "<h2>Findings</h2><div class=box>{}</div>", lint(findings));
    let _ = write!(body, "<h2>Dtypes</h2><div class=box>{}</div>", dtypes(&facts, &palette));
    let _ = write!(body, "<h2>Metadata</h2><div class=box>{}</div>", metadata(model));
    let _ = write!(body, "<h2>Tensors</h2><div class=box id=tree>{}</div>", tree::tree(rows, &palette));
    page(name, &body)
}

/// The page about an invalid file: what `check` says of it.
pub fn invalid(name: &str, verdict: &str) -> String {
    let (sentence, excerpt) = verdict.split_once('\n').unwrap_or((verdict, ""));
    let lines = excerpt.lines().map(|line| escaped(line.strip_prefix("    ").unwrap_or(line)));
    let excerpt = lines.collect::<Vec<_>>().join("\n");
    let excerpt =
        if excerpt.is_empty() { String::new() } else { format!("<pre class=excerpt>{excerpt}</pre>") };
    let sentence = escaped(sentence);
    let body = format!(
        "<span class=\"verdict no\">invalid</span><h2>What is wrong</h2>\
         <div class=box><div>{sentence}</div>{excerpt}</div>"
    );
    page(name, &body)
}

fn page(name: &str, body: &str) -> String {
    let (name, hash, version) = (escaped(name), script_hash(SCRIPT), env!("CARGO_PKG_VERSION"));
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{hash}'\">\n\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>{name}</title>\n\
         <style>{STYLE}</style></head>\n<body><main><h1>{name}</h1>\n{body}\n\
         <footer>safetensors report {version}</footer></main>\n<script>{SCRIPT}</script></body></html>\n"
    )
}

fn cards(model: &Model, rows: &[Row<'_>], facts: &Facts) -> String {
    let header: u64 = model.parts().iter().map(|part| part.index().summary().data_start).sum();
    let odd: u64 = rows.iter().map(|row| row.part.nan + row.part.infinities()).sum();
    let cards = [
        (grouped(rows.len() as u64), "tensors"),
        (grouped(facts.parameters()), "parameters"),
        (human(model.file_lens()), "in all"),
        (human(header), "of header"),
        (grouped(odd), "NaN or infinite values"),
    ];
    let card =
        |(number, what): (String, &str)| format!("<div class=card><b>{number}</b><span>{what}</span></div>");
    format!("<div class=cards>{}</div>", cards.map(card).concat())
}

fn lint(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "<span class=ok>No findings.</span>".to_owned();
    }
    let mut html = String::from(
        "<table class=lint><thead><tr><th>level<th>code<th>finding<th>what to do</tr></thead><tbody>",
    );
    for group in findings.chunk_by(|one, other| one.code == other.code) {
        let (code, more) = (group[0].code, group.len().saturating_sub(FINDINGS));
        let level = code.level().name();
        let _ = write!(html, "<tr><td class=\"l {level}\">{level}<td class=m>{}<td>", code.name());
        for finding in group.iter().take(FINDINGS) {
            let file = finding.file.as_ref().map_or(String::new(), |file| format!(" of {}", escaped(file)));
            let tensor = finding
                .tensor
                .as_deref()
                .map_or(String::new(), |name| format!("<code>{}</code>: ", label(name)));
            let (message, at) = (escaped(&finding.message), grouped(finding.at));
            let _ = write!(html, "<div>{tensor}{message} <span class=dim>at byte {at}{file}</span></div>");
        }
        if more > 0 {
            let _ = write!(
                html,
                "<div class=dim>and {} more, which <code>safetensors lint --json</code> lists</div>",
                grouped(more as u64)
            );
        }
        let _ = write!(html, "<td class=dim>{}</tr>", commands(code.advice()));
    }
    html + "</tbody></table>"
}

/// A word of a command. Browsers would break an option after a hyphen.
fn word(word: &str) -> String {
    match word.starts_with('-') {
        true => format!("<span class=w>{}</span>", escaped(word)),
        false => escaped(word),
    }
}

/// A sentence with commands between backticks.
fn commands(text: &str) -> String {
    let mark = |(index, part): (usize, &str)| match index % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", part.split(' ').map(word).collect::<Vec<_>>().join(" ")),
    };
    text.split('`').enumerate().map(mark).collect()
}

fn dtypes(facts: &Facts, palette: &Palette) -> String {
    let all: u128 = facts.by_dtype.iter().map(|of| of.bytes).sum();
    let mut html = String::from(
        "<table><tr><th>dtype<th class=r>tensors<th class=r>parameters<th class=r>size<th class=\"r wide\">share</tr>",
    );
    for of in &facts.by_dtype {
        let _ = write!(
            html,
            "<tr><td><span class=key><span><i class={}></i>{}</span></span><td class=r>{}<td class=r>{}<td class=r>{}<td class=\"r wide\">{}</tr>",
            palette.class(of.dtype),
            of.dtype,
            grouped(of.tensors),
            grouped(of.elements),
            human(of.bytes),
            share_of(of.bytes, all)
        );
    }
    html + "</table>"
}

fn metadata(model: &Model) -> String {
    let Some(pairs) = model.metadata().filter(|pairs| !pairs.is_empty()) else {
        return "<span class=dim>None.</span>".to_owned();
    };
    let mut html = String::from("<table class=meta>");
    for (key, value) in pairs.iter().take(PAIRS) {
        let (key, value) = (beginning(key, VALUE), beginning(value, VALUE));
        let _ = write!(html, "<tr><td class=n>{key}<td><pre>{value}</pre></tr>");
    }
    html += "</table>";
    let more = pairs.len().saturating_sub(PAIRS) as u64;
    if more > 0 {
        let _ = write!(html, "<p class=dim>And {} more.</p>", grouped(more));
    }
    html
}

#[cfg(test)]
mod tests {
    use super::{page, script_hash};

    /// No other script may run, whatever a browser takes for one. The policy comes before the first text of a
    /// file.
    #[test]
    fn the_policy_allows_only_the_script_of_the_page() {
        let page = page("MODEL", "body");
        let (before, rest) = page.split_once("<script>").expect("a script");
        let (script, after) = rest.split_once("</script>").expect("its end");
        let policy = format!(
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'sha256-{}'\">\n",
            script_hash(script)
        );
        let (head, _) = before.split_once("MODEL").expect("the name");
        assert!(before.contains(&policy) && !after.contains("<script"), "{page}");
        assert!(head.contains("http-equiv=Content-Security-Policy"), "{head}");
    }
}
