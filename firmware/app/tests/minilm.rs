//! Tokens and errors of the sentence transformer. minilm.py compares its numbers with the original's.

use app::Reads;
use app::minilm::{Embedder, Failure, Memory, Tokens, Vocabulary};
use embedded_safetensors::integrity::{Sha256, Sum};
use embedded_safetensors::{ReadAt, io::FileLen};

/// Texts, and their tokens between `[CLS]` and `[SEP]` by the crate tokenizers 0.15.2 with the original's
/// tokenizer.json.
const TEXTS: [(&str, &[u16]); 26] = [
    ("", &[]),
    ("The cat sat.", &[1996, 4937, 2938, 1012]),
    ("hello,\tWORLD!\r\n", &[7592, 1010, 2088, 999]),
    ("don't stop-believing", &[2123, 1005, 1056, 2644, 1011, 8929]),
    ("café CAFÉ cafe\u{301}", &[7668, 7668, 7668]),
    ("Łódź, İstanbul, Ørsted", &[17814, 1010, 9960, 1010, 1100, 12096, 2098]),
    ("straße naïve fiancée", &[2358, 27807, 15743, 19455]),
    ("embeddings of microcontrollers", &[7861, 8270, 4667, 2015, 1997, 12702, 8663, 13181, 10820, 2015]),
    ("unaffable unbelievably", &[14477, 20961, 3468, 4895, 8671, 2666, 3567, 6321]),
    ("antidisestablishmentarianism", &[3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964]),
    ("foo\u{AD}bar \u{7}bell\u{7F} no\u{A0}break\u{85}next", &[29379, 8237, 4330, 2053, 3338, 2638, 18413]),
    ("«bonjour» ¿qué? ¡sí!", &[1077, 14753, 23099, 2099, 1090, 1094, 10861, 1029, 1067, 9033, 999]),
    ("§ 5 ¶ a·b", &[1073, 1019, 1086, 1037, 1087, 1038]),
    ("“quotes” – dash — and…", &[1523, 16614, 1524, 1516, 11454, 1517, 1998, 1529]),
    ("3.14159 × 10² = ?", &[1017, 1012, 15471, 28154, 1095, 2184, 10701, 1027, 1029]),
    ("µ ª º ¼ ÷ þ æ œ ŋ", &[1085, 1076, 1089, 1091, 1099, 1101, 1097, 1107, 1106]),
    ("ŉ ĸ ĳ Ĳ ŀ ſ", &[100, 100, 100, 100, 100, 100]),
    ("##ing #tag ##", &[1001, 1001, 13749, 1001, 6415, 1001, 1001]),
    ("[unused5] [mask] [cls]", &[1031, 15171, 2629, 1033, 1031, 7308, 1033, 1031, 18856, 2015, 1033]),
    ("C:\\path\\file.txt", &[1039, 1024, 1032, 4130, 1032, 5371, 1012, 19067, 2102]),
    ("`~!@#$%^&*()_+", &[1036, 1066, 999, 1030, 1001, 1002, 1003, 1034, 1004, 1008, 1006, 1007, 1035, 1009]),
    ("{\"key\": [1, 2]}", &[1063, 1000, 3145, 1000, 1024, 1031, 1015, 1010, 1016, 1033, 1065]),
    ("Ďungla Žižek ČŠŽ ı", &[29328, 2721, 1062, 4697, 2243, 20116, 2480, 1104]),
    (
        "a b c d e f g h i j k l m n",
        &[1037, 1038, 1039, 1040, 1041, 1042, 1043, 1044, 1045, 1046, 1047, 1048, 1049, 1050],
    ),
    ("¢£¥¦¨©¬®¯°±²³´¸¹½¾", &[100]),
    ("i\u{307} İİ \u{301} alone", &[1045, 2462, 2894]),
];

/// A file that begins with these bytes and has zeros after them.
struct Storage<'b> {
    bytes: &'b [u8],
    len: u64,
    /// The most bytes of a read.
    most: usize,
    /// Reads fail from this byte on.
    torn: u64,
}

