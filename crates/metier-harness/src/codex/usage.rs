//! What Codex used: the totals of all threads since this conversation began.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::frame::text;
use crate::usage::{TokenUsage, UsageSoFar};

/// The maximum number of threads (the conversation and its subagents) whose usage is counted.
const THREADS: usize = 10_000;

/// The usage of a conversation.
#[derive(Debug, Default)]
pub(super) struct CodexUsage {
    threads: BTreeMap<String, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    /// What was used before this process.
    before: TokenUsage,
    total: TokenUsage,
    requests: u64,
}

impl CodexUsage {
    /// A report about a thread. What it says before the first turn is from an earlier process. Returns whether it is news.
    pub(super) fn report(&mut self, params: &Value, is_before: bool) -> bool {
        let total = tokens(params.pointer("/tokenUsage/total"));
        let last = tokens(params.pointer("/tokenUsage/last"));
        let id = text(params, "threadId").unwrap_or_default();
        if !self.threads.contains_key(id) {
            if self.threads.len() >= THREADS {
                return false;
            }
            let before = if is_before { total } else { minus(total, last) };
            self.threads.insert(id.to_owned(), Thread { before, total: before, requests: 0 });
        }
        let Some(thread) = self.threads.get_mut(id) else { return false };
        // Reports are repeated, for example when a turn is interrupted.
        let now = thread.total.max(total);
        if now == thread.total {
            return false;
        }
        thread.total = now;
        thread.requests += 1;
        true
    }

    /// What the conversation has used so far.
    pub(super) fn so_far(&self) -> UsageSoFar {
        self.threads.values().fold(UsageSoFar::default(), |sum, thread| {
            let usage = minus(thread.total, thread.before);
            sum + UsageSoFar { usage, cost: None, turns: thread.requests }
        })
    }
}

/// Tokens from caches and into caches are part of the input there.
fn tokens(usage: Option<&Value>) -> TokenUsage {
    let count =
        |name: &str| usage.and_then(|usage| usage.get(name)).and_then(Value::as_u64).unwrap_or_default();
    let (cache_read, cache_written) = (count("cachedInputTokens"), count("cacheWriteInputTokens"));
    let input = count("inputTokens").saturating_sub(cache_read).saturating_sub(cache_written);
    TokenUsage { input, output: count("outputTokens"), cache_read, cache_written }
}

const fn minus(more: TokenUsage, less: TokenUsage) -> TokenUsage {
    TokenUsage {
        input: more.input.saturating_sub(less.input),
        output: more.output.saturating_sub(less.output),
        cache_read: more.cache_read.saturating_sub(less.cache_read),
        cache_written: more.cache_written.saturating_sub(less.cache_written),
    }
}
