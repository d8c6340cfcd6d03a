//! Counts tool calls by tool and outcome.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The number of calls by tool and outcome.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(&'static str, &'static str), u64>>);

impl Metrics {
    /// Counts one call of a tool, with its outcome: `ok`, `asked`, or the code of an error.
    pub(crate) fn count(&self, tool: &'static str, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((tool, outcome)).or_default() += 1;
    }

    /// The metrics in Prometheus format.
    pub(crate) fn text(&self) -> String {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text =
            "# HELP metier_tool_calls_total Tool calls by outcome.\n# TYPE metier_tool_calls_total counter\n"
                .to_owned();
        for ((tool, outcome), count) in &*calls {
            let _ =
                writeln!(text, "metier_tool_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}");
        }
        text
    }
}
