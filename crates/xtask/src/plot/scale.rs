//! From figures to places on an axis.

/// How figures become lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// From zero. A bar twice as long is twice as much.
    Linear,
    /// Each power of ten is as long as the next.
    Logarithmic,
}

/// An axis with its two ends, both of them round numbers.
pub struct Scale {
    axis: Axis,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis that has room for all of these; figures that it has no place for do not count.
    pub fn over(axis: Axis, values: impl Iterator<Item = f64>) -> Self {
        let placed = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = placed.fold((f64::MAX, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
        if most == 0.0 {
            return Self { axis, from: 0.0, to: 1.0 }.on_paper();
        }
        let from = match axis {
            Axis::Linear => 0.0,
            Axis::Logarithmic => round_below(least),
        };
        Self { axis, from, to: round_from(most) }.on_paper()
    }

    /// A logarithm needs somewhere to begin.
    fn on_paper(self) -> Self {
        match self.axis {
            Axis::Logarithmic if self.from == 0.0 => Self { from: self.to / 10.0, ..self },
            _ => self,
        }
    }

    /// Where a figure stands between the ends, from 0 to 1.
    pub fn part(&self, value: f64) -> f64 {
        let part = match self.axis {
            Axis::Linear => value / self.to,
            Axis::Logarithmic => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) }
    }

    /// The figures that the axis names.
    pub fn ticks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Linear => linear_ticks(self.to),
            Axis::Logarithmic => logarithmic_ticks(self.from, self.to),
        }
    }
}

/// 1, 2 and 5 times each power of ten that an axis can reach.
fn round_numbers() -> impl Iterator<Item = f64> {
    (-12..15).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| times_ten_to(digit, power)))
}

/// Divided rather than multiplied by what no double is exactly.
fn times_ten_to(digit: f64, power: i32) -> f64 {
    if power < 0 { digit / 10f64.powi(-power) } else { digit * 10f64.powi(power) }
}

/// The next round number below: the smallest bar is seen too.
fn round_below(value: f64) -> f64 {
    round_numbers().take_while(|&round| round < value).last().unwrap_or(value / 10.0)
}

fn round_from(value: f64) -> f64 {
    round_numbers().find(|&round| round >= value).unwrap_or(value)
}

/// At most six, in round steps.
fn linear_ticks(to: f64) -> Vec<f64> {
    let step = round_numbers().find(|step| step * 5.5 >= to).unwrap_or(to);
    (0..6).map(|index| f64::from(index) * step).filter(|&tick| tick <= to * 1.000_001).collect()
}

/// Powers of ten alone where there are many.
fn logarithmic_ticks(from: f64, to: f64) -> Vec<f64> {
    let inside = |tick: &f64| *tick >= from * 0.999_999 && *tick <= to * 1.000_001;
    let all: Vec<f64> = round_numbers().filter(inside).collect();
    let tens = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    if all.len() > 8 { all.into_iter().filter(tens).collect() } else { all }
}
