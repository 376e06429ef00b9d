//! Shapes with the largest possible numbers.

use embedded_safetensors::{
    Dtype, ErrorKind,
    slice::{AxisRange, Run, SlicePlan},
};

fn plan(dtype: Dtype, dims: &[u64], ranges: &[AxisRange]) -> SlicePlan {
    SlicePlan::new(dtype, dims, ranges).expect("in range")
}

/// Returns the first run and the number of runs, where there are too many to list.
fn ends(plan: &SlicePlan) -> (Option<Run>, u64) {
    (plan.runs().next(), plan.run_count())
}

#[test]
fn largest_tensor_can_be_sliced() {
    // 2^64 - 8 bits, and the last two elements of them.
    let size = (1 << 61) - 1;
    let last = plan(Dtype::U8, &[size], &[(size - 2..).into()]);
    let end = Run { first: size - 2, elements: 2 };
    assert_eq!(last.runs().collect::<Vec<_>>(), [end]);
    let two = plan(Dtype::U8, &[size], &[AxisRange::ALL.step_by(size - 1)]);
    assert_eq!(two.byte_runs().map(Iterator::collect), Ok(vec![0..1, size - 1..size]));
    let every_second = plan(Dtype::U8, &[size], &[AxisRange::ALL.step_by(2)]);
    assert_eq!(ends(&every_second), (Some(Run { first: 0, elements: 1 }), 1 << 60));
    let size = (1 << 62) - 2;
    let ends_of_a_tensor = plan(Dtype::F4, &[size], &[AxisRange::ALL.step_by(size - 1)]);
    let runs: Vec<_> = ends_of_a_tensor.runs().map(|run| run.first).collect();
    assert_eq!(runs, [0, size - 1]);
}

#[test]
fn products_of_large_dimensions_do_not_overflow() {
    let dims = [1 << 20, 1 << 20, (1 << 21) - 1];
    let [_, _, inner] = dims;
    let corner = [AxisRange::from(dims[0] - 1..), (dims[1] - 1..).into(), (inner - 1..).into()];
    let last = dims.iter().product::<u64>() - 1;
    assert_eq!(
        plan(Dtype::U8, &dims, &corner).runs().collect::<Vec<_>>(),
        [Run { first: last, elements: 1 }]
    );
    let steps = dims.map(|dim| AxisRange::ALL.step_by(dim - 1));
    let corners: Vec<_> = plan(Dtype::U8, &dims, &steps).runs().map(|run| run.first).collect();
    assert_eq!((corners.len(), corners[0], corners[7]), (8, 0, last));
    let half = plan(Dtype::U8, &dims, &dims.map(|_| AxisRange::ALL.step_by(2)));
    assert_eq!(half.run_count(), half.elements());
}

/// The strides of the outer axes do not fit into 64 bits, and are not needed.
#[test]
fn empty_tensor_may_have_any_dimensions() {
    let huge = u64::MAX;
    for dims in [[0, huge, huge, huge], [huge, 0, huge, huge], [2, 0, huge, huge]] {
        for ranges in [
            &[][..],
            &[AxisRange::ALL.step_by(3); 4],
            &[AxisRange::ALL, AxisRange::ALL, AxisRange::index(huge - 1), (1..huge).into()],
        ] {
            let plan = plan(Dtype::F64, &dims, ranges);
            assert_eq!((plan.elements(), plan.byte_len(), plan.run_count()), (0, Ok(0), 0));
            assert_eq!(plan.runs().next(), None);
            assert_eq!(plan.byte_runs().map(|mut runs| runs.next()), Ok(None));
        }
        let index = [AxisRange::ALL, AxisRange::ALL, AxisRange::index(huge)];
        let outside = ErrorKind::OutsideAxis { axis: 2, asked: huge, size: huge };
        assert_eq!(SlicePlan::new(Dtype::F64, &dims, &index), Err(outside));
    }
}

/// The result must fit into a shape, the tensor need not.
#[test]
fn only_the_rank_of_the_result_is_limited() {
    let dims: Vec<u64> = [1; 1000].into_iter().chain([2; 12]).collect();
    let kept = |count: usize| {
        let indices = vec![AxisRange::index(0); dims.len() - count];
        SlicePlan::new(Dtype::U8, &dims, &indices)
    };
    assert_eq!(kept(9), Err(ErrorKind::Rank { limit: 8 }));
    let plan = kept(8).expect("8 are left");
    assert_eq!((plan.shape().dims(), plan.run_count(), plan.byte_len()), (&[2; 8][..], 1, Ok(256)));
    let mut apart = vec![AxisRange::index(0); 1004];
    apart.extend([AxisRange::ALL.step_by(1), AxisRange::index(1)].repeat(4));
    let plan = SlicePlan::new(Dtype::U8, &dims, &apart).expect("4 are left");
    let firsts: Vec<_> = plan.runs().map(|run| run.first).collect();
    assert_eq!((firsts.len(), firsts[0], firsts[15]), (16, 0b0101_0101, 0b1111_1111));
}
