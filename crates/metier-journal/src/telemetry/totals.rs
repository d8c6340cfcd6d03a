//! Metrics: what was counted since this process began to send, by name and attributes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::attributes::{Attributes, cut};
use super::messages::{
    CUMULATIVE, Data, Histogram, HistogramDataPoint, KeyValue, Metric, NumberDataPoint, Sum,
};
use super::names;
use super::seen::{Seen, nanoseconds, outcome_word, trigger_word};
use crate::event::{EvaluationEnd, Event, ScriptOutcome};

/// The most combinations of attributes; what comes on top is counted together. Names come from models too, and those make up any number.
const MAX_SERIES: usize = 2000;

/// The upper edges of the histogram's buckets, in seconds.
const EDGES: [f64; 14] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];

/// Each counter with its unit and what it counts.
const COUNTERS: &[(&str, &str, &str)] = &[
    (names::ACTIVATIONS, "{activation}", "Bodies of skills that were handed out"),
    (names::ACTIVATION_FAILURES, "{failure}", "Bodies of skills that were asked for and not handed out"),
    (names::READS, "{read}", "Resources of skills that were handed out"),
    (names::SKILL_TOKENS, "{token}", "What was put into a model's context"),
    (names::SCRIPT_RUNS, "{run}", "Scripts that ran, or were kept from running"),
    (names::TOOL_CALLS, "{call}", "Calls of tools that the policy decided on"),
    (names::EVALUATIONS, "{evaluation}", "Prompts that agents answered, or failed to"),
    (names::EVALUATION_TOKENS, "{token}", "Tokens that agents used for prompts"),
    (names::TOTAL_COST, "{microdollar}", "What agents said that prompts cost"),
    (names::APPROVALS, "{approval}", "Questions that a person answered"),
];

