//! Files of PyTorch with very many tensors, written piece by piece as `torch.save` writes them.

use std::io::{self, Write};

/// The element of each tensor.
const ELEMENT: [u8; 4] = 1_f32.to_le_bytes();
/// The length of the record of 64 bits at the end of an archive.
const LONG_END: u64 = 56;

/// The number of tensors.
#[derive(Clone, Copy)]
pub struct Many(pub u32);

impl Many {
    /// As PyTorch wrote it before 1.6: pickles, and the elements after them.
    pub fn legacy(self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"\x80\x02\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.\x80\x02M\xE9\x03.\x80\x02}.")?;
        self.pickle(out, b"N")?;
        out.write_all(b"\x80\x02](")?;
        (0..self.0).try_for_each(|number| text(out, &number.to_string()))?;
        out.write_all(b"e.")?;
        (0..self.0).try_for_each(|_| out.write_all(&[&1_u64.to_le_bytes()[..], &ELEMENT].concat()))
    }

    /// As an archive.
    pub fn zip(self, out: &mut dyn Write) -> io::Result<()> {
        let mut pickle = Sum { crc: flate2::Crc::new(), len: 0 };
        self.pickle(&mut pickle, b"")?;
        let mut element = flate2::Crc::new();
        element.update(&ELEMENT);
        let entries = || {
            let first = Entry { name: "m/data.pkl".into(), crc: pickle.crc.sum(), len: pickle.len };
            let data = |number| Entry { name: format!("m/data/{number}"), crc: element.sum(), len: 4 };
            std::iter::once(first).chain((0..self.0).map(data))
        };
        let mut at = 0;
        for (number, entry) in entries().enumerate() {
            entry.begin(out)?;
            if number == 0 {
                self.pickle(out, b"")?;
            } else {
                out.write_all(&ELEMENT)?;
            }
            at += entry.whole_len();
        }
        let list = at;
        let mut entry_at = 0;
        for entry in entries() {
            entry.list(out, entry_at)?;
            entry_at += entry.whole_len();
            at += 46 + entry.name.len() as u64;
        }
        let count = u64::from(self.0) + 1;
        end_archive(out, count, list, at)
    }

    /// The dictionary of all tensors. PyTorch stores all values in the memo, and fetches those that are
    /// names.
    fn pickle(self, out: &mut dyn Write, of_storage: &[u8]) -> io::Result<()> {
        out.write_all(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x000ctorch\nFloatStorage\nq\x010")?;
        out.write_all(b"ccollections\nOrderedDict\nq\x020X\x07\0\0\0storageq\x030X\x03\0\0\0cpuq\x040}(")?;
        for number in 0..self.0 {
            let mut next = 8 + 8 * number;
            let mut put = |out: &mut dyn Write| {
                next += 1;
                out.write_all(&[&b"r"[..], &next.to_le_bytes()].concat())
            };
            text(out, &format!("t{number}"))?;
            put(out)?;
            out.write_all(b"h\0((h\x03h\x01")?;
            text(out, &number.to_string())?;
            put(out)?;
            out.write_all(&[b"h\x04K\x01", of_storage, b"t"].concat())?;
            put(out)?;
            out.write_all(b"QK\0K\x01\x85")?;
            put(out)?;
            out.write_all(b"K\x01\x85")?;
            put(out)?;
            out.write_all(b"\x89h\x02)R")?;
            put(out)?;
            out.write_all(b"t")?;
            put(out)?;
            out.write_all(b"R")?;
            put(out)?;
        }
        out.write_all(b"u.")
    }
}

fn text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let len = u32::try_from(text.len()).expect("short").to_le_bytes();
    out.write_all(&[b"X", &len[..], text.as_bytes()].concat())
}

/// Sums what is written.
struct Sum {
    crc: flate2::Crc,
    len: u64,
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stored entry of an archive.
struct Entry {
    name: String,
    crc: u32,
    len: u64,
}

impl Entry {
    fn whole_len(&self) -> u64 {
        30 + self.name.len() as u64 + self.len
    }

    /// What precedes the contents.
    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&[b"PK\x03\x04\x14\0", &self.common()[..], self.name.as_bytes()].concat())
    }

    /// The entry in the list of all.
    fn list(&self, out: &mut dyn Write, at: u64) -> io::Result<()> {
        let place = [&[0; 10][..], &low(at)].concat();
        let head = [b"PK\x01\x02\x14\0\x14\0", &self.common()[..], &place].concat();
        out.write_all(&[&head, self.name.as_bytes()].concat())
    }

    /// Flags, method, time, sum, lengths, and that of extra fields.
    fn common(&self) -> Vec<u8> {
        let name = u16::try_from(self.name.len()).expect("short").to_le_bytes();
        [&[0; 8][..], &self.crc.to_le_bytes(), &low(self.len), &low(self.len), &name, &[0; 2]].concat()
    }
}

/// Ends an archive whose list begins and ends there.
fn end_archive(out: &mut dyn Write, count: u64, begin: u64, end: u64) -> io::Result<()> {
    let [counted, size, from, at] = [count, end - begin, begin, end].map(u64::to_le_bytes);
    let version = [0x2D, 0, 0x2D, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let after = (LONG_END - 12).to_le_bytes();
    out.write_all(&[b"PK\x06\x06", &after[..], &version, &counted, &counted, &size, &from].concat())?;
    out.write_all(&[b"PK\x06\x07\0\0\0\0", &at[..], &[1, 0, 0, 0]].concat())?;
    out.write_all(&[b"PK\x05\x06\0\0\0\0", &[0xFF; 12][..], &[0; 2]].concat())
}

fn low(number: u64) -> [u8; 4] {
    u32::try_from(number).expect("less than 4 GiB").to_le_bytes()
}
