//! Models in storage: what a search finds, what a reader reads.

use embedded_safetensors::{ErrorKind, Model, ReadError, Wanted};
use verification::file::with_header;

fn three_tensors() -> Vec<u8> {
    let header = r#"{"__metadata__":{"unit":"seven"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},"ab":{"dtype":"U8","shape":[],"data_offsets":[10,11]}}"#;
    let mut file = with_header(header, 0);
    file.extend(b"xyABCDabcd!");
    file
}

#[test]
fn what_is_wanted_is_found_and_read() {
    let file = three_tensors();
    for window in [1, 2, 16, 1000] {
        let mut window = vec![0; window];
        let mut model = Model::open(&file[..], &mut window).expect("it is sound");
        let mut wanted = [Wanted::new("ab"), Wanted::new("b"), Wanted::optional("c")];
        model.find_all(&mut wanted, &mut window).expect("they are there");
        let [ab, b, c] = &wanted;
        assert_eq!(c.info(), None);
        let mut buffer = [0; 16];
        assert_eq!(model.tensor(b).unwrap().read_all(&mut buffer), Ok(&b"ABCDabcd"[..]));
        assert_eq!(model.tensor(ab).unwrap().read_all(&mut buffer), Ok(&b"!"[..]));
        assert_eq!(model.metadata("unit", &mut buffer, &mut window), Ok(Some("seven")));
        let missing = model.find_all(&mut [Wanted::optional("x"), Wanted::new("y")], &mut window);
        let at = model.summary().data_start;
        assert_eq!(missing, Err(ReadError::Format(ErrorKind::NotFound { wanted: 1 }.at(at))));
    }
}
