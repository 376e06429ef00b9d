use super::*;

const LINES: [&str; 3] = [
    "memory\tfloor\traw bytes\tcopied\t40000\t700.00\t720.00",
    "memory\tours\tWriter, View\tbytes found, copied\t40080\t805.00\t770.40",
    "memory\treference\tsafetensors 0.8\tcopied\t40080\t1820.00\t1440.00",
];

fn figures(lines: &[&str]) -> Figures {
    Figures(lines.iter().map(|line| Figure::parse(line).expect("it is one")).collect())
}

#[test]
fn a_line_says_what_took_how_long() {
    let ours = Figure::parse(LINES[1]).expect("it is one");
    assert_eq!((ours.section, ours.whose, ours.len), (Section::Memory, Whose::Ours, 40080));
    assert_eq!((ours.write, ours.read), (805.0, 770.4));
    for line in ["", "warning: unused", "memory\tours\ta\tb\t1\t2", "disk\tours\ta\tb\t1\t2\t3"] {
        assert!(Figure::parse(line).is_none(), "{line}");
    }
}

#[test]
fn ours_is_judged_against_the_floor() {
    let rows = figures(&LINES).rows().expect("all is there");
    assert_eq!(rows.iter().map(Row::is_kept).collect::<Vec<_>>(), [true, true]);
    assert!((rows[0].ours - 1.15).abs() < 1e-9 && (rows[1].ours - 1.07).abs() < 1e-9);
    assert_eq!(rows[1].reference, Some(2.0));
    let slow = [LINES[0], "memory\tours\tWriter, View\ta\t40080\t850.00\t800.00", LINES[2]];
    assert!(figures(&slow).rows().expect("all is there").iter().all(|row| !row.is_kept()));
}

#[test]
fn what_is_missing_is_no_success() {
    for missing in 0..LINES.len() {
        let lines: Vec<&str> =
            (0..LINES.len()).filter(|&place| place != missing).map(|place| LINES[place]).collect();
        assert!(figures(&lines).rows().is_err(), "{lines:?}");
    }
}

#[test]
fn the_best_times_of_two_runs_count() {
    let other = ["memory\tfloor\traw bytes\tcopied\t40000\t690.00\t730.00", LINES[1], LINES[2]];
    let best = figures(&LINES).better(figures(&other)).expect("they are of the same");
    assert_eq!((best.0[0].write, best.0[0].read), (690.0, 720.0));
    assert!(figures(&LINES).better(figures(&other[..2])).is_err());
}

#[test]
fn json_has_every_figure() {
    let due = r#"[{"where":"memory","name":"raw bytes","how":"copied","bytes":40000,"write_ns":700,"read_ns":720}]"#;
    assert_eq!(figures(&LINES[..1]).json(), due);
}
