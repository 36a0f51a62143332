//! From the kernel's monotonic clock, which stamps the samples, to wall-clock time.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// One moment read on both clocks. All rows of a recording are converted by this one pair, so a step of the wall clock
/// during the recording does not tear them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// `CLOCK_MONOTONIC` at the start of the recording, ns.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME` at the same moment, ns since the epoch.
    pub unix_ns: u64,
}

impl Clock {
    /// Reads both clocks now.
    #[must_use]
    pub fn now() -> Clock {
        Clock { monotonic_ns: read_ns(ClockId::CLOCK_MONOTONIC), unix_ns: read_ns(ClockId::CLOCK_REALTIME) }
    }

    /// Wall clock of a monotonic time stamp, ns since the epoch.
    #[must_use]
    pub fn unix_ns_of(&self, monotonic_ns: u64) -> i64 {
        (self.unix_ns as i64).wrapping_add(monotonic_ns.wrapping_sub(self.monotonic_ns) as i64)
    }

    /// µs since the start of the recording; a sample that another CPU stamped just before it counts as 0.
    #[must_use]
    pub fn elapsed_us(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.monotonic_ns) / 1000
    }

    /// The start as RFC 3339, UTC, with milliseconds.
    #[must_use]
    pub fn started_rfc3339(&self) -> String {
        rfc3339(self.unix_ns)
    }
}

/// RFC 3339, UTC, with milliseconds.
#[must_use]
pub fn rfc3339(unix_ns: u64) -> String {
    let t = Utc::from_unix_s(unix_ns / 1_000_000_000);
    let ms = unix_ns / 1_000_000 % 1000;
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{ms:03}Z", t.year, t.month, t.day, t.hour, t.minute, t.second)
}

/// The present in UTC as `20261120T185121Z`, for file names.
#[must_use]
pub fn utc_compact() -> String {
    let t = Utc::from_unix_s(read_ns(ClockId::CLOCK_REALTIME) / 1_000_000_000);
    format!("{:04}{:02}{:02}T{:02}{:02}{:02}Z", t.year, t.month, t.day, t.hour, t.minute, t.second)
}

fn read_ns(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux; a failure would be a broken vDSO.
    let now = clock_gettime(clock).expect("the kernel has this clock");
    Duration::from(now).as_nanos() as u64
}

struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Utc {
    /// Gregorian date of a Unix time. Years begin in March here, so that the leap day is the last day of a year, and
    /// 400 years (an era) always have 146 097 days.
    fn from_unix_s(unix_s: u64) -> Utc {
        let days = unix_s / 86_400 + 719_468; // from 0000-03-01
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let second_of_day = unix_s % 86_400;
        Utc {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * march_month + 2) / 5 + 1,
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc3339(unix_s: u64) -> String {
        Clock { monotonic_ns: 0, unix_ns: unix_s * 1_000_000_000 + 7_000_000 }.started_rfc3339()
    }

    #[test]
    fn dates_are_gregorian() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59.007Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(rfc3339(1_709_251_199), "2024-02-29T23:59:59.007Z");
        assert_eq!(rfc3339(1_795_201_200), "2026-11-20T19:00:00.007Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00.007Z");
    }

    #[test]
    fn a_time_stamp_keeps_its_distance_to_the_start() {
        let clock = Clock { monotonic_ns: 5_000, unix_ns: 1_000_000 };
        assert_eq!(clock.unix_ns_of(6_234), 1_001_234);
        assert_eq!(clock.unix_ns_of(4_999), 999_999);
        assert_eq!(clock.elapsed_us(8_999), 3);
        assert_eq!(clock.elapsed_us(4_999), 0);
    }
}
