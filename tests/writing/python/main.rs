//! Writes random dictionaries of tensors for `identity.py`, and reads what that has written of the same.
//!
//! `writes CASES SEED`. Everything said is a byte string after its length, a little-endian `u32`. Of each dictionary it
//! says: the numbers of tensors and of pairs (`-` if there is no `__metadata__`); of each tensor name, dtype,
//! dimensions and bytes; of each pair key and value; and the file. What it hears is the other's file.

use std::error::Error;
use std::io::{self, Read, Write};

use verification::dictionary::{Dictionary, Kinds};
use verification::random::Random;
use verification::writing::{read, write};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [cases, seed] = numbers[..] else { return Err("usage: writes CASES SEED".into()) };
    let (mut input, mut output) = (io::stdin().lock(), io::BufWriter::new(io::stdout().lock()));
    let mut random = Random::new(seed);
    for case in 0..cases {
        let dictionary = dictionary(&mut random);
        let ours = write(&dictionary);
        describe(&dictionary, &mut output)?;
        say(&ours, &mut output)?;
        output.flush()?;
        let theirs = hear(&mut input)?;
        let found = read(&theirs);
        if found.clone().sorted() != dictionary.sorted() {
            return Err(format!("case {case}: the other's file is read as {found:?}").into());
        }
        if write(&found) != ours {
            return Err(format!("case {case}: what is read is not written as it was").into());
        }
    }
    Ok(())
}

/// In one of twenty with many keys, of which only the meaning can be compared.
fn dictionary(random: &mut Random) -> Dictionary {
    let mut dictionary = Dictionary::random(Kinds::Python, random);
    if random.percent(5) {
        dictionary.metadata = Dictionary::of_pairs(2 + random.below(20), random).metadata;
    }
    dictionary.shuffle(random);
    dictionary
}

fn describe(dictionary: &Dictionary, output: &mut impl Write) -> io::Result<()> {
    let pairs = dictionary.metadata.as_ref().map_or_else(|| "-".to_owned(), |pairs| pairs.len().to_string());
    say(format!("{} {pairs}", dictionary.tensors.len()).as_bytes(), output)?;
    for tensor in &dictionary.tensors {
        let dims: Vec<_> = tensor.dims.iter().map(u64::to_string).collect();
        for text in [&tensor.name, &tensor.dtype, &dims.join(" ")] {
            say(text.as_bytes(), output)?;
        }
        say(&tensor.bytes, output)?;
    }
    for (key, value) in dictionary.metadata.iter().flatten() {
        say(key.as_bytes(), output)?;
        say(value.as_bytes(), output)?;
    }
    Ok(())
}

fn say(bytes: &[u8], output: &mut impl Write) -> io::Result<()> {
    output.write_all(&u32::try_from(bytes.len()).expect("it is small").to_le_bytes())?;
    output.write_all(bytes)
}

fn hear(input: &mut impl Read) -> Outcome<Vec<u8>> {
    let mut len = [0; 4];
    input.read_exact(&mut len)?;
    let mut bytes = vec![0; usize::try_from(u32::from_le_bytes(len))?];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}
