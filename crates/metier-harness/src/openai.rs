//! Model servers that speak one of `OpenAI`'s two APIs.

mod chat;
mod conversation;
mod decoder;
mod http;
mod reply;
mod request;
mod responses;
mod sse;

use std::fmt;
use std::time::Duration;

use metier_home::Secret;
use serde_json::{Map, Value};

pub use self::decoder::{OpenAiApi, OpenAiDecoder};
pub use self::reply::{ModelCall, ModelReply, ReplyProblem};
pub use self::sse::{ServerEvent, SseSplitter};

use self::conversation::OpenAiConversation;
use crate::error::HarnessError;
use crate::harness::{Conversation, Harness, Interrupts, Opening, PromptTools};
use crate::offered::SkillTools;
use crate::usage::{Cost, TokenUsage};

/// Where `OpenAI`'s own server is.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// A model behind one of `OpenAI`'s two APIs: their own server, `LiteLLM`, or a local one.
///
/// metier is the agent here: it sends the prompt, calls the tools that the model asks for, and sends the results, until the model
/// answers. The model has no files and no shell. It loads the prompt's skills through tools of the session, or has their
/// instructions from the beginning: see [`SkillTools`].
#[derive(Debug, Clone)]
pub struct OpenAi {
    settings: OpenAiSettings,
}

/// How a model server is reached and asked.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenAiSettings {
    /// The address that the API's paths are below.
    pub base_url: String,
    /// Which API is used.
    pub api: OpenAiApi,
    /// The API key. Servers on the same machine often need none.
    pub key: Option<Secret>,
    /// Further headers, for example for a gateway.
    pub headers: Vec<(String, Secret)>,
    /// The model, where an evaluation names none.
    pub model: Option<String>,
    /// Further members of every request, for example `temperature` or `reasoning`.
    pub parameters: Map<String, Value>,
    /// What tokens cost, for servers that do not say so.
    pub prices: Option<Prices>,
    /// How often a request is repeated that the server refuses for the moment.
    pub retries: Retries,
    /// How many requests one prompt may take. A model that still calls tools after that is stopped.
    pub requests_max: u64,
    /// How the prompt's skills reach the model.
    pub skills: SkillTools,
}

impl OpenAiSettings {
    /// `OpenAI`'s own server, without a key.
    pub fn new(skills: SkillTools) -> Self {
        Self {
            base_url: OPENAI_BASE_URL.to_owned(),
            api: OpenAiApi::default(),
            key: None,
            headers: Vec::new(),
            model: None,
            parameters: Map::new(),
            prices: None,
            retries: Retries::default(),
            requests_max: 100,
            skills,
        }
    }
}

/// Without parameters: a gateway may take secrets there.
impl fmt::Debug for OpenAiSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiSettings")
            .field("base_url", &self.base_url)
            .field("api", &self.api)
            .field("key", &self.key)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// How requests are repeated that a server refuses for the moment: with the statuses 408, 409, 429 and 5xx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How often one request is repeated.
    pub count: u32,
    /// How long to wait before the first repetition; before each further one, twice as long. A server that says how long to wait
    /// is obeyed.
    pub base: Duration,
    /// The longest wait. A server that asks for more is not asked again.
    pub longest: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { count: 5, base: Duration::from_secs(1), longest: Duration::from_mins(1) }
    }
}

impl Retries {
    /// How long to wait after this many attempts; `None` if it is not worth it.
    fn wait(&self, attempts: u32, asked: Option<Duration>) -> Option<Duration> {
        if attempts > self.count {
            return None;
        }
        let own = self.base.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(self.longest);
        Some(asked.unwrap_or(own)).filter(|wait| *wait <= self.longest)
    }
}

/// What a million tokens cost, in US dollars.
///
/// ```
/// use metier_harness::{Prices, TokenUsage};
///
/// let prices = Prices { input: 2.0, cached: 0.5, output: 8.0 };
/// let usage = TokenUsage { input: 1_000, output: 500, cache_read: 2_000, ..TokenUsage::default() };
/// assert_eq!(prices.of(usage).unwrap().to_string(), "$0.007");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Input tokens that were not in a cache.
    pub input: f64,
    /// Input tokens from a cache.
    pub cached: f64,
    /// Output tokens.
    pub output: f64,
}

impl Prices {
    /// What this usage costs.
    #[expect(clippy::cast_precision_loss, reason = "more tokens than any request has")]
    pub fn of(&self, usage: TokenUsage) -> Option<Cost> {
        let part = |tokens: u64, price: f64| tokens as f64 / 1e6 * price;
        let input = part(usage.input + usage.cache_written, self.input);
        Cost::from_dollars(input + part(usage.cache_read, self.cached) + part(usage.output, self.output))
    }
}

impl OpenAi {
    /// A model server with these settings.
    pub const fn new(settings: OpenAiSettings) -> Self {
        Self { settings }
    }
}

const TITLE: &str = "The model server";

impl Harness for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn title(&self) -> &'static str {
        TITLE
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Conversation>, HarnessError> {
        Ok(Box::new(OpenAiConversation::new(self.settings.clone(), opening)?))
    }

    fn skill_tools(&self) -> Option<&SkillTools> {
        Some(&self.settings.skills)
    }

    fn tools(&self) -> Option<&dyn PromptTools> {
        Some(self)
    }

    fn interrupt(&self) -> Option<&dyn Interrupts> {
        Some(self)
    }
}

impl PromptTools for OpenAi {
    fn called_as(&self, tool: &str) -> String {
        tool.to_owned()
    }
}

impl Interrupts for OpenAi {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_the_longest() {
        let second = Duration::from_secs;
        let retries = Retries { count: 5, base: second(1), longest: second(6) };
        let waits: Vec<Option<u64>> =
            (1..=6).map(|attempts| retries.wait(attempts, None).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(6), Some(6), None]);
        // What the server asks for counts, unless it is too long.
        assert_eq!([3, 7].map(|asked| retries.wait(1, Some(second(asked)))), [Some(second(3)), None]);
    }
}
