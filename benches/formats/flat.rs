//! FlatBuffers: `table Features { features:[float]; }`, with the code that `flatc` would generate.

use bytemuck::{cast_slice, cast_slice_mut};
use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Table, VOffsetT, Vector, Verifiable,
    Verifier,
};

use crate::row::{Kind, Row};
use crate::shapes::BYTES;

/// The position of the only field in the vtable.
const FEATURES: VOffsetT = 4;

struct Features<'f>(Table<'f>);

impl<'f> Follow<'f> for Features<'f> {
    type Inner = Self;

    unsafe fn follow(buffer: &'f [u8], at: usize) -> Self {
        // SAFETY: the caller guarantees that there is such a table at this offset.
        Self(unsafe { Table::new(buffer, at) })
    }
}

impl Verifiable for Features<'_> {
    fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
        verifier
            .visit_table(at)?
            .visit_field::<ForwardsUOffset<Vector<'_, f32>>>("features", FEATURES, false)?
            .finish();
        Ok(())
    }
}

impl<'f> Features<'f> {
    fn features(&self) -> Vector<'f, f32> {
        // SAFETY: the verifier has checked that the field, if present, is such a vector.
        let field = unsafe { self.0.get::<ForwardsUOffset<Vector<'f, f32>>>(FEATURES, None) };
        field.expect("the table has the field")
    }
}

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| {
        values.clear();
        values.extend(vector(file));
    };
    let bytes = |file: &[u8], values: &mut Vec<f32>| cast_slice_mut(values).copy_from_slice(find(file));
    let encode = |features: &'static [f32]| {
        let mut builder = FlatBufferBuilder::new();
        move |file: &mut [u8]| encode(&mut builder, file, features)
    };
    let numbers_how = "verified, number by number, copied";
    vec![
        Row::memory(Kind::Other, ["FlatBuffers, numbers", numbers_how], encode(features), numbers),
        Row::memory(Kind::Other, ["FlatBuffers, bytes", BYTES], encode(features), bytes),
        Row::in_place(Kind::Other, ["FlatBuffers", "in place"], encode(features), find),
    ]
}

/// Encodes into the builder's memory, which is reused, and then copies to the file.
fn encode(builder: &mut FlatBufferBuilder<'_>, file: &mut [u8], features: &[f32]) -> usize {
    builder.reset();
    let vector = builder.create_vector(features);
    let table = builder.start_table();
    builder.push_slot_always(FEATURES, vector);
    let table = builder.end_table(table);
    builder.finish(table, None);
    let made = builder.finished_data();
    file[..made.len()].copy_from_slice(made);
    made.len()
}

fn vector(file: &[u8]) -> Vector<'_, f32> {
    flatbuffers::root::<Features<'_>>(file).expect("valid buffer").features()
}

fn find(file: &[u8]) -> &[u8] {
    cast_slice(vector(file).bytes())
}
