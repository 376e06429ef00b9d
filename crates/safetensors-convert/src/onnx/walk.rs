//! Walks the messages of a file in which tensors are.

use crate::error::{ensure, ensure_within};
use crate::pages::{Pages, Span};
use crate::proto::{Bytes, Fields, Known, Value, known};
use std::io;

/// The deepest messages in messages: three for a graph in a graph.
const DEEPEST: usize = 100;

/// Returns what the message in a field of another one is, if tensors can be in it: often the field's name.
fn inside(message: &str, field: u64) -> Option<&'static str> {
    let message = match message {
        "g" | "graphs" => "graph",
        "constant" => "node",
        "number" | "string" => "attribute",
        "initializer" | "t" | "tensors" => "tensor",
        _ => message,
    };
    Some(match (message, field) {
        ("model", 20) => "training_info",
        ("model", 25) => "functions",
        ("model", 7) | ("training_info", 1 | 2) => "graph",
        ("graph", 1) | ("functions", 7) => "node",
        ("graph", 5) => "initializer",
        ("graph", 15) => "sparse_initializer",
        ("node", 5) | ("functions", 11) => "attribute",
        ("attribute", 5) | ("sparse_initializer" | "sparse_tensor", 1 | 2) => "t",
        ("attribute", 6) => "g",
        ("attribute", 10) => "tensors",
        ("attribute", 11) => "graphs",
        ("attribute", 22 | 23) => "sparse_tensor",
        ("tensor", 3) => "segment",
        ("tensor", 13) => "external_data",
        _ => return None,
    })
}

/// Passes what each message is, its bytes, and the name of a tensor in it to `see`, before those inside.
pub fn walk(
    pages: &Pages<'_>,
    mut see: impl FnMut(&'static str, &Span<'_>, &dyn Fn() -> String) -> io::Result<()>,
) -> io::Result<()> {
    let whole = Span { pages, range: 0..pages.len };
    let fields: [Known<Span<'_>>; _] = [(1, "ir_version", Value::count), (7, "graph", Value::message)];
    let [version, graph] = known(whole.clone(), fields)?;
    ensure(version.is_some_and(|version| version.number > 0), || "the file has no version of ONNX")?;
    ensure(graph.is_some(), || "the file has no graph")?;
    // What each is, and its part of the name.
    let mut open = vec![("model", String::new(), Fields(whole))];
    while let Some((outer, _, fields)) = open.last_mut() {
        let Some(field) = fields.next() else {
            open.pop();
            continue;
        };
        let (number, value) = field?;
        let Some(inner) = inside(outer, number) else { continue };
        let bytes = value.message(inner)?.bytes;
        let at = bytes.range.start;
        let (inner, part) = part(outer, inner, &bytes)?;
        open.push((inner, part, Fields(bytes.clone())));
        ensure_within(open.len() <= DEEPEST, || {
            format!("byte {at}: more than {DEEPEST} messages in one another are not supported")
        })?;
        see(inner, &bytes, &|| open.iter().map(|(_, part, _)| &**part).collect())?;
    }
    Ok(())
}

/// Returns the part of a name that a message in another one has, and what it is in detail.
fn part(outer: &str, inner: &'static str, message: &Span<'_>) -> io::Result<(&'static str, String)> {
    let of = |field| {
        let own = known(message.clone(), [(field, "name", Value::message)]);
        own.and_then(|[own]| text(own))
    };
    Ok(match inner {
        "node" => {
            // An output that is not used has no name.
            let mut fields = Fields(message.clone()).flatten();
            let output = fields.find(|(number, output)| *number == 2 && output.bytes.left() > 0);
            let kind = if of(4)? == "Constant" { "constant" } else { inner };
            (kind, text(output.map(|(_, output)| output))?)
        }
        "attribute" => match &*of(1)? {
            "value" if outer == "constant" => (inner, String::new()),
            own if outer == "constant" && own.starts_with("value_string") => ("string", String::new()),
            own if outer == "constant" && own.starts_with("value_") => ("number", String::new()),
            own => (inner, format!(".{own}")),
        },
        "initializer" => (inner, of(8)?),
        "g" | "graphs" => (inner, "/".into()),
        _ => (inner, String::new()),
    })
}

/// Reads a key and its value.
pub fn pair(message: Span<'_>) -> io::Result<[String; 2]> {
    let fields: [Known<Span<'_>>; _] = [(1, "key", Value::message), (2, "value", Value::message)];
    let [key, value] = known(message, fields)?;
    Ok([text(key)?, text(value)?])
}

/// Returns a text that is there, or an empty one.
fn text(value: Option<Value<Span<'_>>>) -> io::Result<String> {
    value.map_or(Ok(String::new()), |value| value.bytes.pages.text(value.bytes.range))
}
