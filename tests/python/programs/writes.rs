//! Writes random dictionaries of tensors for `test_writing.py`, and reads the files that it has written for
//! the same dictionaries.
//!
//! `writes CASES SEED`. Every message is a byte string after its length, a little-endian `u32`. The program
//! sends, of each dictionary: the numbers of tensors and of pairs (`-` if there is no `__metadata__`), and
//! whether the files must be `identical` or only mean the `same`; of each tensor name, dtype, dimensions and
//! bytes; of each pair key and value; and the file. It receives the other's file.

use std::error::Error;
use std::io::{self, Read, Write};

use embedded_safetensors::write::Placement;
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::{Description, as_planned, is_padding, read, write, write_planned};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [cases, seed] = numbers[..] else { return Err("usage: writes CASES SEED".into()) };
    let (mut input, mut output) = (io::stdin().lock(), io::BufWriter::new(io::stdout().lock()));
    let mut random = Random::new(seed);
    for case in 0..cases {
        let Case { dictionary, file, is_identical } = Case::random(&mut random);
        describe(&dictionary, is_identical, &mut output)?;
        send(&file, &mut output)?;
        output.flush()?;
        let theirs = receive(&mut input)?;
        let found = read(&theirs);
        if found.clone().sorted() != dictionary.sorted() {
            return Err(format!("case {case}: the other's file is read as {found:?}").into());
        }
        if is_identical && write(&found) != theirs {
            return Err(format!("case {case}: the read dictionary is not written as it was").into());
        }
    }
    Ok(())
}

struct Case {
    /// With tensors of padding.
    dictionary: Dictionary,
    file: Vec<u8>,
    is_identical: bool,
}

impl Case {
    /// Returns a random case. One of twenty has many keys, and one of five another placement.
    fn random(random: &mut Random) -> Self {
        let mut dictionary = Dictionary::random(Kinds::Python, random);
        let has_many_keys = random.percent(5);
        if has_many_keys {
            dictionary.metadata = Dictionary::of_pairs(2 + random.below(20), random).metadata;
        }
        dictionary.shuffle(random);
        if random.percent(20) {
            return Self::placed(dictionary, random);
        }
        Self { file: write(&dictionary), is_identical: !has_many_keys, dictionary }
    }

    fn placed(mut dictionary: Dictionary, random: &mut Random) -> Self {
        dictionary.tensors.truncate(100);
        dictionary.tensors.retain(|tensor| !is_padding(tensor));
        dictionary.metadata = dictionary.metadata.filter(|pairs| !pairs.is_empty());
        let placement = random.pick(&[Placement::Start, Placement::BySize, Placement::Padded]);
        let description = Description::new(&dictionary);
        let spec = description.spec().with_placement(placement(8 << random.below(10)));
        let mut memory = description.memory();
        let plan = spec.plan_sorted(&mut memory).expect("valid description");
        let file = write_planned(&dictionary, plan);
        Self { dictionary: as_planned(&dictionary, plan), file, is_identical: false }
    }
}

fn describe(dictionary: &Dictionary, is_identical: bool, output: &mut impl Write) -> io::Result<()> {
    let pairs = dictionary.metadata.as_ref().map_or_else(|| "-".to_owned(), |pairs| pairs.len().to_string());
    let files = if is_identical { "identical" } else { "same" };
    send(format!("{} {pairs} {files}", dictionary.tensors.len()).as_bytes(), output)?;
    for tensor in &dictionary.tensors {
        let dims: Vec<_> = tensor.dims.iter().map(u64::to_string).collect();
        for text in [&tensor.name, &tensor.dtype, &dims.join(" ")] {
            send(text.as_bytes(), output)?;
        }
        send(&tensor.bytes, output)?;
    }
    for (key, value) in dictionary.metadata.iter().flatten() {
        send(key.as_bytes(), output)?;
        send(value.as_bytes(), output)?;
    }
    Ok(())
}

fn send(bytes: &[u8], output: &mut impl Write) -> io::Result<()> {
    output.write_all(&u32::try_from(bytes.len()).expect("fits in usize").to_le_bytes())?;
    output.write_all(bytes)
}

fn receive(input: &mut impl Read) -> Outcome<Vec<u8>> {
    let mut len = [0; 4];
    input.read_exact(&mut len)?;
    let mut bytes = vec![0; usize::try_from(u32::from_le_bytes(len))?];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}
