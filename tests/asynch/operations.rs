//! Tables of the operations on a model; each reports its result.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use embedded_io_async::Read;
use embedded_safetensors::asynch::{Model, TensorReader, Values};
use embedded_safetensors::{
    ReadError, index::IndexStorage, metadata::MetadataError, query::Query, reader::Contiguous,
    validate::SortSlot, values::Element,
};
use serde::Deserialize;
use support::file::with_header;
use support::mock::Fault;
use support::waiting::Source;

/// The result, as text.
pub type Report = Result<String, ReadError<Fault>>;

/// Makes the file for an operation.
pub type MakeFile = fn() -> Vec<u8>;

type BoxedReport<'a> = Pin<Box<dyn Future<Output = Report> + 'a>>;

/// Opens a model in a borrowed source.
pub type Opening = for<'a, 's> fn(&'a mut Source<'s>) -> BoxedReport<'a>;
/// Queries a model.
pub type Lookup = for<'a, 's> fn(&'a mut Model<Source<'s>>) -> BoxedReport<'a>;
/// Reads from a tensor.
pub type Reading = for<'a, 'm, 's> fn(&'a mut TensorReader<'m, &'m mut Source<'s>>) -> BoxedReport<'a>;

/// The values of a tensor, exact or rounded.
pub type Reader<'m, 's, const ROUNDED: bool> = Values<&'m mut Source<'s>, Contiguous, ROUNDED>;
/// Reads values of a tensor.
pub type OfValues<const ROUNDED: bool> =
    for<'a, 'm, 's> fn(&'a mut Reader<'m, 's, ROUNDED>) -> BoxedReport<'a>;

/// The bytes of the tensor `long`.
pub const LONG: &[u8] = b"ABCDabcd1234";

/// Returns a file with three tensors out of order, and metadata.
pub fn file() -> Vec<u8> {
    let header = concat!(
        r#"{"__metadata__":{"unit":"seven","count":"12"},"#,
        r#""ab":{"dtype":"U8","shape":[],"data_offsets":[14,15]},"#,
        r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""long":{"dtype":"F32","shape":[3],"data_offsets":[2,14]}}"#,
    );
    let mut file = with_header(header, 0);
    file.extend([b"xy", LONG, b"!"].concat());
    file
}

/// Returns a file with two tensors in the order of their offsets.
pub fn file_in_order() -> Vec<u8> {
    let header = concat!(
        r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#,
    );
    let mut file = with_header(header, 0);
    file.extend(b"xyz");
    file
}

#[derive(Debug, Deserialize)]
struct Known<'v> {
    unit: &'v str,
    count: u8,
}

pub const OPENINGS: [(&str, MakeFile, Opening); 3] = [
    ("open", file_in_order, |source| {
        Box::pin(async move {
            let mut model = Model::open(source, &mut [0; 32]).await?;
            let a = model.find("a", &mut [0; 64]).await?;
            Ok(format!("{:?} {a:?}", model.summary()))
        })
    }),
    ("open_unordered", file, |source| {
        Box::pin(async move {
            let mut slots = [SortSlot::EMPTY; 2];
            let mut model = Model::open_unordered(source, &mut slots, &mut [0; 32]).await?;
            let a = model.find("a", &mut [0; 64]).await?;
            Ok(format!("{:?} {a:?}", model.summary()))
        })
    }),
    ("open_indexed", file, |source| {
        Box::pin(async move {
            let mut storage = IndexStorage::<3, 2, 7>::new();
            let (model, index) = Model::open_indexed(source, storage.memory(), &mut [0; 32]).await?;
            Ok(format!("{:?} {:?}", model.summary(), index.find("a").expect("valid file")))
        })
    }),
];

