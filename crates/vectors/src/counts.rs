//! Counts scores.

use crate::manifest::Ours;
use crate::protocol::Outcome;
use crate::scoring::{Compared, Kind, Part, Score};

/// The number of right answers among all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of right answers.
    pub right: usize,
    /// The number of all answers.
    pub all: usize,
}

impl Count {
    /// Counts some scores.
    pub fn of<'s, 'v: 's>(scores: impl IntoIterator<Item = &'s Score<'v>>) -> Self {
        scores.into_iter().fold(Self::default(), Self::with)
    }

    fn with(self, score: &Score<'_>) -> Self {
        Self { right: self.right + usize::from(score.is_right()), all: self.all + 1 }
    }

    /// Whether all answers are right.
    pub fn is_full(self) -> bool {
        self.right == self.all
    }
}

/// Counts the scores in groups with the same word, in the order in which the words first occur.
pub fn grouped<'s, 'v, W: PartialEq>(
    scores: &'s [Score<'v>],
    word: impl Fn(&'s Score<'v>) -> W,
) -> Vec<(W, Count)> {
    let mut groups: Vec<(W, Count)> = Vec::new();
    for score in scores {
        let word = word(score);
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count = count.with(score),
            None => groups.push((word, Count::of([score]))),
        }
    }
    groups
}

/// Returns how many answers are of each kind.
pub fn kinds(scores: &[Score<'_>]) -> [(Kind, usize); 6] {
    Kind::ALL.map(|kind| (kind, scores.iter().filter(|score| score.kind == kind).count()))
}

/// How many tables have a part that may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The tables that can have it.
    pub tables: usize,
    /// The number of them that have it.
    pub have: usize,
    /// The number of them in which it is wrong.
    pub wrong: usize,
}

impl Parts {
    /// Counts a part in some scores.
    pub fn of(scores: &[Score<'_>], part: Part) -> Self {
        let compared = || scores.iter().filter_map(|score| score.parts[part as usize]);
        let count = |is_it: fn(&Compared) -> bool| compared().filter(is_it).count();
        Self {
            tables: compared().count(),
            have: count(|part| *part != Compared::LeftOut),
            wrong: count(|part| *part == Compared::Wrong),
        }
    }
}

/// How many errors match the manifest. They matter only if the scores are strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errors {
    /// The rejections of files that this project rejects, too.
    pub all: usize,
    /// The number of them with the manifest's code.
    pub code: usize,
    /// The number of them with the manifest's offset.
    pub at: usize,
}

impl Errors {
    /// Counts the errors among some scores.
    pub fn of(scores: &[Score<'_>]) -> Self {
        let is_error =
            |score: &&Score<'_>| score.answer.outcome == Outcome::Reject && score.vector.ours == Ours::Reject;
        let errors = || scores.iter().filter(is_error);
        Self {
            all: errors().count(),
            code: errors().filter(|score| score.answer.code == score.vector.code).count(),
            at: errors().filter(|score| score.answer.at == score.vector.at).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Errors, Parts, grouped, kinds};
    use crate::manifest::Verdict;
    use crate::scoring::tests::{answer, vector};
    use crate::scoring::{Kind, Part, Score};

    #[test]
    fn scores_are_counted() {
        let (valid, invalid) = (
            vector(r#""verdict":"valid","ours":"accept","tensors":[],"metadata":null"#),
            vector(r#""verdict":"invalid","ours":"reject","code":"a.b","at":7"#),
        );
        let words = ["error[a.b] at byte 7", "error[a.b] at byte 8", "error[a.c] at byte 7"];
        let mut scores = words.map(|words| Score::new(&invalid, answer(1, words), true)).to_vec();
        scores.push(Score::new(&valid, answer(1, "error[a.b] at byte 7"), true));
        scores.push(Score::new(&valid, answer(3, ""), true));
        for metadata in ["null", "{}"] {
            let out = format!(r#"{{"tensors":{{}},"metadata":{metadata}}}"#);
            scores.push(Score::new(&valid, answer(0, &out), true));
        }
        let count = |right, all| Count { right, all };
        assert_eq!(Count::of(&scores), count(2, 7));
        let groups = grouped(&scores, |score| score.vector.verdict);
        assert_eq!(groups, [(Verdict::Invalid, count(1, 3)), (Verdict::Valid, count(1, 4))]);
        assert_eq!(Errors::of(&scores), Errors { all: 3, code: 2, at: 2 });
        let kinds = kinds(&scores).into_iter().filter(|(_, count)| *count > 0);
        assert!(kinds.eq([(Kind::Right, 2), (Kind::Wrong, 4), (Kind::Crash, 1)]));
        assert_eq!(Parts::of(&scores, Part::Metadata), Parts { tables: 2, have: 2, wrong: 1 });
        assert_eq!(Parts::of(&scores, Part::Offsets), Parts::default());
    }
}
