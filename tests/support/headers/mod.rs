//! Random files: valid, nearly valid and broken.

mod model;
mod mutate;
mod spell;

use crate::random::Random;

/// Returns one file: half of them are valid, the rest have one to three errors of some kind.
pub fn file(random: &mut Random) -> Vec<u8> {
    let damage = random.below(8);
    let times = random.pick(&[1, 1, 1, 2, 3]);
    let mut model = model::valid(random);
    if damage <= 1 {
        (0..times).for_each(|_| model::slip(random, &mut model));
    }
    let data_len = model.data_len.min(4096);
    let mut tokens = spell::spell(random, &model);
    if damage == 2 {
        (0..times).for_each(|_| mutate::tokens(random, &mut tokens));
    }
    let mut header = tokens.concat();
    if damage == 3 {
        (0..times).for_each(|_| mutate::bytes(random, &mut header));
    }
    let is_damaged = damage == 4 && random.percent(30);
    mutate::file(random, &header, data_len, is_damaged)
}

/// Returns the file with this header and `data_len` bytes of data.
pub fn file_of(header: &[u8], data_len: u64) -> Vec<u8> {
    let mut file = [&(header.len() as u64).to_le_bytes(), header].concat();
    // Neighbours differ, so that reading at a wrong offset is detected.
    file.extend((0..data_len).map(|place| (place % 251) as u8));
    file
}