impl ReadAt for Storage<'_> {
    type Error = &'static str;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if offset >= self.torn {
            return Err("the card is torn out");
        }
        let len = buffer.len().min((self.len - offset) as usize).min(self.most);
        buffer[..len].fill(0);
        let Ok(_) = (&*self.bytes).read_at(offset, &mut buffer[..len]);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, Self::Error> {
        Ok(FileLen::Exactly(self.len))
    }
}

/// Returns a file with a token in each line. It has only those tokens of the original that the texts begin
/// with at any place.
fn vocabulary() -> (Vocabulary, Vec<u8>) {
    let mut lines = vec![String::new(); 30_522];
    let words: Vec<&str> = include_str!("minilm/vocabulary.txt").split_whitespace().collect();
    for pair in words.chunks(2) {
        lines[pair[0].parse::<usize>().expect("a number")] = pair[1].to_owned();
    }
    let file = (lines.join("\n") + "\n").into_bytes();
    let mut sum = Sha256::new();
    sum.update(&file);
    (Vocabulary { bytes: file.len() as u64, sum: sum.finish() }, file)
}

type Outcome<T> = Result<T, Failure<&'static str>>;

/// Divides a text into tokens, with reads of at most so many bytes of a file that is torn from this byte on.
fn tokenise(text: &[u8], most: usize, torn: u64) -> Outcome<Tokens> {
    let (vocabulary, file) = vocabulary();
    let storage = Storage { bytes: &file, len: file.len() as u64, most, torn };
    vocabulary.tokenise(storage, text)
}

#[test]
fn tokens_are_those_of_the_original() {
    for most in [usize::MAX, 7, 1] {
        let of = |text: &[u8]| tokenise(text, most, u64::MAX).expect("tokens").ids().to_vec();
        for (text, expected) in TEXTS {
            assert_eq!(
                of(text.as_bytes()),
                [&[101], expected, &[102]].concat(),
                "{text}, {most} bytes at once"
            );
        }
        assert_eq!(of(&[b'a'; 101]), [101, 100, 102]);
    }
}

#[test]
fn text_that_cannot_be_used_is_an_error() {
    let texts: [(&[u8], &str); 5] = [
        (&[b'a'; 10_000], "error: the text has 10000 bytes, but at most 256 are supported"),
        (&[b'a'; 100], "error: the text has 52 tokens with [CLS] and [SEP], but memory is for 16"),
        (b"caf\xE9", "error: the text is not UTF-8 at its byte 3"),
        ("a 你".as_bytes(), "error: the text has the character U+4F60 at its byte 2, which is not supported"),
        (b"a [SEP] b", "error: the text has the name of a special token at its byte 2"),
    ];
    for (text, sentence) in texts {
        let failure = tokenise(text, usize::MAX, u64::MAX).expect_err("an error");
        assert_eq!((failure.to_string().as_str(), failure.exit_code()), (sentence, 6));
    }
}

#[test]
fn damaged_vocabulary_is_an_error() {
    let (vocabulary, file) = vocabulary();
    let mut flipped = file.clone();
    flipped[20_000] ^= 1;
    for damaged in [&flipped[..], &file[..file.len() - 1], &vec![b'a'; file.len()]] {
        let failure = vocabulary.tokenise(damaged, b"the cat").expect_err("an error");
        assert_eq!(failure.exit_code(), 3, "{failure}");
    }
    let failure = tokenise(b"the cat", usize::MAX, 1).expect_err("an error");
    let sentence = "error at byte 512: the vocabulary cannot be read: the card is torn out";
    assert_eq!((failure.to_string().as_str(), failure.exit_code()), (sentence, 2));
}

