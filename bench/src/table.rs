//! Prints tables: one row per program, one column per number of skills.

use std::fmt;
use std::time::Duration;

/// A table that is filled cell by cell.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    /// Starts the next column.
    pub fn column(&mut self, title: impl Into<String>) {
        self.columns.push(title.into());
    }

    /// Adds a cell to the last column. The row is added if it does not exist.
    pub fn cell(&mut self, row: &str, text: impl Into<String>) {
        let index = self.rows.iter().position(|(title, _)| title == row).unwrap_or_else(|| {
            self.rows.push((row.to_owned(), Vec::new()));
            self.rows.len() - 1
        });
        let cells = &mut self.rows[index].1;
        cells.resize(self.columns.len(), String::from("–"));
        if let Some(last) = cells.last_mut() {
            *last = text.into();
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | {} |", self.columns.join(" | "))?;
        writeln!(f, "|---|{}", "---|".repeat(self.columns.len()))?;
        for (title, cells) in &self.rows {
            let missing = self.columns.len() - cells.len();
            writeln!(f, "| {title} | {}{} |", cells.join(" | "), " | –".repeat(missing))?;
        }
        Ok(())
    }
}

/// A time in milliseconds, or in seconds from ten seconds on.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// Bytes in MiB.
pub fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}

/// The ratio of two numbers.
pub fn ratio(one: f64, other: f64) -> String {
    let ratio = one / other;
    if ratio < 100.0 { format!("{ratio:.2}×") } else { format!("{ratio:.0}×") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let mut table = Table::default();
        table.column("10");
        table.cell("a", "1");
        table.column("20");
        table.cell("b", "2");
        assert_eq!(table.to_string(), "| | 10 | 20 |\n|---|---|---|\n| a | 1 | – |\n| b | – | 2 |\n");
    }
}