/// The attributes of a series, in a fixed order.
type Labels = Vec<(&'static str, String)>;

/// Everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Totals {
    counts: BTreeMap<(&'static str, Labels), u64>,
    durations: BTreeMap<Labels, Durations>,
    /// The times of the first record and of the latest.
    span: Option<(i64, i64)>,
    /// Whether anything was counted since the metrics were last taken.
    pub(super) changed: bool,
}

#[derive(Debug, Default)]
struct Durations {
    buckets: [u64; EDGES.len() + 1],
    sum: Duration,
    least: Option<Duration>,
    most: Option<Duration>,
}

impl Totals {
    pub(super) fn count(&mut self, seen: &Seen<'_>) {
        let (first, last) = self.span.unwrap_or((seen.time, seen.time));
        self.span = Some((first.min(seen.time), last.max(seen.time)));
        match &seen.event {
            Some(Event::SkillDiscovered { name, tokens, .. }) => {
                self.tokens("catalogue", Some(name), *tokens);
            }
            Some(Event::SkillActivated { name, trigger, tokens, .. }) => {
                let trigger = trigger_word(*trigger);
                self.add(
                    names::ACTIVATIONS,
                    &[(names::SKILL_NAME, name), (names::SKILL_TRIGGER, trigger)],
                    1,
                );
                self.tokens("body", Some(name), *tokens);
            }
            Some(Event::SkillActivationFailed { name, code, .. }) => {
                let labels = [(names::SKILL_NAME, name.as_str()), (names::ERROR_TYPE, code)];
                self.add(names::ACTIVATION_FAILURES, &labels, 1);
            }
            Some(Event::SkillExpanded { name, tokens, .. }) => {
                self.tokens("section", name.as_deref(), *tokens);
            }
            Some(Event::SkillResourceRead { name, tokens, .. }) => {
                self.add(names::READS, &[(names::SKILL_NAME, name)], 1);
                self.tokens("resource", Some(name), *tokens);
            }
            Some(Event::SkillScriptExecuted(script)) => {
                let name = (names::SKILL_NAME, script.name.as_str());
                let outcome = (names::SCRIPT_OUTCOME, outcome_word(script.outcome));
                self.add(names::SCRIPT_RUNS, &[name, outcome], 1);
                // What never started took no time, and would make the rest look fast.
                if !matches!(script.outcome, ScriptOutcome::Denied | ScriptOutcome::Failed) {
                    self.took(&[name, outcome], Duration::from_micros(script.duration_us));
                }
            }
            Some(Event::SkillToolCallDecided { tool, decision, .. }) => {
                let labels = [(names::TOOL_NAME, tool.as_str()), (names::TOOL_CALL_DECISION, decision)];
                self.add(names::TOOL_CALLS, &labels, 1);
            }
            Some(Event::EvaluationEnded(ended)) => self.evaluation(ended),
            Some(Event::SkillApproval { name, access, answer, .. }) => {
                let labels = [
                    (names::SKILL_NAME, name.as_str()),
                    (names::APPROVAL_ACCESS, access),
                    (names::APPROVAL_ANSWER, answer.as_str()),
                ];
                self.add(names::APPROVALS, &labels, 1);
            }
            _ => {}
        }
    }

    fn evaluation(&mut self, ended: &EvaluationEnd) {
        let agent = (names::AGENT, ended.agent.as_str());
        let model = ended.model.as_deref().map(|model| (names::RESPONSE_MODEL, model));
        let failed = ended.code.as_deref().map(|code| (names::ERROR_TYPE, code));
        let labels: Vec<_> = std::iter::once(agent).chain(failed).collect();
        self.add(names::EVALUATIONS, &labels, 1);
        for (kind, tokens) in [("input", ended.input), ("output", ended.output)] {
            let labels: Vec<_> =
                std::iter::once(agent).chain(model).chain([(names::TOKEN_TYPE, kind)]).collect();
            self.add(names::EVALUATION_TOKENS, &labels, tokens);
        }
        if let Some(cost) = ended.cost_microdollars {
            let labels: Vec<_> = std::iter::once(agent).chain(model).collect();
            self.add(names::TOTAL_COST, &labels, cost);
        }
    }

    fn tokens(&mut self, disclosure: &str, name: Option<&str>, tokens: u64) {
        let name = name.map(|name| (names::SKILL_NAME, name));
        let labels: Vec<_> = name.into_iter().chain([(names::DISCLOSURE, disclosure)]).collect();
        self.add(names::SKILL_TOKENS, &labels, tokens);
    }

    fn add(&mut self, metric: &'static str, labels: &[(&'static str, &str)], amount: u64) {
        let mut key = (metric, owned(labels));
        if self.is_full() && !self.counts.contains_key(&key) {
            key.1 = overflow();
        }
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(amount);
        self.changed = true;
    }

    fn took(&mut self, labels: &[(&'static str, &str)], duration: Duration) {
        let mut key = owned(labels);
        if self.is_full() && !self.durations.contains_key(&key) {
            key = overflow();
        }
        let durations = self.durations.entry(key).or_default();
        let bucket = EDGES.partition_point(|edge| *edge < duration.as_secs_f64());
        durations.buckets[bucket] += 1;
        durations.sum = durations.sum.saturating_add(duration);
        durations.least = Some(durations.least.map_or(duration, |least| least.min(duration)));
        durations.most = Some(durations.most.map_or(duration, |most| most.max(duration)));
        self.changed = true;
    }

    fn is_full(&self) -> bool {
        self.counts.len() + self.durations.len() >= MAX_SERIES
    }

    /// All of it as OTLP has it.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let (first, last) = self.span.unwrap_or_default();
        // A point's time begins after its start, and the first record counts.
        let times = (nanoseconds(first.saturating_sub(1)), nanoseconds(last));
        let counters = COUNTERS.iter().map(|(name, unit, description)| {
            let series = self.counts.iter().filter(|((metric, _), _)| metric == name);
            let data_points =
                series.map(|((_, labels), count)| number_point(labels, *count, times)).collect();
            let sum = Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true };
            metric(name, unit, description, Data::Sum(sum))
        });
        let data_points = self.durations.iter().map(|(labels, all)| all.point(labels, times)).collect();
        let histogram = Histogram { data_points, aggregation_temporality: CUMULATIVE };
        let durations =
            metric(names::SCRIPT_DURATION, "s", "How long scripts ran", Data::Histogram(histogram));
        counters.chain([durations]).filter(has_points).collect()
    }
}