type Tensor = (String, &'static str, Vec<u64>);

/// Returns the names, dtypes and shapes of all tensors. The matrices have this dtype.
fn tensors(dtype: &'static str) -> Vec<Tensor> {
    let mut parts = vec![("embeddings.LayerNorm".to_owned(), vec![384])];
    for (name, rows) in [("word", 30_522), ("position", 512), ("token_type", 2)] {
        parts.push((format!("embeddings.{name}_embeddings"), vec![rows, 384]));
    }
    for layer in 0..6 {
        let mut push =
            |name, dims: &[u64]| parts.push((format!("encoder.layer.{layer}.{name}"), dims.to_vec()));
        for name in ["self.query", "self.key", "self.value", "output.dense"] {
            push(format!("attention.{name}"), &[384, 384]);
        }
        push("attention.output.LayerNorm".to_owned(), &[384]);
        push("intermediate.dense".to_owned(), &[1536, 384]);
        push("output.dense".to_owned(), &[384, 1536]);
        push("output.LayerNorm".to_owned(), &[384]);
    }
    let mut tensors = Vec::new();
    for (name, dims) in parts {
        let vector = vec![dims[0]];
        if !name.ends_with("_embeddings") {
            tensors.push((format!("{name}.bias"), "F32", vector.clone()));
        }
        let is_quantised = dtype == "I8" && dims.len() == 2;
        tensors.push((format!("{name}.weight"), if is_quantised { dtype } else { "F32" }, dims));
        if is_quantised {
            tensors.push((format!("{name}.weight.scale"), "F32", vector));
        }
    }
    tensors
}

/// Computes the embedding of the empty text with a model that has these tensors, whose data are zeros.
fn embed(tensors: &[Tensor]) -> Outcome<()> {
    let mut end = 0;
    let entries = tensors.iter().map(|(name, dtype, shape)| {
        let begin = end;
        end += shape.iter().product::<u64>() * u64::from(dtype[1..].parse::<u8>().expect("bits")) / 8;
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#)
    });
    let header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let header = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    let len = header.len() as u64 + end;
    let storage = Storage { bytes: &header, len, most: usize::MAX, torn: u64::MAX };
    let (reads, mut memory) = (Reads::new(), Box::new(Memory::new()));
    let tokens = tokenise(b"", usize::MAX, u64::MAX)?;
    Embedder::open(storage, &reads)?.embed(&tokens, &mut memory, &mut |_| ()).map(drop)
}

#[test]
fn other_model_is_an_error() {
    let (words, down) = ("embeddings.word_embeddings.weight", "encoder.layer.5.output.dense.weight");
    let (norm, bias) = ("embeddings.LayerNorm.weight", "encoder.layer.0.attention.self.query.bias");
    let scale = "encoder.layer.5.output.dense.weight.scale";
    let cases: [(_, _, Option<(_, &[u64])>, _); 10] = [
        ("F32", words, None, "[30522, 384]"),
        ("F32", words, Some(("F16", &[30_522, 384])), "[30522, 384]"),
        ("I8", words, Some(("I8", &[384, 30_522])), "[30522, 384]"),
        ("F32", norm, Some(("F32", &[383])), "[384]"),
        ("I8", norm, Some(("I8", &[384])), "[384]"),
        ("F32", bias, None, "[384]"),
        ("F32", bias, Some(("F16", &[384])), "[384]"),
        ("F32", down, Some(("F32", &[1536, 384])), "[384, 1536]"),
        ("I8", scale, None, "[384]"),
        ("I8", scale, Some(("F32", &[1])), "[384]"),
    ];
    for (matrices, name, change, expected) in cases {
        let mut tensors = tensors(matrices);
        let at = tensors.iter().position(|tensor| tensor.0 == name).expect(name);
        tensors.splice(at..=at, change.map(|(dtype, shape)| (name.to_owned(), dtype, shape.to_vec())));
        let found = match change {
            Some((dtype, shape)) => format!("the tensor \"{name}\" is {dtype} {shape:?} in the model"),
            None => format!("the model has no tensor \"{name}\""),
        };
        let failure = embed(&tensors).expect_err("an error");
        let sentence = format!("{found}, but F32 {expected} is expected");
        assert!(failure.to_string().ends_with(&sentence), "{failure}");
        assert_eq!(failure.exit_code(), 3);
    }
}

#[test]
fn embedding_of_zeros_is_an_error() {
    for matrices in ["F32", "I8"] {
        let failure = embed(&tensors(matrices)).expect_err("an error");
        assert_eq!(failure, Failure::NotFinite);
        assert_eq!(failure.exit_code(), 1);
    }
}
