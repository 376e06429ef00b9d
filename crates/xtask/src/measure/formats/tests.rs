use super::*;

fn figures(times: [[f64; 2]; 3]) -> Figures {
    let whose = [(Whose::Floor, "raw bytes"), (Whose::Ours, OURS), (Whose::Reference, "safetensors 0.8")];
    let figure = |((whose, name), [write_ns, read_ns]): ((Whose, &str), [f64; 2])| Figure {
        section: Section::Memory,
        whose,
        name: name.to_owned(),
        how: "copied".to_owned(),
        bytes: 40000,
        write_ns,
        read_ns,
    };
    Figures(whose.into_iter().zip(times).map(figure).collect())
}

fn rows(figures: &Figures) -> Result<Vec<Row>, String> {
    figures.rows(&Limits::read()?.formats)
}

#[test]
fn ours_is_judged_against_the_floor() {
    let kept = rows(&figures([[700.0, 720.0], [805.0, 770.4], [1400.0, 1440.0]])).unwrap();
    assert_eq!(kept.iter().map(Row::is_kept).collect::<Vec<_>>(), [true, true]);
    assert!((kept[0].ours - 1.15).abs() < 1e-9 && (kept[1].ours - 1.07).abs() < 1e-9);
    assert_eq!(kept[0].reference, Some(2.0));
    let slow = rows(&figures([[700.0, 720.0], [850.0, 800.0], [1400.0, 1440.0]])).unwrap();
    assert!(slow.iter().all(|row| !row.is_kept()));
}

#[test]
fn what_is_missing_is_no_success() {
    for missing in 0..3 {
        let mut figures = figures([[1.0; 2]; 3]);
        figures.0.remove(missing);
        assert!(rows(&figures).is_err(), "{missing}");
    }
}

#[test]
fn the_best_times_of_two_runs_count() {
    let best = figures([[700.0, 720.0]; 3]).better(figures([[690.0, 730.0]; 3])).unwrap();
    assert_eq!((best.0[0].write_ns, best.0[0].read_ns), (690.0, 720.0));
    assert!(figures([[1.0; 2]; 3]).better(Figures(Vec::new())).is_err());
}
