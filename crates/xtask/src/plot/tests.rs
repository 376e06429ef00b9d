use super::*;

fn chart(axis: Axis) -> Chart {
    let bars = vec![
        Bar::new(Kind::Ours, "ours <1>", 10.0).limit(Some(20.0)),
        Bar::new(Kind::Other, "a & b", 1000.0).shown("a thousand"),
    ];
    let groups =
        vec![Group { name: "first".to_owned(), bars }, Group { name: String::new(), bars: Vec::new() }];
    Chart { title: "Time <to> read".to_owned(), about: "ns; less is better".to_owned(), axis, groups }
}

/// The widths of the bars, in their order.
fn widths(svg: &str) -> Vec<f64> {
    let bars = svg.lines().filter(|line| line.starts_with("<rect") && !line.contains("ground"));
    bars.map(|bar| attribute(bar, "width")).collect()
}

fn attribute(line: &str, name: &str) -> f64 {
    let (_, rest) = line.split_once(&format!(" {name}=\"")).expect("the attribute is there");
    rest.split('"').next().and_then(|value| value.parse().ok()).expect("it is a number")
}

#[test]
fn every_tag_closes_and_all_text_is_escaped() {
    let svg = chart(Axis::Linear).svg();
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("every tag ends");
        let name = inside.split(' ').next().expect("split yields something");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if inside.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
    for text in [
        "Time &lt;to&gt; read",
        ">ours &lt;1&gt;</text>",
        ">a &amp; b</text>",
        ">a thousand</text>",
        ">first</text>",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
}

#[test]
fn bars_are_as_long_as_their_figures() {
    let linear = widths(&chart(Axis::Linear).svg());
    assert!((linear[1] / linear[0] - 100.0).abs() < 2.0, "{linear:?}");
    // From 5, the next round number below 10, to 1000.
    let logarithmic = widths(&chart(Axis::Logarithmic).svg());
    let expected = (200f64).log10() / (2f64).log10();
    assert!((logarithmic[1] / logarithmic[0] - expected).abs() < 0.1, "{logarithmic:?}");
}

#[test]
fn limits_are_drawn_where_their_figure_would_end() {
    let svg = chart(Axis::Linear).svg();
    let limit = svg.lines().find(|line| line.contains("class=\"limit\"")).expect("there is one");
    let bar = svg.lines().find(|line| line.contains("class=\"ours\"")).expect("there is one");
    let (left, width) = (attribute(bar, "x"), attribute(bar, "width"));
    assert!((attribute(limit, "x1") - left - 2.0 * width).abs() < 0.3, "{limit}");
}

#[test]
fn nothing_leaves_the_picture() {
    let wild = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e12];
    for axis in [Axis::Linear, Axis::Logarithmic] {
        let bars = wild.map(|value| Bar::new(Kind::Floor, "x", value)).into_iter().collect();
        let groups = vec![Group { name: String::new(), bars }];
        let svg = Chart { title: String::new(), about: String::new(), axis, groups }.svg();
        assert!(widths(&svg).iter().all(|width| (0.0..WIDTH).contains(width)), "{svg}");
        assert!(!svg.contains("\"NaN") && !svg.contains("\"inf"), "{svg}");
    }
}

#[test]
fn a_chart_of_nothing_is_a_picture_too() {
    for axis in [Axis::Linear, Axis::Logarithmic] {
        let svg = Chart { title: String::new(), about: String::new(), axis, groups: Vec::new() }.svg();
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    }
}

#[test]
fn words_at_the_axis_do_not_run_into_each_other() {
    let bars = vec![
        Bar::new(Kind::Other, "a label that is long, so that little is left for bars", 3e6)
            .shown("x".repeat(30)),
    ];
    let groups = vec![Group { name: String::new(), bars }];
    let svg = Chart { title: String::new(), about: String::new(), axis: Axis::Linear, groups }.svg();
    let ticks = svg.lines().filter(|line| line.starts_with("<text class=\"tick\""));
    let places = ticks.map(|tick| (attribute(tick, "x"), tick.split(['<', '>']).nth(2).map_or(0, str::len)));
    let places: Vec<(f64, usize)> = places.collect();
    assert!(places.len() > 1, "{svg}");
    for pair in places.windows(2) {
        let [(left, len), (right, next_len)] = pair else { continue };
        assert!(right - left >= (len + next_len) as f64 * LETTER / 2.0 - 0.2, "{svg}");
    }
}

#[test]
fn axes_begin_and_end_at_round_numbers() {
    let ticks = |axis, values: &[f64]| {
        let ticks = Scale::over(axis, values.iter().copied()).ticks();
        ticks.into_iter().map(number).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ticks(Axis::Linear, &[3.0, 17.0]), "0 5 10 15 20");
    assert_eq!(ticks(Axis::Linear, &[0.7]), "0 0.200 0.400 0.600 0.800 1");
    assert_eq!(ticks(Axis::Logarithmic, &[1.1, 30.0]), "1 2 5 10 20 50");
    assert_eq!(ticks(Axis::Logarithmic, &[3.0, 40_000.0]), "10 100 1,000 10,000");
}
