//! The processor time of a thread, which other programs do not influence; on systems without such a clock,
//! wall-clock time.

use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Start(Time);

impl Start {
    pub fn now() -> Self {
        Self(now())
    }

    pub fn elapsed(self) -> Duration {
        since(self.0)
    }
}

#[cfg(target_os = "linux")]
type Time = Duration;

#[cfg(target_os = "linux")]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn since(start: Duration) -> Duration {
    now().saturating_sub(start)
}

#[cfg(not(target_os = "linux"))]
type Time = std::time::Instant;

#[cfg(not(target_os = "linux"))]
fn now() -> Time {
    Time::now()
}

#[cfg(not(target_os = "linux"))]
fn since(start: Time) -> Duration {
    start.elapsed()
}
