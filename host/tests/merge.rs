//! `safetensors merge`: LoRAs and averages against a naive model, and what does not fit.
#![cfg(unix)]

use crate::support::{Place, Random, model, random};

/// A tensor: its name, dtype, shape and numbers.
type Tensor = (String, &'static str, Vec<u64>, Vec<f64>);

#[expect(clippy::cast_possible_truncation, reason = "it rounds")]
fn bytes((_, dtype, _, numbers): &Tensor) -> Vec<u8> {
    let element = |number: &f64| match *dtype {
        "F64" => number.to_le_bytes().to_vec(),
        "F32" => (*number as f32).to_le_bytes().to_vec(),
        _ => (*number as i64).to_le_bytes().to_vec(),
    };
    numbers.iter().flat_map(element).collect()
}

fn put(place: &Place, name: &str, tensors: &[Tensor]) {
    let rows = tensors.iter().map(|tensor| (&*tensor.0, tensor.1, &tensor.2[..], bytes(tensor)));
    place.put(name, &model(r#"{"by":"hand"}"#, &rows.collect::<Vec<_>>()));
}

/// Numbers that are exact in all floats.
fn tensor(random: &mut Random, name: String, shape: Vec<u64>) -> Tensor {
    let number = |_| (random.below(65) as f64 - 32.0) / 16.0;
    let numbers = (0..shape.iter().product::<u64>()).map(number).collect();
    (name, random.pick(&["F32", "F64"]), shape, numbers)
}

/// The output has these tensors, and nothing else.
#[track_caller]
fn is_made(place: &Place, words: &str, tensors: &[Tensor]) {
    let run = place.made(words.split(' '));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words}");
    let row = |one: &Tensor| (one.0.clone(), one.1, one.2.clone(), bytes(one));
    let mut due: Vec<_> = tensors.iter().map(row).collect();
    due.sort();
    let (found, metadata) = place.contents();
    assert!(found == due && metadata.is_some_and(|pairs| pairs["by"] == "hand"), "{words}: {tensors:?}");
}

/// The product of two matrices with so many parts.
fn product(rank: usize, down: &[f64], up: &[f64], index: usize) -> f64 {
    let columns = down.len() / rank;
    let (row, column) = (index / columns, index % columns);
    (0..rank).map(|part| up[row * rank + part] * down[part * columns + column]).sum()
}

#[test]
fn random_loras_are_added() {
    let (mut random, place) = (random(), Place::new());
    for _ in 0..300 {
        let random = &mut random;
        let (mut base, mut lora, mut due) = (Vec::new(), Vec::new(), Vec::new());
        let (is_kohya, scale) = (random.percent(50), random.pick(&[1.0, 0.5, -2.0, 0.3]));
        for at in 0..1 + random.below(3) {
            let [rows, columns, rank] = [7, 6, 4].map(|most| 1 + random.below(most));
            let kernel: &[u64] = random.pick(&[&[][..], &[1, 1], &[3, 2]]);
            let [out, input, parts] = [rows, columns, rank].map(|dim| dim as u64);
            let one = tensor(random, format!("b.{at}.q.weight"), [&[out, input], kernel].concat());
            let names = match is_kohya {
                true => ["down", "up"].map(|end| format!("lora_unet_b_{at}_q.lora_{end}.weight")),
                false => ["A", "B"].map(|end| format!("base_model.model.b.{at}.q.lora_{end}.weight")),
            };
            let down = tensor(random, names[0].clone(), [&[parts, input], kernel].concat());
            let up = tensor(random, names[1].clone(), [&[out, parts], &vec![1; kernel.len()][..]].concat());
            let factor = if is_kohya { scale * 4.0 / rank as f64 } else { scale };
            let alpha = (format!("lora_unet_b_{at}_q.alpha"), "F32", vec![], vec![4.0]);
            let numbers = one.3.iter().enumerate();
            let numbers = numbers.map(|(at, number)| number + factor * product(rank, &down.3, &up.3, at));
            due.push((one.0.clone(), one.1, one.2.clone(), numbers.collect()));
            base.push(one);
            lora.extend([down, up].into_iter().chain(is_kohya.then_some(alpha)));
        }
        let other = ("step".to_owned(), "I64", vec![1], vec![7.0]);
        put(&place, "base", &[&base[..], std::slice::from_ref(&other)].concat());
        put(&place, "lora", &lora);
        is_made(&place, &format!("merge base lora --scale={scale}"), &[&due[..], &[other]].concat());
    }
}

#[test]
fn random_models_are_averaged() {
    let (mut random, place) = (random(), Place::new());
    for _ in 0..300 {
        let shape = |random: &mut Random| (0..random.below(4)).map(|_| random.below(5) as u64).collect();
        let shapes: Vec<Vec<u64>> = (0..1 + random.below(3)).map(|_| shape(&mut random)).collect();
        let models: Vec<Vec<Tensor>> = (0..3)
            .map(|_| {
                let shapes = shapes.iter().enumerate();
                let tensors = shapes.map(|(at, shape)| tensor(&mut random, format!("t{at}"), shape.clone()));
                tensors.chain([("step".to_owned(), "I64", vec![1], vec![7.0])]).collect()
            })
            .collect();
        models.iter().zip(["a", "b", "c"]).for_each(|(model, name)| put(&place, name, model));
        let (weights, divisor, option) = match random.percent(50) {
            true => ([0.7, 0.25, -1.5], 1.0, " --weights=0.7,0.25,-1.5"),
            false => ([1.0; 3], 3.0, ""),
        };
        let mut due = models[0].clone();
        for (at, tensor) in due.iter_mut().enumerate().filter(|(_, tensor)| tensor.1 != "I64") {
            for (index, number) in tensor.3.iter_mut().enumerate() {
                let [a, b, c] = [0, 1, 2].map(|model| weights[model] * models[model][at].3[index]);
                *number = (a + b + c) / divisor;
            }
        }
        is_made(&place, &format!("merge a b c{option}"), &due);
    }
}

/// Rows that are longer than a block, and blocks of several rows.
#[test]
fn large_tensors_are_merged_in_blocks() {
    let place = Place::new();
    for [rows, columns] in [[2, 300_000], [700, 500]] {
        let numbers = |count: u64| (0..count).map(|at| (at % 16) as f64).collect::<Vec<_>>();
        let made = |name: &str, shape: [u64; 2]| {
            (name.to_owned(), "F32", shape.to_vec(), numbers(shape.iter().product()))
        };
        let mut base = made("w.weight", [rows, columns]);
        let (down, up) = (made("w.lora_A.weight", [2, columns]), made("w.lora_B.weight", [rows, 2]));
        put(&place, "base", std::slice::from_ref(&base));
        put(&place, "lora", &[down.clone(), up.clone()]);
        let sums = base.3.iter_mut().enumerate();
        sums.for_each(|(at, number)| *number += 0.5 * product(2, &down.3, &up.3, at));
        is_made(&place, "merge base lora --scale 0.5", &[base]);
    }
}

#[test]
fn what_does_not_fit_is_one_sentence() {
    let place = Place::new();
    let row = |name: &str, shape: &[u64]| {
        let numbers = vec![1e38; usize::try_from(shape.iter().product::<u64>()).expect("short")];
        (name.to_owned(), "F32", shape.to_vec(), numbers)
    };
    let (w, v) = (row("w.weight", &[3, 2]), row("v.weight", &[3, 2]));
    let (down, up) = (row("w.lora_A.weight", &[4, 2]), row("w.lora_B.weight", &[3, 4]));
    let step = |number| vec![("step".to_owned(), "I64", vec![1], vec![number])];
    put(&place, "base", std::slice::from_ref(&w));
    put(&place, "two", &[w.clone(), v.clone()]);
    put(&place, "other", &[v]);
    put(&place, "wide", &[row("w.weight", &[3, 5])]);
    put(&place, "lora", &[down.clone(), up.clone()]);
    put(&place, "half", std::slice::from_ref(&down));
    put(&place, "dora", &[down, up, row("w.dora_scale", &[3])]);
    put(&place, "one", &step(1.0));
    put(&place, "three", &step(3.0));
    let a = "tensor \"w.lora_A.weight\":";
    for (words, sentence) in [
        ("base lora", format!("lora: {a} its pair has no alpha: give --scale, lora_alpha of its adapter_config.json / 4")),
        ("wide lora --scale 1", format!("lora: {a} is [4, 2], and \"w.lora_B.weight\" [3, 4]: the product does not fit \"w.weight\" of wide, [3, 5]")),
        ("other lora --scale 1", format!("lora: {a} its target must be one tensor of other, such as \"w.weight\", but 0 have its name; `safetensors pack --except` leaves a pair out")),
        ("base half --scale 1", format!("half: {a} the other tensor of its pair is missing")),
        ("base dora --scale 1", "dora: tensor \"w.dora_scale\": cannot be merged: a LoRA has lora_A and lora_B, or lora_down, lora_up and alpha, once for each pair".to_owned()),
        ("base lora --scale 9", "base: tensor \"w.weight\": 6 merged numbers are too large for F32: is the scale right?".to_owned()),
        ("base other --scale 1", "other: has no lora_A or lora_down, as all models after the first need with --scale or beside a LoRA".to_owned()),
        ("base lora --scale 1,2", "safetensors: LoRAs need one --scale or 1, and no --weights; 2 numbers given".to_owned()),
        ("base base --weights 1", "safetensors: --weights has 1 number, but 2 models are given".to_owned()),
        ("base two", "two: tensor \"v.weight\": base has no such tensor".to_owned()),
        ("base wide", "wide: tensor \"w.weight\": is F32 [3, 5], but in base F32 [3, 2]: shapes must be equal, and dtypes, but for floats".to_owned()),
        ("one three", "three: tensor \"step\": I64 is not averaged, and its values differ from one".to_owned()),
    ] {
        place.refuses(&format!("merge {words} -o out"), 2, &sentence);
    }
    assert!(!place.path("out").exists());
}
