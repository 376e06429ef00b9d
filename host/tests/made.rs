//! Small files of other formats, made by hand as their own programs write them. The fuzzers of the readers
//! begin with them, too.

#[path = "../../crates/safetensors-convert/src/made.rs"]
pub mod graphs;

use safetensors_convert::zip::Archive;
use std::io;

/// A text as a pickle has it.
pub fn pickled(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len()).expect("short").to_le_bytes();
    [b"X", &len[..], text.as_bytes()].concat()
}

/// A tensor of one axis in a pickle: all of a storage, whose class of `torch` has the dtype.
pub fn tensor(storage: &str, class: &str, len: u8, is_old: bool) -> Vec<u8> {
    let class = format!("ctorch\n{class}\n");
    let end = b"ccollections\nOrderedDict\n)RtR";
    let place = [b'K', 0, b'K', len, 0x85, b'K', 1, 0x85, 0x89];
    let id = storage_id(storage, &class, len, is_old);
    [b"ctorch._utils\n_rebuild_tensor_v2\n(", &id[..], &place, end].concat()
}

/// The same with a storage of bytes, as PyTorch 2 writes newer dtypes.
pub fn newer_tensor(storage: &str, dtype: &str, [len, bytes]: [u8; 2], is_old: bool) -> Vec<u8> {
    let end = format!("ccollections\nOrderedDict\n)Rctorch\n{dtype}\ntR");
    let place = [b'K', 0, b'K', len, 0x85, b'K', 1, 0x85, 0x89];
    let id = storage_id(storage, "ctorch.storage\nUntypedStorage\n", bytes, is_old);
    [b"ctorch._utils\n_rebuild_tensor_v3\n(", &id[..], &place, end.as_bytes()].concat()
}

fn storage_id(key: &str, class: &str, len: u8, is_old: bool) -> Vec<u8> {
    let old = if is_old { &b"N"[..] } else { b"" };
    let (kind, key, device) = (pickled("storage"), pickled(key), pickled("cpu"));
    [b"(", &kind[..], class.as_bytes(), &key, &device, &[b'K', len], old, b"tQ"].concat()
}

/// A pickle of a dictionary of these keys and values.
pub fn dictionary(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items: Vec<u8> =
        items.iter().flat_map(|(key, value)| [pickled(key), value.clone()].concat()).collect();
    [b"\x80\x02}(", &items[..], b"u."].concat()
}

/// What `torch.save` writes: an object, and storages whose keys are their numbers.
pub fn pytorch(object: &[u8], storages: &[Vec<u8>]) -> Vec<u8> {
    let mut entries = vec![("m/data.pkl".to_owned(), object)];
    let storages = storages.iter().enumerate();
    entries.extend(storages.map(|(number, bytes)| (format!("m/data/{number}"), &bytes[..])));
    entries.push(("m/version".to_owned(), b"3\n"));
    archive(&entries, false)
}

/// The same before PyTorch 1.6, with one storage, whose key is 0 and which has so many elements.
pub fn old_pytorch(object: &[u8], len: u8, storage: &[u8]) -> Vec<u8> {
    [
        b"\x80\x02\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.",
        &b"\x80\x02M\xE9\x03."[..],
        b"\x80\x02}.",
        object,
        b"\x80\x02](",
        &pickled("0"),
        b"e.",
        &u64::from(len).to_le_bytes(),
        storage,
    ]
    .concat()
}

/// A zip archive of these entries.
pub fn archive(entries: &[(String, &[u8])], is_deflated: bool) -> Vec<u8> {
    let mut archive = Archive::new(Vec::new(), is_deflated);
    for (name, bytes) in entries {
        archive.add::<io::Error>(name, |out| out.write_all(bytes)).expect("writing to a Vec");
    }
    archive.finish().expect("writing to a Vec")
}

