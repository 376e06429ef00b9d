//! Reads the files that the Python package has written.

use embedded_safestructures::{
    Error, Event, Frame, FromNode, Key, LoadError, Node, Structure, Tree, TreeFrame, write,
};
use embedded_safetensors::metadata::JsonStr;
use embedded_safetensors::{Model, View};

fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/structures/files");
    std::fs::read(format!("{folder}/{name}.safetensors")).expect("a committed file")
}

/// Calls a function with the structure of a committed file.
fn with<T>(name: &str, see: impl FnOnce(Structure<'_>) -> T) -> T {
    let (file, mut text) = (file(name), [0; 2048]);
    let view = View::parse(&file).expect("a valid file");
    see(Structure::of_view(&view, &mut text).expect("a valid structure").expect("a structure"))
}

/// Prints all events, one a line.
fn printed(structure: Structure<'_>) -> String {
    let (mut frames, mut lines) = ([Frame::NONE; 3], String::new());
    let mut walk = structure.walk(&mut frames);
    while let Some(event) = walk.next().expect("a valid structure") {
        let Event::Value { key, value, depth, .. } = event else { continue };
        lines += &"  ".repeat(depth);
        let separator = if matches!(key, Key::Root) { "" } else { ": " };
        lines += &format!("{key}{separator}{value}\n");
    }
    lines
}

#[test]
fn each_type_is_an_event() {
    assert_eq!(
        with("training", printed),
        r#"dict of 8
  ["epoch"]: int 7
  ["lr"]: float 0.015625
  ["note"]: str "läuft\n\"gut\""
  ["shuffle"]: bool true
  ["layers"]: list of 2
    [0]: dict of 2
      ["weight"]: tensor "0"
      ["bias"]: tensor "1"
    [1]: dict of 2
      ["weight"]: tensor "2"
      ["bias"]: None
  ["shape"]: tuple of 3
    [0]: int 3
    [1]: int 4
    [2]: tuple of 2
      [0]: int 2
      [1]: int 3
  ["labels"]: dict of 2
    [0]: str "no"
    [1]: str "yes"
  ["empty"]: list of 0
"#
    );
    assert_eq!(
        with("dataclass", printed),
        "dataclass of 3\n  .name: str \"sgd\"\n  .lr: float 1e-05\n  .momentum: tensor \"0\"\n"
    );
    assert_eq!(
        with("own-type", printed),
        "list of 2\n  [0]: type \"sensors.Range\": [-40, 85.5]\n  [1]: dict of 2\n    [(1, 2)]: set of 1\n      \
         [0]: int 3\n    [4]: complex (1+2j)\n"
    );
    assert_eq!(
        with("no-tensors", printed),
        "list of 3\n  [0]: int 1\n  [1]: float inf\n  [2]: int -1000000000000000000000000000000\n"
    );
}

/// A type that the Python script has, too.
#[derive(Debug, PartialEq)]
struct Range<'t> {
    low: i32,
    high: f64,
    unit: JsonStr<'t>,
}

impl<'t> FromNode<'t> for Range<'t> {
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        let mut ends = node.own("sensors.Range")?.items().filter_map(|end| end.as_number());
        let low = ends.next().and_then(|end| end.parse().ok()).ok_or(node.wrong())?;
        let high = ends.next().and_then(|end| end.parse().ok()).ok_or(node.wrong())?;
        Ok(Self {
            low,
            high,
            unit: node.extra("unit").and_then(|unit| unit.as_string()).ok_or(node.wrong())?,
        })
    }
}

