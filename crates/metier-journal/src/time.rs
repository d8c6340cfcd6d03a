//! Points in time, as records contain them and as people write them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time, in microseconds; as text `2026-11-16T14:22:43.123456Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(jiff::Timestamp);

impl Time {
    /// The time this many microseconds after 1970, limited to the years -9999 to 9999.
    pub fn from_micros(micros: i64) -> Self {
        let edge = if micros < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_microsecond(micros).unwrap_or(edge))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// The beginning of its month in UTC.
    #[must_use]
    pub fn month_start(self) -> Self {
        let date = self.0.to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
        date.to_zoned(jiff::tz::TimeZone::UTC).map_or(self, |zoned| Self(zoned.timestamp()))
    }

    /// Its month in UTC, such as `2026-11`.
    pub(crate) fn month(self) -> String {
        let date = self.0.to_zoned(jiff::tz::TimeZone::UTC).date();
        format!("{:04}-{:02}", date.year(), date.month())
    }

    /// Parses a time, or a date, which stands for its beginning in UTC.
    pub fn parse(text: &str) -> Option<Self> {
        let date = || {
            // For a date and time without a zone, the parser would take the date alone.
            let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == 10)?;
            date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
        };
        let time = text.parse().ok().or_else(date)?;
        Some(Self::from_micros(jiff::Timestamp::as_microsecond(time)))
    }
}

impl Time {
    /// Parses a time relative to `now`: also `30m`, `1h` and `2d` (ago), `today`, `yesterday`, and `2026-11-17 14:00` in UTC.
    ///
    /// ```
    /// use metier_journal::Time;
    ///
    /// let now = Time::parse("2026-11-17T12:00:00Z").unwrap();
    /// let at = |text| Time::parse_near(text, now).map(|time| time.to_string());
    /// assert_eq!(at("1h").unwrap(), "2026-11-17T11:00:00.000000Z");
    /// assert_eq!(at("yesterday").unwrap(), "2026-11-16T00:00:00.000000Z");
    /// assert_eq!(at("2026-11-17 09:30").unwrap(), "2026-11-17T09:30:00.000000Z");
    /// assert_eq!(at("soon"), None);
    /// ```
    pub fn parse_near(text: &str, now: Self) -> Option<Self> {
        let midnight = |days: i64| {
            let date = now.0.to_zoned(jiff::tz::TimeZone::UTC).date();
            let date = date.checked_sub(jiff::ToSpan::days(days)).ok()?;
            Some(Self(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp()))
        };
        match text {
            "now" => return Some(now),
            "today" => return midnight(0),
            "yesterday" => return midnight(1),
            _ => {}
        }
        if let Some(time) = Self::parse(text) {
            return Some(time);
        }
        let unit = text.chars().next_back()?;
        let seconds: i64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => {
                // A date and a time without a zone, as `metier audit log` shows them.
                let civil: jiff::civil::DateTime = text.parse().ok()?;
                return Some(Self(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp()));
            }
        };
        let digits = &text[..text.len() - 1];
        let count: i64 = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let micros = count.checked_mul(seconds)?.checked_mul(1_000_000)?;
        Some(Self::from_micros(now.as_micros().checked_sub(micros)?))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("invalid time `{text}`")))
    }
}
