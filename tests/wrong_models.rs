//! Models that are not the one that the program expects, through every API of the guide: none gives a number,
//! each gives a sentence that says what is wrong. The right model passes the same table.

use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::query::Query;
use embedded_safetensors::stream::{FileReceiver, Receiver, Target};
#[cfg(feature = "std")]
use embedded_safetensors::tensor::Located;
use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, View, WriteError, asynch, error::QueryIndex,
    index::IndexStorage, tensor::ANY_SIZE,
};
use std::convert::Infallible;
use std::ops::Range;
use support::executor::finish;
use support::file::with_header;

/// What the program expects.
const NET: [Query<'_>; 3] = [
    Query::required("fc.weight").dtype(Dtype::I8).shape(&[3, 8]),
    Query::required("fc.scale").dtypes(&[Dtype::F16, Dtype::BF16]).shape(&[3]),
    Query::required("fc.bias").dtype(Dtype::F32).shape(&[3]),
];

/// The entries of the right model, in the order of their data.
const RIGHT: [&str; 3] =
    [r#""fc.bias":{"dtype":"F32","shape":[3],"#, r#""fc.scale":{"dtype":"F16","shape":[3],"#, WEIGHT];
const WEIGHT: &str = r#""fc.weight":{"dtype":"I8","shape":[3,8],"#;
const LENS: [u64; 3] = [12, 6, 24];

/// Returns a file with these entries, whose tensors have so many bytes.
fn file(entries: &[&str], lens: &[u64]) -> Vec<u8> {
    let (mut begin, mut members) = (0, Vec::new());
    for (entry, len) in entries.iter().zip(lens) {
        members.push(format!("{entry}\"data_offsets\":[{begin},{}]}}", begin + len));
        begin += len;
    }
    let text = format!("{{{}}}", members.join(","));
    let mut file = with_header(&text, 0);
    file.extend((0..begin).map(|byte| byte.to_le_bytes()[0]));
    file
}

/// Returns the right model, in which the entry of this index is another one.
fn with(index: usize, entry: &str, len: u64) -> Vec<u8> {
    let (mut entries, mut lens) = (RIGHT, LENS);
    (entries[index], lens[index]) = (entry, len);
    file(&entries, &lens)
}

fn right() -> Vec<u8> {
    file(&RIGHT, &LENS)
}

fn cut(by: usize) -> Vec<u8> {
    let mut file = right();
    file.truncate(file.len() - by);
    file
}

/// A wrong model: what it is, the file, the tensor that the error is about, and the error's code and the end
/// of its sentence.
struct Wrong {
    what: &'static str,
    file: Vec<u8>,
    tensor: Option<&'static str>,
    code: &'static str,
    sentence: &'static str,
}

fn wrong(
    what: &'static str,
    file: Vec<u8>,
    tensor: Option<&'static str>,
    code: &'static str,
    sentence: &'static str,
) -> Wrong {
    Wrong { what, file, tensor, code, sentence }
}

fn wrong_models() -> Vec<Wrong> {
    let weight = Some("fc.weight");
    let (scale, bias) = (Some("fc.scale"), Some("fc.bias"));
    vec![
        wrong(
            "transposed",
            with(2, r#""fc.weight":{"dtype":"I8","shape":[8,3],"#, 24),
            weight,
            "usage.shape",
            "has size 8 on axis 0, but 3 was requested",
        ),
        wrong(
            "shorter",
            with(2, r#""fc.weight":{"dtype":"I8","shape":[2,8],"#, 16),
            weight,
            "usage.shape",
            "has size 2 on axis 0, but 3 was requested",
        ),
        wrong(
            "longer",
            with(2, r#""fc.weight":{"dtype":"I8","shape":[3,9],"#, 27),
            weight,
            "usage.shape",
            "has size 9 on axis 1, but 8 was requested",
        ),
        wrong(
            "empty",
            with(2, r#""fc.weight":{"dtype":"I8","shape":[0,8],"#, 0),
            weight,
            "usage.shape",
            "has size 0 on axis 0, but 3 was requested",
        ),
        wrong(
            "unsigned",
            with(2, r#""fc.weight":{"dtype":"U8","shape":[3,8],"#, 24),
            weight,
            "usage.dtype",
            "has dtype U8, but I8 was requested",
        ),
        wrong(
            "not quantised",
            with(2, r#""fc.weight":{"dtype":"F32","shape":[3,8],"#, 96),
            weight,
            "usage.dtype",
            "has dtype F32, but I8 was requested",
        ),
        wrong(
            "scale of another dtype",
            with(1, r#""fc.scale":{"dtype":"I16","shape":[3],"#, 6),
            scale,
            "usage.dtype",
            "has dtype I16, but F16 or BF16 was requested",
        ),
        wrong(
            "flat",
            with(2, r#""fc.weight":{"dtype":"I8","shape":[24],"#, 24),
            weight,
            "usage.rank",
            "has rank 1, but rank 2 was requested",
        ),
        wrong(
            "bias as a column",
            with(0, r#""fc.bias":{"dtype":"F32","shape":[3,1],"#, 12),
            bias,
            "usage.rank",
            "has rank 2, but rank 1 was requested",
        ),
        wrong(
            "scale of the entire tensor",
            with(1, r#""fc.scale":{"dtype":"F16","shape":[],"#, 2),
            scale,
            "usage.rank",
            "has rank 0, but rank 1 was requested",
        ),
        wrong(
            "missing",
            file(&[RIGHT[0], RIGHT[2]], &[12, 24]),
            scale,
            "usage.missing",
            "required tensor not found",
        ),
        wrong(
            "renamed",
            with(2, r#""fc.weights":{"dtype":"I8","shape":[3,8],"#, 24),
            weight,
            "usage.missing",
            "required tensor not found",
        ),
        wrong(
            "of another case",
            with(0, r#""fc.Bias":{"dtype":"F32","shape":[3],"#, 12),
            bias,
            "usage.missing",
            "required tensor not found",
        ),
        wrong(
            "swapped",
            file(
                &[
                    r#""fc.scale":{"dtype":"F32","shape":[3],"#,
                    r#""fc.bias":{"dtype":"F16","shape":[3],"#,
                    WEIGHT,
                ],
                &LENS,
            ),
            scale,
            "usage.dtype",
            "has dtype F32, but F16 or BF16 was requested",
        ),
        wrong(
            "with a duplicate name",
            file(&[RIGHT[0], RIGHT[1], WEIGHT, WEIGHT], &[12, 6, 24, 24]),
            None,
            "name.duplicate",
            "duplicate name",
        ),
        wrong(
            "with an offset that is wrong",
            with(2, WEIGHT, 23),
            None,
            "tensor.size",
            "span 23 bytes, but dtype and shape need 24",
        ),
        wrong("truncated", cut(1), None, "data.short", "the file has only 41"),
        wrong(
            "truncated in the header",
            cut(43),
            None,
            "container.header-beyond-file",
            "the file ends after",
        ),
        wrong("longer than its tensors", [right(), vec![0]].concat(), None, "data.trailing", ""),
        wrong("erased", vec![0xFF; 256], None, "container.header-too-large", "as in erased flash"),
        wrong("empty", Vec::new(), None, "container.short", "too short for the 8-byte length"),
    ]
}

/// An error, and the name of the tensor that it is about.
#[derive(Debug)]
struct Refusal {
    tensor: Option<String>,
    code: &'static str,
    sentence: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let tensor = error.tensor_name(&NET).map(str::to_owned);
        Self { tensor, code: error.kind.code(), sentence: error.to_string() }
    }
}

impl From<ReadError<Infallible>> for Refusal {
    fn from(error: ReadError<Infallible>) -> Self {
        let ReadError::Format(format) = error else { panic!("{error}") };
        assert_eq!(error.tensor_name(&NET), format.tensor_name(&NET));
        format.into()
    }
}

/// An API: it reads numbers from a model, all of which it has checked, or says why it does not.
type Api = fn(&[u8]) -> Result<(), Refusal>;

const APIS: &[(&str, Api)] = &[
    ("Model::open_with", open_with),
    ("Model::find_all", find_all),
    ("asynch::Model", asynchronous),
    ("View", view),
    ("Index", index),
    ("Receiver of values", receive_values),
    ("Receiver of bytes", receive_bytes),
    ("FileReceiver", receive_file),
    #[cfg(feature = "std")]
    ("FileModel", file_model),
    #[cfg(feature = "std")]
    ("MappedModel", mapped_model),
];

fn check_bias(bias: [f32; 3]) {
    assert_eq!(bias, [0x0302_0100, 0x0706_0504, 0x0B0A_0908].map(f32::from_bits));
}

/// Reads numbers by the queries that have found their tensors.
fn use_model(mut model: Model<&[u8]>, net: &[Query<'_>; 3]) -> Result<(), Refusal> {
    let mut bias = [0.0; 3];
    model.reader(&net[2])?.values().read_exact(&mut bias)?;
    check_bias(bias);
    let mut row = [0_i8; 8];
    model.reader(&net[0])?.row(0)?.read_exact(&mut row)?;
    assert_eq!(row, [18, 19, 20, 21, 22, 23, 24, 25]);
    Ok(())
}

fn open_with(file: &[u8]) -> Result<(), Refusal> {
    let mut net = NET;
    let model = Model::open_with(file, &mut net, &mut [0; 1])?;
    use_model(model, &net)
}

/// After an error, a query of a tensor that is not as requested stands for nothing.
fn find_all(file: &[u8]) -> Result<(), Refusal> {
    let mut net = NET;
    let mut model = Model::open(file, &mut [0; 64])?;
    let found = model.find_all(&mut net, &mut [0; 64]);
    if let Some(name) = found.as_ref().err().and_then(|error| error.tensor_name(&NET)) {
        let named = net.iter().find(|query| query.name() == name).expect("one of them");
        assert!(named.info().is_none(), "{name}");
    }
    for query in net.iter().filter(|query| query.info().is_none()) {
        assert!(model.reader(query).is_err(), "{query:?}");
    }
    found?;
    use_model(model, &net)
}

fn asynchronous(file: &[u8]) -> Result<(), Refusal> {
    finish(async {
        let mut net = NET;
        let mut model = asynch::Model::open_with(file, &mut net, &mut [0; 16]).await?;
        let mut bias = [0.0; 3];
        model.reader(&net[2])?.values().read_exact(&mut bias).await?;
        check_bias(bias);
        Ok(())
    })
}

fn view(file: &[u8]) -> Result<(), Refusal> {
    let (mut net, view) = (NET, View::parse(file)?);
    view.find_all(&mut net)?;
    let mut bias = [0.0; 3];
    view.tensor("fc.bias")?.reader().values().read_exact(&mut bias)?;
    check_bias(bias);
    Ok(())
}

/// Each tensor of an index is checked by itself, so the error has no number of a query.
fn index(file: &[u8]) -> Result<(), Refusal> {
    let mut storage = IndexStorage::<8, 16, 128>::new();
    let (mut model, index) = Model::open_indexed(file, storage.memory(), &mut [0; 64])?;
    let refusal = |name: &str, kind: ErrorKind| {
        let (tensor, code) = (Some(name.to_owned()), kind.code());
        Refusal { tensor, code, sentence: kind.to_string() }
    };
    for query in NET {
        let missing = ErrorKind::NotFound { query: QueryIndex::new(0) };
        let tensor = index.find(query.name())?.ok_or_else(|| refusal(query.name(), missing))?;
        query.check(&tensor).map_err(|kind| refusal(query.name(), kind))?;
    }
    let mut bias = [0.0; 3];
    let tensor = index.find("fc.bias")?.expect("checked");
    model.reader(&tensor)?.values().read_exact(&mut bias)?;
    check_bias(bias);
    Ok(())
}

fn receive_values(file: &[u8]) -> Result<(), Refusal> {
    let (mut weight, mut scale, mut bias) = ([0_i8; 24], [0.0_f32; 3], [0.0_f32; 3]);
    let targets = [
        Target::values(NET[0], &mut weight),
        Target::values(NET[1], &mut scale),
        Target::values(NET[2], &mut bias),
    ];
    let received = receive(file, Receiver::new(targets));
    if received.is_err() && !is_cut(file) {
        assert_eq!((weight, scale, bias), ([0; 24], [0.0; 3], [0.0; 3]), "numbers of a wrong model");
    }
    received?;
    check_bias(bias);
    Ok(())
}

/// What arrives before the end is missing cannot be taken back; the error says that it is not complete.
fn is_cut(file: &[u8]) -> bool {
    View::parse(file).is_err_and(|error| error.kind.code().starts_with("data."))
}

fn receive_bytes(file: &[u8]) -> Result<(), Refusal> {
    let (mut weight, mut scale, mut bias) = ([0; 24], [0; 6], [0; 12]);
    let targets =
        [Target::new(NET[0], &mut weight), Target::new(NET[1], &mut scale), Target::new(NET[2], &mut bias)];
    receive(file, Receiver::new(targets))?;
    assert_eq!(bias, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    Ok(())
}

fn receive(file: &[u8], mut receiver: Receiver<[Target<'_, '_>; 3]>) -> Result<(), Refusal> {
    for piece in file.chunks(5) {
        receiver.push(piece)?;
    }
    receiver.end_of_input()?;
    assert!(receiver.targets().iter().all(Target::is_complete));
    Ok(())
}

/// A file that is refused is never valid in the storage.
fn receive_file(file: &[u8]) -> Result<(), Refusal> {
    let mut storage = right();
    storage.resize(file.len(), 0xAA);
    let stored = store(file, &mut storage);
    let format = match stored {
        Ok(()) => {
            assert_eq!(storage, file);
            return open_with(&storage);
        }
        Err(WriteError::Format(error)) => error,
        Err(error) => panic!("{error}"),
    };
    assert!(View::parse(&storage).is_err(), "a wrong model is valid in the storage");
    Err(format.into())
}

fn store(file: &[u8], storage: &mut [u8]) -> Result<(), WriteError<Infallible>> {
    let (mut net, mut buffer) = (NET, [0; 24]);
    let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut net, &mut buffer)?;
    for piece in file.chunks(7) {
        receiver.push(piece)?;
    }
    receiver.finish().map(drop)
}

#[cfg(feature = "std")]
fn file_model(file: &[u8]) -> Result<(), Refusal> {
    use embedded_safetensors::FileModel;
    let dir = crate::files::temp_dir::TempDir::new();
    let model = FileModel::open(dir.put("m.safetensors", file)).map_err(of_file)?;
    for query in NET {
        let tensor = model.find(query.name())?;
        check(&query, tensor.as_ref())?;
    }
    let bias: Vec<f32> =
        model.find("fc.bias")?.expect("checked").reader().values().read_to_vec().expect("read");
    check_bias(bias.try_into().expect("three"));
    Ok(())
}

#[cfg(feature = "std")]
fn mapped_model(file: &[u8]) -> Result<(), Refusal> {
    let dir = crate::files::temp_dir::TempDir::new();
    let model = crate::files::mapped::open(&dir.put("m.safetensors", file)).map_err(of_file)?;
    for query in NET {
        let tensor = model.find(query.name())?;
        check(&query, tensor.as_ref())?;
    }
    let bytes = model.find("fc.bias")?.expect("checked").bytes().to_vec();
    assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    Ok(())
}

#[cfg(feature = "std")]
fn of_file(error: embedded_safetensors::file::FileError) -> Refusal {
    use embedded_safetensors::file::FileErrorKind;
    match error.into_parts().1 {
        FileErrorKind::Format(error) | FileErrorKind::Duplicate { error, .. } => error.into(),
        kind => panic!("{kind}"),
    }
}

#[cfg(feature = "std")]
fn check(query: &Query<'_>, tensor: Option<&impl Located>) -> Result<(), Refusal> {
    let missing = ErrorKind::NotFound { query: QueryIndex::new(0) };
    let checked = tensor.ok_or(missing).and_then(|tensor| query.check(tensor));
    checked.map_err(|kind| {
        let (tensor, code) = (Some(query.name().to_owned()), kind.code());
        Refusal { tensor, code, sentence: kind.to_string() }
    })
}

#[test]
fn right_model_passes_every_api() {
    for (name, api) in APIS {
        api(&right()).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
    }
}

#[test]
fn wrong_models_give_no_number() {
    let wrong_models = wrong_models();
    assert!(wrong_models.len() >= 20);
    for Wrong { what, file, tensor, code, sentence } in wrong_models {
        for (name, api) in APIS {
            let refusal = api(&file).expect_err(&format!("{name} accepts a model that is {what}"));
            assert_eq!(refusal.code, code, "{name}, {what}: {refusal:?}");
            assert_eq!(refusal.tensor.as_deref(), tensor, "{name}, {what}: {refusal:?}");
            let numbers: Vec<&str> = sentence.split("requested").collect();
            let all = numbers.iter().all(|part| refusal.sentence.contains(part.trim()));
            assert!(all, "{name}, {what}: {refusal:?}");
        }
    }
}

/// A set of dtypes and a free size accept what they are to accept, and the size is handed back.
#[test]
fn free_sizes_are_returned() {
    let mut net = [
        Query::required("fc.weight").shape(&[ANY_SIZE, 8]),
        Query::optional("fc.zero").dtype(Dtype::I8),
        Query::required("fc.scale").dtypes(&[]),
    ];
    let file = right();
    let error = Model::open_with(&file[..], &mut net, &mut [0; 64]).expect_err("no dtype is accepted");
    assert_eq!(error.tensor_name(&net), Some("fc.scale"));
    assert_eq!(net[0].info().expect("found").shape().dims(), [3, 8]);
    assert!(net[1].info().is_none() && net[2].info().is_none());
    let outcome = Query::required("x").shape(&[3, ANY_SIZE]).check(&net[0].info().expect("found"));
    assert_eq!(outcome, Ok(()));
}

/// Files whose header is right, and whose bytes are not those of the right model.
fn damaged_models() -> [(&'static str, Vec<u8>); 5] {
    let file = right();
    let data = file.len() - 42;
    let changed = |range: Range<usize>, change: fn(u8) -> u8| {
        let mut file = file.clone();
        file[range].iter_mut().for_each(|byte| *byte = change(*byte));
        file
    };
    let scale = data + 12..data + 18;
    [
        ("a flipped bit in the last byte", changed(file.len() - 1..file.len(), |byte| byte ^ 0x80)),
        ("a partition that was written in part", changed(file.len() - 20..file.len(), |_| 0xFF)),
        ("the data of an older version", changed(data..file.len(), |byte| byte + 1)),
        ("two files mixed", changed(data + 18..file.len(), |byte| byte ^ 1)),
        ("another scale", changed(scale, |byte| byte / 2)),
    ]
}

/// The sum that the program pins.
fn pinned() -> [u8; 32] {
    let file = right();
    Model::open(&file[..], &mut [0; 64]).expect("valid").sum(Sha256::new(), &mut [0; 7]).expect("in memory")
}

const SUMS: &[(&str, Api)] = &[
    ("Model::verify", |file| {
        let mut net = NET;
        let mut model = Model::open_with(file, &mut net, &mut [0; 64])?;
        model.verify(Sha256::new(), &pinned(), &mut [0; 64])?;
        use_model(model, &net)
    }),
    ("asynch::Model::verify", |file| {
        finish(async {
            let mut net = NET;
            let mut model = asynch::Model::open_with(file, &mut net, &mut [0; 64]).await?;
            Ok(model.verify(Sha256::new(), &pinned(), &mut [0; 64]).await?)
        })
    }),
    ("Sum beside a FileReceiver", |file| {
        let (mut storage, mut net, mut buffer) = (vec![0; file.len()], NET, [0; 24]);
        let mut receiver =
            FileReceiver::new(&mut storage[..], file.len() as u64, &mut net, &mut buffer).expect("fits");
        let mut sum = Sha256::new();
        for piece in file.chunks(9) {
            sum.update(piece);
            receiver.push(piece).expect("a valid header");
        }
        if sum.finish() == pinned() {
            receiver.finish().expect("complete");
            return open_with(&storage);
        }
        assert!(View::parse(&storage).is_err());
        Err(Refusal { tensor: None, code: "integrity.sum", sentence: String::new() })
    }),
];

#[test]
fn damaged_models_are_refused_by_the_pinned_sum() {
    for (name, api) in SUMS {
        api(&right()).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        for (what, file) in damaged_models() {
            let opened = Model::open_with(&file[..], &mut NET.clone(), &mut [0; 64]);
            assert!(opened.is_ok(), "{what}: only the sum can tell");
            let refusal = api(&file).expect_err(&format!("{name} accepts a model with {what}"));
            assert_eq!((refusal.code, refusal.tensor), ("integrity.sum", None), "{name}, {what}");
        }
    }
}

/// An index has tensors of any rank, also of one that looks small in its lowest byte.
#[test]
fn rank_of_an_indexed_tensor_is_not_cut() {
    let dims = vec!["1"; 258].join(",");
    let text = format!(r#"{{"a":{{"dtype":"U8","shape":[{dims}],"data_offsets":[0,1]}}}}"#);
    let file = with_header(&text, 1);
    let mut storage = IndexStorage::<1, 258, 1>::new();
    let (_, index) = Model::open_indexed(&file[..], storage.memory(), &mut [0; 64]).expect("valid");
    let tensor = index.find("a").expect("valid").expect("present");
    let outcome = Query::required("a").shape(&[1, 1]).check(&tensor);
    assert_eq!(outcome, Err(ErrorKind::RankMismatch { query: None, found: 255, asked: 2 }));
}