#[test]
fn values_are_read_by_their_paths() {
    with("training", |structure| {
        let root = structure.root();
        assert_eq!(root.get("epoch")?.read(), Ok(7_u8));
        assert_eq!(root.get("lr")?.read(), Ok(0.015625_f32));
        assert_eq!(root.get("epoch")?.read(), Ok(7.0_f64));
        assert_eq!(root.get("shuffle")?.read(), Ok(true));
        assert_eq!(root.get("note")?.read::<JsonStr<'_>>()?.to_string(), "läuft\n\"gut\"");
        assert_eq!(root.get("labels")?.get("1")?.read(), Ok("yes"));
        assert_eq!(root.get("shape")?.item(2)?.read(), Ok([2_i64, 3]));
        assert_eq!(root.get("layers")?.item(1)?.get("bias")?.read(), Ok(None::<u8>));
        assert_eq!(root.get("epoch")?.read(), Ok(Some(7_i16)));
        assert_eq!(root.get("empty")?.read(), Ok([0_u32; 0]));
        Ok::<(), Error>(())
    })
    .expect("values");
    with("own-type", |structure| {
        let range = structure.root().item(0)?.read::<Range<'_>>()?;
        assert_eq!((range.low, range.high, range.unit.as_str()), (-40, 85.5, Some("degree")));
        assert_eq!(structure.root().item(1)?.read::<Range<'_>>().unwrap_err().kind.code(), "usage.type");
        Ok::<(), Error>(())
    })
    .expect("values");
    with("dataclass", |structure| {
        assert_eq!(structure.root().get("name")?.read(), Ok("sgd"));
        assert_eq!(structure.root().get("lr")?.read(), Ok(1e-05));
        Ok::<(), Error>(())
    })
    .expect("values");
    with("no-tensors", |structure| {
        assert_eq!(structure.root().item(1)?.read(), Ok(f32::INFINITY));
        assert_eq!(structure.root().item(2)?.read::<i64>().unwrap_err().kind.code(), "usage.number");
        Ok::<(), Error>(())
    })
    .expect("values");
}

#[test]
fn tensors_are_found_in_the_model() {
    let (file, mut text, mut window) = (file("training"), [0; 2048], [0; 16]);
    let mut model = Model::open(&file[..], &mut window).expect("a valid file");
    let structure = Structure::of_model(&mut model, &mut text, &mut window);
    let structure = structure.expect("a valid structure").expect("a structure");
    let layer = structure.root().get("layers").and_then(|layers| layers.item(0)).expect("a layer");
    let bias = layer.get("bias").expect("a bias").find(&mut model, &mut window).expect("a tensor");
    let mut values = [0.0_f32; 3];
    model.reader(&bias).map(|reader| reader.values()).expect("a tensor").read_exact(&mut values).unwrap();
    assert_eq!(values, [0.5, -0.25, 2.0]);
    let error = layer.find(&mut model, &mut window).unwrap_err();
    assert!(matches!(error, LoadError::Structure(error) if error.kind.code() == "usage.type"));
}

#[test]
fn a_schema_is_read_through_any_window_and_into_just_enough_memory() {
    let file = file("training");
    let schema = with("training", |structure| structure.schema().to_owned());
    for window in 1..64 {
        let (mut text, mut window) = (vec![0; schema.len()], vec![0; window]);
        let mut model = Model::open(&file[..], &mut window).expect("a valid file");
        let structure = Structure::of_model(&mut model, &mut text, &mut window);
        assert_eq!(structure.unwrap().unwrap().schema(), schema);
    }
    let mut model = Model::open(&file[..], &mut [0; 64]).expect("a valid file");
    let mut text = vec![0; schema.len() - 1];
    let error = Structure::of_model(&mut model, &mut text, &mut [0; 64]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error[limit.schema] at byte 0 of the schema: buffer too small for the schema: 1674 bytes needed, 1673 \
         available"
    );
}

#[test]
fn a_schema_is_written_as_python_writes_it() {
    let layers = [
        Tree::Dict(&[(Tree::Str("weight"), Tree::Tensor("0")), (Tree::Str("bias"), Tree::Tensor("1"))]),
        Tree::Dict(&[(Tree::Str("weight"), Tree::Tensor("2")), (Tree::Str("bias"), Tree::None)]),
    ];
    let shape = [Tree::Int(3), Tree::Int(4), Tree::Tuple(&[Tree::Int(2), Tree::Int(3)])];
    let labels = [(Tree::Int(0), Tree::Str("no")), (Tree::Int(1), Tree::Str("yes"))];
    let root = [
        (Tree::Str("epoch"), Tree::Int(7)),
        (Tree::Str("lr"), Tree::Float(0.015625)),
        (Tree::Str("note"), Tree::Str("läuft\n\"gut\"")),
        (Tree::Str("shuffle"), Tree::Bool(true)),
        (Tree::Str("layers"), Tree::List(&layers)),
        (Tree::Str("shape"), Tree::Tuple(&shape)),
        (Tree::Str("labels"), Tree::Dict(&labels)),
        (Tree::Str("empty"), Tree::List(&[])),
    ];
    let expected = with("training", |structure| structure.schema().to_owned());
    let (mut frames, mut text) = ([TreeFrame::NONE; 3], vec![0; expected.len()]);
    assert_eq!(write(&Tree::Dict(&root), &mut frames, &mut text), Ok(&*expected));

    for len in 0..expected.len() {
        let error = write(&Tree::Dict(&root), &mut frames, &mut text[..len]).unwrap_err();
        let numbers = format!("1674 bytes needed, {len} available");
        assert!(error.to_string().ends_with(&numbers), "{error}");
    }
    let error = write(&Tree::Dict(&root), &mut frames[..2], &mut text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error[limit.frames] at byte 281 of the schema: too many levels: 3 frames needed, 2 available"
    );
}

#[test]
fn what_is_written_is_read_again() {
    let root = [
        Tree::Own("sensors.Range", "[-40, 85.5]"),
        Tree::Set(&[Tree::Bool(false), Tree::Float(1e300), Tree::Float(f64::NAN), Tree::Int(i64::MIN)]),
        Tree::Dict(&[(Tree::None, Tree::None), (Tree::Bool(true), Tree::Str("\u{1F600}\u{7f}\u{8}\t\\"))]),
        Tree::Dataclass(&[("a", Tree::Tensor("weight \"0\""))]),
    ];
    let (mut frames, mut text) = ([TreeFrame::NONE; 2], [0; 1024]);
    let schema = write(&Tree::List(&root), &mut frames, &mut text).expect("enough memory");
    assert!(schema.is_ascii());
    assert_eq!(
        printed(Structure::parse(schema).expect("a valid schema")),
        r#"list of 4
  [0]: type "sensors.Range": [-40, 85.5]
  [1]: set of 4
    [0]: bool false
    [1]: float 1e300
    [2]: float nan
    [3]: int -9223372036854775808
  [2]: dict of 2
    [None]: None
    [True]: str "😀\u{7f}\u{8}\t\\"
  [3]: dataclass of 1
    .a: tensor "weight \"0\""
"#
    );
    let tuple = [(Tree::Tuple(&[]), Tree::None)];
    let error = write(&Tree::Dict(&tuple), &mut frames, &mut text).unwrap_err();
    assert!(error.to_string().ends_with("a key must be None, a boolean, a number or a text"), "{error}");
    let error = write(&Tree::Own("a.B", "[1"), &mut frames, &mut text).unwrap_err();
    assert_eq!(error.kind.code(), "json.end");
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let mut memory = [0; 8192];
    let mut code = |tree: &Tree<'_>| {
        let result = write(tree, &mut [TreeFrame::NONE; 70], &mut memory);
        result
            .map(|text| Structure::parse(text).expect("a schema to read"))
            .map_err(|error| error.kind.code())
            .err()
    };
    for keys in [
        [Tree::Int(1), Tree::Str("1")],
        [Tree::Str("a"), Tree::Str("a")],
        [Tree::Str("True"), Tree::Bool(true)],
        [Tree::Float(f64::NAN), Tree::Float(f64::NAN)],
        [Tree::Int(1), Tree::Float(1.0)],
        [Tree::Bool(true), Tree::Int(1)],
        [Tree::Float(-0.0), Tree::Bool(false)],
        [Tree::Float(0.0), Tree::Float(-0.0)],
        [Tree::Int(i64::MIN), Tree::Float(-9_223_372_036_854_775_808.0)],
    ] {
        assert_eq!(
            code(&Tree::Dict(&keys.map(|key| (key, Tree::None)))),
            Some("usage.duplicate"),
            "{keys:?}"
        );
    }
    for keys in [
        [Tree::Int(1), Tree::Float(1.5)],
        [Tree::Int(i64::MAX), Tree::Float(9_223_372_036_854_775_808.0)],
        [Tree::Float(1e300), Tree::Float(-1e300)],
        [Tree::None, Tree::Bool(false)],
    ] {
        assert_eq!(code(&Tree::Dict(&keys.map(|key| (key, Tree::None)))), None, "{keys:?}");
    }
    assert_eq!(
        code(&Tree::Dataclass(&["a", "b", "a"].map(|name| (name, Tree::None)))),
        Some("usage.duplicate")
    );
    assert_eq!(code(&Tree::Own("int", "7")), Some("usage.name"));
    assert_eq!(code(&Tree::Own("numpy.ndarray", "7")), Some("usage.name"));

    let own = [Tree::Own("a.B", "7")];
    let deep: &mut Vec<Tree<'static>> = &mut vec![Tree::List(Box::leak(Box::new(own)))];
    for _ in 1..62 {
        let inner = Box::leak(Box::new([*deep.last().expect("a tree")]));
        deep.push(Tree::Dict(Box::leak(Box::new([(Tree::None, inner[0])]))));
    }
    assert_eq!(code(&deep[61]), None);
    assert_eq!(code(&Tree::List(&[deep[61]])), Some("json.depth"));
    assert_eq!(code(&Tree::Own("a.B", &format!("{}{}", "[".repeat(124), "]".repeat(124)))), None);
    let nested = format!("{}{}", "[".repeat(123), "]".repeat(123));
    assert_eq!(code(&Tree::List(&[Tree::Own("a.B", &nested)])), Some("json.depth"));
}

/// A tree that contains itself takes more levels than there are frames.
#[test]
fn a_cycle_ends() {
    static CYCLE: [Tree<'_>; 1] = [Tree::List(&CYCLE)];
    let error = write(&Tree::List(&CYCLE), &mut [TreeFrame::NONE; 9], &mut [0; 64]).unwrap_err();
    assert!(error.to_string().ends_with("too many levels: 10 frames needed, 9 available"), "{error}");
}
