//! The reader without a bug beside the reference, on the generated files.

#[cfg(not(feature = "oracle"))]
pub fn compare() -> Vec<String> {
    vec!["this was built without the feature `oracle`".to_owned()]
}

/// Returns a sentence for each generated file on which the reader, with the deviations of the reference,
/// differs from the reference.
#[cfg(feature = "oracle")]
pub fn compare() -> Vec<String> {
    use crate::reader::Reader;
    use crate::table::{FILES, table};

    let mut problems = Vec::new();
    let (mut valid, mut deviations) = (0, 0);
    for number in 0..FILES {
        let file = crate::generate::file(number);
        let ours = Reader::REFERENCE.read(&file).map(|model| table(&model));
        let right = Reader::RIGHT.read(&file);
        valid += u64::from(right.is_ok());
        deviations += u64::from(right.map(|model| table(&model)) != ours);
        let theirs = support::reference::LATEST.read(&file);
        let problem = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => continue,
            (Err(_), Err(_)) => continue,
            (Ok(ours), Ok(theirs)) => format!("{ours:?}, the reference {theirs:?}"),
            (Ok(_), Err(theirs)) => format!("accepted, the reference: {}", theirs.text),
            (Err(why), Ok(_)) => format!("rejected: {why}; the reference accepts it"),
        };
        problems.push(format!("file {number}: {problem}: {}", file.escape_ascii()));
    }
    println!("{FILES} files, {valid} valid, {deviations} by D1 to D5 different for the reference");
    println!("{} differ from the reference", problems.len());
    problems
}