/// A GGUF with a tensor `w` of this type and one key.
pub fn gguf(kind: u32, dims: &[u64], data: &[u8]) -> Vec<u8> {
    let pairs = [gguf_text("general.architecture"), 8_u32.to_le_bytes().to_vec(), gguf_text("llama")];
    gguf_with(&[pairs.concat()], "w", kind, dims, data)
}

/// The part of this number, from 0, of a GGUF that llama.cpp has split. The first has one more key.
pub fn gguf_part([number, count]: [u16; 2], tensors: u32, name: &str) -> Vec<u8> {
    let pair = |key, kind: u32, value: &[u8]| [&gguf_text(key)[..], &kind.to_le_bytes(), value].concat();
    let mut pairs = vec![
        pair("split.no", 2, &number.to_le_bytes()),
        pair("split.count", 2, &count.to_le_bytes()),
        pair("split.tensors.count", 5, &tensors.to_le_bytes()),
    ];
    if number == 0 {
        pairs.insert(0, pair("k", 2, &[7, 0]));
    }
    gguf_with(&pairs, name, 0, &[1], &f32::from(number).to_le_bytes())
}

fn gguf_text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn gguf_with(pairs: &[Vec<u8>], name: &str, kind: u32, dims: &[u64], data: &[u8]) -> Vec<u8> {
    let mut bytes = [&b"GGUF\x03\0\0\0"[..], &1_u64.to_le_bytes()].concat();
    bytes.extend([&(pairs.len() as u64).to_le_bytes()[..], &pairs.concat()].concat());
    let rank = u32::try_from(dims.len()).expect("few");
    bytes.extend([gguf_text(name), rank.to_le_bytes().to_vec()].concat());
    dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
    bytes.extend([&kind.to_le_bytes()[..], &0_u64.to_le_bytes()].concat());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes
}

/// A `.npy` with this header.
pub fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let len = u16::try_from(text.len()).expect("short").to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &len, text.as_bytes(), data].concat()
}

/// A key, a dtype, a number of elements, and bytes in the only data file.
pub type OfTensorflow<'a> = (&'a str, u8, u8, &'a [u8]);

/// The index of a checkpoint of TensorFlow with these tensors, and the contents of its data file.
pub fn tensorflow(entries: &[OfTensorflow<'_>]) -> (Vec<u8>, Vec<u8>) {
    let byte = |number: usize| u8::try_from(number).expect("short");
    let (mut data, mut pairs) = (Vec::new(), vec![("", vec![0x08, 1, 0x1A, 2, 0x08, 1])]);
    for (key, dtype, len, bytes) in entries {
        let place = [0x20, byte(data.len()), 0x28, byte(bytes.len()), 0x35];
        let shape = [0x12, 4, 0x12, 2, 0x08, *len];
        pairs.push((key, [&[0x08, *dtype][..], &shape, &place, &masked(bytes)].concat()));
        data.extend_from_slice(bytes);
    }
    let block = |pairs: &[(&str, Vec<u8>)]| {
        let mut block = Vec::new();
        for (key, value) in pairs {
            block.extend([&[0, byte(key.len()), byte(value.len())][..], key.as_bytes(), value].concat());
        }
        // One restart point, at the beginning.
        [&block[..], &[0, 0, 0, 0, 1, 0, 0, 0]].concat()
    };
    let mut table = Vec::new();
    let mut add = |contents: Vec<u8>| {
        let stored = [&contents[..], &[0]].concat();
        let place = vec![byte(table.len()), byte(contents.len())];
        table.extend([&stored[..], &masked(&stored)].concat());
        place
    };
    let last = pairs.last().map_or("", |(key, _)| key);
    let place = add(block(&pairs));
    let other = add(block(&[]));
    let list = add(block(&[(last, place)]));
    let mut footer = [other, list].concat();
    footer.resize(40, 0);
    table.extend([&footer[..], &0xDB47_7524_8B80_FB57_u64.to_le_bytes()].concat());
    (table, data)
}

/// The checksum of bytes as TensorFlow stores it.
pub fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes()
}
