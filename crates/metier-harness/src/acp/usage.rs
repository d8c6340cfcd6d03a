//! What an agent used. Each agent reports something else at the end of a turn, and most of them nothing before it; so
//! requests to the model are counted, and estimated by the length of the texts until more is known.

use serde_json::Value;

use super::agents::Reports;
use crate::usage::{Cost, TokenUsage, UsageSoFar};

/// How many bytes a token has at most in ordinary text: estimates are rather too small than too large.
const TOKEN_BYTES: usize = 8;

const NOTHING: TokenUsage = TokenUsage { input: 0, output: 0, cache_read: 0, cache_written: 0 };

/// The usage of a conversation.
#[derive(Debug, Clone)]
pub(super) struct AcpUsage {
    reports: Reports,
    /// Of all turns that have ended.
    ended: TokenUsage,
    /// Of all requests of those turns.
    ended_requests: u64,
    cost: Option<Cost>,
    /// What the conversation had cost before this process.
    cost_before: Option<Cost>,
    /// The requests of this turn but the last, and how many they are.
    earlier: TokenUsage,
    count: u64,
    last: Option<TokenUsage>,
    /// Whether what the agent says now belongs to the last request.
    is_answering: bool,
    /// The size of the last request with its answer, if that was reported.
    size: Option<u64>,
    /// How much text the model was sent, as far as it is known, and how much it wrote since.
    context: usize,
    written: usize,
}

impl AcpUsage {
    pub(super) const fn new(reports: Reports) -> Self {
        Self {
            reports,
            ended: NOTHING,
            ended_requests: 0,
            cost: None,
            cost_before: None,
            earlier: NOTHING,
            count: 0,
            last: None,
            is_answering: false,
            size: None,
            context: 0,
            written: 0,
        }
    }

    /// The model reads a text: a prompt, or the result of a tool.
    pub(super) fn read(&mut self, text: &str) {
        self.is_answering = false;
        self.context = self.context.saturating_add(text.len());
    }

    /// The model writes a text, or the arguments of a call. Returns whether that is a new request.
    pub(super) fn wrote(&mut self, length: usize) -> bool {
        let is_new = !std::mem::replace(&mut self.is_answering, true);
        if is_new {
            self.settle();
            self.context = self.context.saturating_add(std::mem::take(&mut self.written));
        }
        self.written = self.written.saturating_add(length);
        let [input, output] = [self.context, self.written].map(|length| (length / TOKEN_BYTES) as u64);
        self.last = Some(TokenUsage { input, output, ..NOTHING });
        is_new
    }

    /// A report while the agent works. Returns whether it is news.
    pub(super) fn report(&mut self, update: &Value) -> bool {
        let before = self.cost;
        let cost = update.get("cost").filter(|cost| cost.get("currency").is_none_or(|unit| unit == "USD"));
        let amount = cost.and_then(|cost| cost.get("amount")).and_then(Value::as_f64);
        self.cost = amount.and_then(Cost::from_dollars).or(self.cost);
        if self.reports == Reports::EachSize && self.last.is_some() {
            self.size = update.get("used").and_then(Value::as_u64).filter(|size| *size > 0);
        }
        before != self.cost
    }

    /// The last request has ended.
    fn settle(&mut self) {
        let Some(mut last) = self.last.take() else { return };
        if let Some(size) = self.size.take() {
            last.input = size.saturating_sub(last.output);
        }
        self.earlier = self.earlier + last;
        self.count = self.count.saturating_add(1);
    }

    /// The conversation was loaded: what was reported until now was before this process.
    pub(super) const fn loaded(&mut self) {
        self.cost_before = self.cost;
    }

    /// The end of a turn, with what the agent says of it.
    pub(super) fn end(&mut self, result: &Value) {
        let said = of_result(result);
        let is_said = said.counted().total() > 0;
        if self.reports == Reports::EachSize && is_said {
            // What is said of the last one is more exact than its size.
            (self.size, self.last) = (None, Some(said));
        }
        self.settle();
        let total = match self.reports {
            Reports::Process if is_said => said,
            Reports::Turn if is_said => self.ended + said,
            // The conversation grows, so that no request was larger than the last one.
            Reports::LastRequest if is_said => self.ended + times(said, self.count.max(1)),
            _ => self.ended + self.earlier,
        };
        self.ended = total.max(self.ended);
        self.ended_requests = self.ended_requests.saturating_add(std::mem::take(&mut self.count));
        self.earlier = NOTHING;
        self.is_answering = false;
    }

    /// What the conversation has used so far.
    pub(super) fn so_far(&self) -> UsageSoFar {
        let before = self.cost_before.unwrap_or_default().microdollars;
        let less = |cost: Cost| Cost { microdollars: cost.microdollars.saturating_sub(before) };
        let turns =
            self.ended_requests.saturating_add(self.count).saturating_add(self.last.iter().len() as u64);
        let usage = self.ended + self.earlier + self.last.unwrap_or_default();
        UsageSoFar { usage, cost: self.cost.map(less), turns }
    }
}

/// What the result of a turn says.
fn of_result(result: &Value) -> TokenUsage {
    let count = |path: &str| result.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    let usage = TokenUsage {
        input: count("/usage/inputTokens"),
        output: count("/usage/outputTokens"),
        cache_read: count("/usage/cachedReadTokens"),
        cache_written: count("/usage/cachedWriteTokens"),
    };
    let quota = |name: &str| count(&format!("/_meta/quota/token_count/{name}"));
    let of_quota = TokenUsage { input: quota("input_tokens"), output: quota("output_tokens"), ..NOTHING };
    usage.max(of_quota)
}

const fn times(usage: TokenUsage, count: u64) -> TokenUsage {
    TokenUsage {
        input: usage.input.saturating_mul(count),
        output: usage.output.saturating_mul(count),
        cache_read: usage.cache_read.saturating_mul(count),
        cache_written: usage.cache_written.saturating_mul(count),
    }
}
