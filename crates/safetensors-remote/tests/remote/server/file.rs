//! A file to serve, whose data is computed.

/// A model with the tensors `a` of 100 bytes and `b` of all others.
#[derive(Clone, Debug)]
pub struct File {
    pub beginning: Vec<u8>,
    pub len: u64,
}

impl File {
    /// A model whose header has this length, with the 8 bytes before it, and with so many bytes of data.
    pub fn with_header(len: usize, data: u64) -> Self {
        let text = format!(
            r#"{{"a":{{"dtype":"U8","shape":[100],"data_offsets":[0,100]}},
            "b":{{"dtype":"U8","shape":[{}],"data_offsets":[100,{data}]}}}}"#,
            data - 100
        );
        let text = text.replace("\n            ", "");
        let spaces = " ".repeat(len - 8 - text.len());
        Self::new(&format!("{text}{spaces}"), data)
    }

    /// The file with this header.
    pub fn new(header: &str, data: u64) -> Self {
        let beginning = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let len = beginning.len() as u64 + data;
        Self { beginning, len }
    }

    /// A file of these bytes.
    pub fn of(bytes: impl Into<Vec<u8>>) -> Self {
        let beginning = bytes.into();
        Self { len: beginning.len() as u64, beginning }
    }

    /// Some of its bytes. Those after the beginning differ from offset to offset.
    pub fn bytes(&self, start: u64, end: u64) -> Vec<u8> {
        let end = end.min(self.len).max(start);
        let byte = |offset: u64| {
            let given = self.beginning.get(usize::try_from(offset).unwrap());
            given.copied().unwrap_or_else(|| (offset.wrapping_mul(2_654_435_761) >> 7).to_le_bytes()[0])
        };
        (start..end).map(byte).collect()
    }

    /// The bytes of a tensor.
    pub fn tensor(&self, name: &str) -> Vec<u8> {
        let start = self.beginning.len() as u64;
        if name == "a" { self.bytes(start, start + 100) } else { self.bytes(start + 100, self.len) }
    }
}