impl Durations {
    fn point(&self, labels: &Labels, (start, end): (u64, u64)) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: end,
            count: self.buckets.iter().sum(),
            sum: Some(self.sum.as_secs_f64()),
            bucket_counts: self.buckets.to_vec(),
            explicit_bounds: EDGES.to_vec(),
            min: self.least.map(|least| least.as_secs_f64()),
            max: self.most.map(|most| most.as_secs_f64()),
        }
    }
}

fn metric(name: &str, unit: &str, description: &str, data: Data) -> Metric {
    Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        description: description.to_owned(),
        data: Some(data),
    }
}

fn number_point(labels: &Labels, count: u64, (start, end): (u64, u64)) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: start,
        time_unix_nano: end,
        as_int: Some(i64::try_from(count).unwrap_or(i64::MAX)),
    }
}

fn has_points(metric: &Metric) -> bool {
    match &metric.data {
        Some(Data::Sum(sum)) => !sum.data_points.is_empty(),
        Some(Data::Histogram(histogram)) => !histogram.data_points.is_empty(),
        None => false,
    }
}

fn owned(labels: &[(&'static str, &str)]) -> Labels {
    labels.iter().map(|(key, text)| (*key, cut(text).to_owned())).collect()
}

fn overflow() -> Labels {
    vec![(names::OVERFLOW, "true".to_owned())]
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let add = |all: Attributes, (key, text): &(&'static str, String)| match *key {
        // The two that are no texts.
        names::OVERFLOW => all.flag(key, text == "true"),
        _ => all.text(key, text),
    };
    labels.iter().fold(Attributes::default(), add).into_list()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(totals: &mut Totals, event: Event) {
        let kind = String::new();
        let event = Some(event);
        totals.count(&Seen { id: "1", sequence: 1, session: None, time: 1_000_000, kind, task: None, event });
    }

    fn failed(name: &str) -> Event {
        let trigger = crate::Trigger::Model;
        Event::SkillActivationFailed {
            name: name.to_owned(),
            trigger,
            code: "not-found".to_owned(),
            rule: None,
        }
    }

    #[test]
    fn any_number_of_names_is_a_bounded_number_of_series() {
        let mut totals = Totals::default();
        for number in 0..MAX_SERIES + 500 {
            count(&mut totals, failed(&number.to_string()));
        }
        count(&mut totals, failed("0"));
        assert_eq!(totals.counts.len(), MAX_SERIES + 1);
        assert_eq!(totals.counts[&(names::ACTIVATION_FAILURES, overflow())], 500);
        assert_eq!(totals.counts.values().sum::<u64>(), MAX_SERIES as u64 + 501);
    }

    #[test]
    fn a_duration_on_an_edge_is_below_it() {
        let mut totals = Totals::default();
        for milliseconds in [10, 11, 2_000_000] {
            totals.took(&[], Duration::from_millis(milliseconds));
        }
        let all = &totals.durations[&Vec::new()];
        assert_eq!((all.buckets[0], all.buckets[1], all.buckets[EDGES.len()]), (1, 1, 1));
        assert_eq!((all.least, all.most), (Some(Duration::from_millis(10)), Some(Duration::from_secs(2000))));
    }

    #[test]
    fn nothing_counted_is_nothing_to_send() {
        let mut totals = Totals::default();
        count(&mut totals, Event::SkillDeactivated { name: "pdf".to_owned() });
        assert!(!totals.changed);
        assert_eq!(totals.metrics(), Vec::new());
    }
}