pub const LOOKUPS: [(&str, Lookup); 11] = [
    ("find", |model| Box::pin(async move { report_of(model.find("long", &mut [0; 16]).await) })),
    ("find_all", |model| {
        Box::pin(async move {
            let mut queries = [Query::required("ab"), Query::optional("b"), Query::required("long")];
            model.find_all(&mut queries, &mut [0; 16]).await?;
            Ok(format!("{:?}", queries.map(|one| one.info())))
        })
    }),
    ("visit", |model| {
        Box::pin(async move {
            let mut names = String::new();
            model.for_each(&mut [0; 8], &mut [0; 16], |entry| names += entry.name()).await?;
            Ok(names)
        })
    }),
    ("metadata", |model| {
        Box::pin(async move { report_of(model.metadata_value("unit", &mut [0; 8], &mut [0; 16]).await) })
    }),
    ("metadata", |model| {
        Box::pin(async move {
            let mut text = [0; 64];
            let metadata = model.metadata(&mut text, &mut [0; 16]).await?;
            Ok(format!("{:?}", metadata.map(|metadata| metadata.collect::<Vec<_>>())))
        })
    }),
    ("metadata_as", |model| {
        Box::pin(async move {
            let mut text = [0; 64];
            let known = model.metadata_as::<Known<'_>>(&mut text, &mut [0; 16]).await;
            known
                .map_err(unread)
                .map(|known| known.map_or("none".into(), |it| format!("{} {}", it.unit, it.count)))
        })
    }),
    ("metadata_value_as", |model| {
        Box::pin(async move {
            let mut text = [0; 64];
            let count = model.metadata_value_as::<u8>("count", &mut text, &mut [0; 16]).await;
            report_of(count.map_err(unread))
        })
    }),
    ("index", |model| {
        Box::pin(async move {
            let mut storage = IndexStorage::<4, 4, 16>::new();
            let index = model.build_index(storage.memory(), &mut [0; 16]).await?;
            Ok(index.by_offset().map(|tensor| tensor.name()).collect())
        })
    }),
    ("index_size", |model| Box::pin(async move { report_of(model.index_size(&mut [0; 16]).await) })),
    ("validate_names", |model| {
        Box::pin(async move {
            let mut slots = [SortSlot::EMPTY; 2];
            report_of(model.validate_names([1, 2], &mut slots, &mut [0; 4], &mut [0; 16]).await)
        })
    }),
    ("check_unchanged", |model| {
        Box::pin(async move { report_of(model.check_unchanged(&mut [0; 16]).await) })
    }),
];

pub const READINGS: [(&str, Reading); 5] = [
    ("next_chunk", |reader| Box::pin(async move { report_of(reader.next_chunk(&mut [0; 9]).await) })),
    ("read_to_end", |reader| Box::pin(async move { report_of(reader.read_to_end(&mut [0; 12]).await) })),
    ("read_at", |reader| {
        Box::pin(async move {
            let mut buffer = [0; 5];
            let len = reader.read_at(3, &mut buffer).await?;
            Ok(format!("{:?}", &buffer[..len]))
        })
    }),
    ("read", |reader| {
        Box::pin(async move {
            let mut buffer = [0; 5];
            let len = reader.read(&mut buffer).await?;
            Ok(format!("{:?}", &buffer[..len]))
        })
    }),
    ("read one byte", |reader| {
        Box::pin(async move {
            let mut buffer = [0; 1];
            let len = reader.read(&mut buffer).await?;
            Ok(format!("{:?}", &buffer[..len]))
        })
    }),
];

/// As `f64`, elements are converted in place; as `f32`, they are unchanged.
pub fn values<const ROUNDED: bool>() -> [(&'static str, OfValues<ROUNDED>); 5] {
    [
        ("read f64", |reader| Box::pin(async move { report_of(reader.read(&mut [0f64; 2]).await) })),
        ("read f32", |reader| Box::pin(async move { report_of(reader.read(&mut [0f32; 2]).await) })),
        ("read_exact one f64", |reader| Box::pin(exactly(reader, [0f64; 1]))),
        ("read_exact all f32", |reader| Box::pin(rest(reader, 0f32))),
        ("read_exact all f64", |reader| Box::pin(rest(reader, 0f64))),
    ]
}

async fn exactly<const ROUNDED: bool, T: Element + Debug, const N: usize>(
    reader: &mut Reader<'_, '_, ROUNDED>,
    mut values: [T; N],
) -> Report {
    report_of(reader.read_exact(&mut values).await.map(|()| values))
}

async fn rest<const ROUNDED: bool, T: Element + Debug>(
    reader: &mut Reader<'_, '_, ROUNDED>,
    zero: T,
) -> Report {
    let mut values = vec![zero; usize::try_from(reader.remaining()).expect("fits in usize")];
    report_of(reader.read_exact(&mut values).await.map(|()| values))
}

fn report_of(outcome: Result<impl Debug, ReadError<Fault>>) -> Report {
    outcome.map(|value| format!("{value:?}"))
}

fn unread(error: MetadataError<Fault>) -> ReadError<Fault> {
    match error {
        MetadataError::Read(error) => error,
        MetadataError::Decode(error) => panic!("{error}"),
    }
}
