//! The distribution of tensors among shards.

use safetensors_files::shards::{ShardPlan, parse_shard_size};

/// Returns the tensors of each shard, by their numbers.
fn shard_numbers(sizes: &[u64], max: u64) -> Vec<Vec<usize>> {
    let plan =
        ShardPlan::new("m", sizes.iter().enumerate().map(|(number, &size)| (number.to_string(), size)), max);
    let numbers = |names: &[String]| names.iter().map(|name| name.parse().expect("a number")).collect();
    plan.shards().map(|shard| numbers(shard.tensors())).collect()
}

#[test]
fn tensors_fill_shards_in_order() {
    assert_eq!(shard_numbers(&[6, 6, 2, 6, 2, 2], 10), [vec![0], vec![1, 2], vec![3, 4, 5]]);
    assert_eq!(shard_numbers(&[5, 5, 1], 10), [vec![0, 1], vec![2]]);
    assert_eq!(shard_numbers(&[0, 10, 0, 0], 10), [vec![0, 1, 2, 3]]);
    assert_eq!(shard_numbers(&[1, 2, 3], 6), [[0, 1, 2]]);
    assert_eq!(shard_numbers(&[], 6), [[0; 0]]);
}

/// Its shard comes before the one that is being filled.
#[test]
fn too_large_tensor_has_its_own_shard() {
    assert_eq!(shard_numbers(&[1, 11, 1, 12, 9], 10), [vec![1], vec![3], vec![0, 2], vec![4]]);
    assert_eq!(shard_numbers(&[11], 10), [[0]]);
    assert_eq!(shard_numbers(&[u64::MAX, u64::MAX], u64::MAX), [[0], [1]]);
}

#[test]
fn shards_have_conventional_names() {
    let names = |plan: &ShardPlan| -> Vec<String> {
        plan.shards().map(|shard| shard.file_name().to_owned()).collect()
    };
    let plan = ShardPlan::new("model", (0..3).map(|number| (number.to_string(), 5)), 5);
    let expected = [
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    ];
    assert_eq!((names(&plan).as_slice(), plan.is_sharded()), (expected.map(String::from).as_slice(), true));
    assert_eq!((plan.index_name(), plan.total_size()), ("model.safetensors.index.json", 15));
    assert_eq!(plan.shards().map(|shard| shard.byte_len()).collect::<Vec<_>>(), [5; 3]);
    let one = ShardPlan::new("model", [("a", 5)], ShardPlan::USUAL_BYTES);
    assert_eq!((names(&one), one.is_sharded()), (vec!["model.safetensors".to_owned()], false));
}

#[test]
fn sizes_are_decimal() {
    for (text, bytes) in [
        ("5GB", 5_000_000_000),
        (" 500 mb ", 500_000_000),
        ("1.5KB", 1500),
        ("0.0009KB", 0),
        ("2.0019KB", 2001),
        ("18.4TB", 18_400_000_000_000),
        ("4096", 4096),
        ("1.9", 1),
    ] {
        assert_eq!(parse_shard_size(text), Some(bytes), "{text}");
    }
    for text in [
        "",
        "GB",
        "5GiB",
        "5G",
        "-5GB",
        "1e3MB",
        "5 5MB",
        ".5GB",
        "5.GB",
        "1.2.3MB",
        "99999999999TB",
        "5\u{e9}GB",
    ] {
        assert_eq!(parse_shard_size(text), None, "{text}");
    }
}
