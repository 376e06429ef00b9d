//! `safetensors merge`: LoRAs and averages against a naive model, and what does not fit.
#![cfg(unix)]

use crate::support::{Contents, Place, Random, floats, random};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::Caster;

/// A tensor: its name, dtype, shape and numbers.
type Tensor = (String, &'static str, Vec<u64>, Vec<f64>);

const FLOATS: [&str; 6] = ["F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"];

/// Rounds the numbers of tensors. The package of the cast tests it.
fn rows(tensors: &[Tensor]) -> Vec<Contents> {
    let row = |(name, dtype, shape, numbers): &Tensor| {
        let to = Dtype::from_name(dtype.as_bytes()).expect("a dtype");
        let (mut bytes, mut elements) = (Vec::new(), Vec::new());
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        let mut caster = Caster::new(Dtype::F64, to, false).expect("a float");
        caster.cast(&bytes, &mut elements).expect("small numbers");
        (name.clone(), *dtype, shape.clone(), elements)
    };
    tensors.iter().map(row).collect()
}

/// A tensor that is not merged.
fn step(step: u8) -> Contents {
    ("step".to_owned(), "I64", vec![1], vec![step, 0, 0, 0, 0, 0, 0, 0])
}

/// Numbers that are exact in all floats.
fn tensor(random: &mut Random, name: String, shape: Vec<u64>) -> Tensor {
    let number = |_| (random.below(17) as f64 - 8.0) / 4.0;
    let numbers = (0..shape.iter().product::<u64>()).map(number).collect();
    (name, random.pick(&FLOATS), shape, numbers)
}

#[track_caller]
fn is_made(place: &Place, words: &str, tensors: &[Tensor]) {
    let run = place.makes(words, [rows(tensors), vec![step(7)]].concat(), Vec::new());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words}");
}

/// The product of two matrices with so many parts.
fn product(rank: usize, down: &[f64], up: &[f64], index: usize) -> f64 {
    let columns = down.len() / rank;
    let (row, column) = (index / columns, index % columns);
    (0..rank).map(|part| up[row * rank + part] * down[part * columns + column]).sum()
}

/// In the first case a row is longer than a block; in the second a block has several rows.
#[test]
fn random_loras_are_added() {
    let (mut random, place) = (random(), Place::new());
    let prefixes = " base_model.model. unet. transformer. text_encoder. diffusion_model. lora_unet_ lora_te_ \
        lora_te1_ lora_te2_";
    let prefixes: Vec<_> = prefixes.split(' ').collect();
    for case in 0..300 {
        let random = &mut random;
        let large = [[1, 262_150], [300, 900]].get(case);
        let (layers, files) =
            if large.is_some() { (1, 1) } else { (1 + random.below(3), 1 + random.below(2)) };
        let scales = if random.percent(50) { 1 } else { files };
        let scales: Vec<f64> = (0..scales).map(|_| random.pick(&[1.0, 0.5, -2.0, 0.3])).collect();
        let (mut base, mut due, mut loras) = (Vec::new(), Vec::new(), vec![Vec::new(); files]);
        for layer in 0..layers {
            let [rows, columns] =
                large.copied().unwrap_or_else(|| [7, 6].map(|most| 1 + random.below(most) as u64));
            let kernel: &[u64] =
                if large.is_some() { &[] } else { random.pick(&[&[][..], &[1, 1], &[3, 2]]) };
            let mut one = tensor(random, format!("b.{layer}.q.weight"), [&[rows, columns], kernel].concat());
            base.push(one.clone());
            for (at, lora) in loras.iter_mut().enumerate() {
                let (rank, prefix) = (1 + random.below(4), random.pick(&prefixes));
                let dot = if prefix.ends_with('_') { "_" } else { "." };
                let name = format!("{prefix}b{dot}{layer}{dot}q");
                let ends = random.pick(&[["lora_A", "lora_B"], ["lora_down", "lora_up"]]);
                let names = ends.map(|end| format!("{name}.{end}.weight"));
                let down = tensor(random, names[0].clone(), [&[rank as u64, columns], kernel].concat());
                let ones = vec![1; kernel.len()];
                let up = tensor(random, names[1].clone(), [&[rows, rank as u64], &ones[..]].concat());
                let (scale, has_alpha) = (scales.get(at).unwrap_or(&scales[0]), random.percent(50));
                let factor = if has_alpha { scale * 4.0 / rank as f64 } else { *scale };
                let numbers = one.3.iter_mut().enumerate();
                numbers.for_each(|(at, number)| *number += factor * product(rank, &down.3, &up.3, at));
                lora.extend([down, up]);
                lora.extend(has_alpha.then(|| (format!("{name}.alpha"), "F32", vec![], vec![4.0])));
            }
            due.push(one);
        }
        place.put_model("base", &[rows(&base), vec![step(7)]].concat());
        loras.iter().zip(["l", "m"]).for_each(|(lora, name)| place.put_model(name, &rows(lora)));
        let names = if files == 1 { "l" } else { "l m" };
        let scales: Vec<_> = scales.iter().map(f64::to_string).collect();
        is_made(&place, &format!("merge base {names} --scale={}", scales.join(",")), &due);
    }
}

#[test]
fn random_models_are_averaged() {
    let (mut random, place) = (random(), Place::new());
    for _ in 0..300 {
        let shape = |random: &mut Random| (0..random.below(4)).map(|_| random.below(5) as u64).collect();
        let shapes: Vec<Vec<u64>> = (0..1 + random.below(3)).map(|_| shape(&mut random)).collect();
        let models = ["a", "b", "c"].map(|name| {
            let shapes = shapes.iter().enumerate();
            let tensors = shapes.map(|(at, shape)| tensor(&mut random, format!("t{at}"), shape.clone()));
            let tensors: Vec<_> = tensors.collect();
            place.put_model(name, &[rows(&tensors), vec![step(7)]].concat());
            tensors
        });
        let (weights, divisor, option) = match random.percent(50) {
            true => ([0.7, 0.25, -1.5], 1.0, " --weights=0.7,0.25,-1.5"),
            false => ([1.0; 3], 3.0, ""),
        };
        let mut due = models[0].clone();
        for (at, tensor) in due.iter_mut().enumerate() {
            for (index, number) in tensor.3.iter_mut().enumerate() {
                let [a, b, c] = [0, 1, 2].map(|model| weights[model] * models[model][at].3[index]);
                *number = (a + b + c) / divisor;
            }
        }
        is_made(&place, &format!("merge a b c{option}"), &due);
    }
}

#[test]
fn what_does_not_fit_is_one_sentence() {
    let place = Place::new();
    let row = |name: &str, shape: &[u64]| {
        let numbers = vec![1e38; usize::try_from(shape.iter().product::<u64>()).expect("short")];
        (name.to_owned(), "F32", shape.to_vec(), floats(&numbers))
    };
    let of_bytes = |name: &str, dtype, shape: &[u64], byte: u8, len| {
        (name.to_owned(), dtype, shape.to_vec(), vec![byte; len])
    };
    let (w, down, up) =
        (row("w.weight", &[3, 2]), row("w.lora_A.weight", &[4, 2]), row("w.lora_B.weight", &[3, 4]));
    let eight = of_bytes("w.weight", "F8_E4M3", &[3, 2], 0x70, 6);
    place.put_model("base", std::slice::from_ref(&w));
    place.put_model("other", &[row("v.weight", &[3, 2])]);
    place.put_model("twins", &[w, row("unet.w.weight", &[3, 2])]);
    place.put_model("wide", &[row("w.weight", &[3, 5])]);
    place.put_model("lora", &[down.clone(), up.clone()]);
    place.put_model("unet", &[row("unet.w.lora_A.weight", &[4, 2]), row("unet.w.lora_B.weight", &[3, 4])]);
    place.put_model("half", std::slice::from_ref(&down));
    place.put_model("dora", &[down, up.clone(), row("w.dora_scale", &[3])]);
    place.put_model("nan", &[of_bytes("w.lora_A.weight", "F32", &[4, 2], 0xFF, 32), up]);
    place.put_model("eight", std::slice::from_ref(&eight));
    place.put_model("scaled", &[eight, row("w.weight_scale_inv", &[1, 1])]);
    place.put_model("wide-range", &[of_bytes("w.weight", "F64", &[2], 0x7E, 16)]);
    place.put_model("one", &[step(1)]);
    place.put_model("three", &[step(3)]);
    let a = "tensor \"w.lora_A.weight\":";
    let scaled = "scaled: tensor \"w.weight\": its F8_E4M3 numbers have scales, \"w.weight_scale_inv\": only plain numbers are merged";
    for (words, sentence) in [
        ("wide lora --scale 1", format!("lora: {a} is [4, 2], and \"w.lora_B.weight\" [3, 4]: the product does not fit \"w.weight\" of wide, [3, 5]")),
        ("twins unet --scale 1", "unet: tensor \"unet.w.lora_A.weight\": 2 tensors of twins could be meant; `safetensors pack --except` leaves a pair out".to_owned()),
        ("base half --scale 1", format!("half: {a} the other tensor of its pair is missing")),
        ("base dora --scale 1", "dora: tensor \"w.dora_scale\": cannot be merged: a LoRA has lora_A and lora_B, or lora_down, lora_up and alpha, once for each pair".to_owned()),
        ("base nan --scale 1", format!("nan: {a} the product of its pair has infinite numbers or NaNs")),
        ("scaled lora --scale 1", scaled.to_owned()),
        ("scaled eight", scaled.to_owned()),
        ("base lora --scale 9", "base: tensor \"w.weight\": 6 merged numbers too large for F32: is the scale right?".to_owned()),
        ("eight eight --weights 9,-1", "eight: tensor \"w.weight\": 6 merged numbers too large for F8_E4M3: is the scale right?".to_owned()),
        ("wide-range wide-range --weights 1e300,1", "wide-range: tensor \"w.weight\": 2 merged numbers too large for F64: is the scale right?".to_owned()),
        ("base other --scale 1", "other: has no lora_A or lora_down, as all models after the first need with --scale or beside a LoRA".to_owned()),
        ("base lora --scale nan", "error: invalid value 'nan' for '--scale <S>': a finite number is needed\n\nFor more information, try '--help'.".to_owned()),
        ("base lora --scale 1,2", "safetensors: --scale has 2 numbers, 1 needed".to_owned()),
        ("base base --weights 1", "safetensors: --weights has 1 number, 2 needed".to_owned()),
        ("twins base", "base: no tensor \"unet.w.weight\"; did you mean \"w.weight\"?".to_owned()),
        ("base wide", "wide: tensor \"w.weight\": is F32 [3, 5], but in base F32 [3, 2]: shapes must be equal, and dtypes, but for floats".to_owned()),
        ("one three", "three: tensor \"step\": I64 is not averaged, and its values differ from one".to_owned()),
    ] {
        place.refuses(&format!("merge {words} -o out"), 2, &sentence);
    }
    assert!(!place.path("out").exists());
}
