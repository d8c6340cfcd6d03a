//! Who is asked by `metier ask`: an agent on this machine, or a model server.

use metier_harness::{Harness, InjectedSkills, OpenAiApi};
use metier_home::Agent;
use metier_host::Metier;
use metier_prompt::SkillMount;

use crate::exit::UsageError;
use crate::mounting::agent;
use crate::placing::Placing;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// An agent on this machine.
    Agent(Agent),
    /// A model server with one of `OpenAI`'s APIs.
    OpenAi,
}

/// The one with a name.
pub(crate) fn asked(text: &str) -> Result<Asked, String> {
    if text == "openai" {
        return Ok(Asked::OpenAi);
    }
    agent(text).map(Asked::Agent)
}

impl Asked {
    /// Its name in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent(agent) => agent.name(),
            Self::OpenAi => "openai",
        }
    }
}

/// How a model server is reached.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelServer {
    /// Which API of the server is used
    #[arg(long, value_name = "API", help_heading = "Model servers (openai)")]
    api: Option<Api>,

    /// Address that the API's paths are below [default: `OPENAI_BASE_URL`, else `https://api.openai.com/v1`]
    #[arg(long, value_name = "URL", help_heading = "Model servers (openai)")]
    base_url: Option<String>,

    /// A skill whose instructions the model has from the start, instead of loading it. Can be repeated
    #[arg(
        long,
        value_name = "SKILL[=NAME]",
        conflicts_with = "all",
        help_heading = "Model servers (openai)"
    )]
    pub(crate) inject: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Api {
    /// Responses, the default
    Responses,
    /// Chat Completions, which most servers have
    Chat,
}

impl ModelServer {
    /// What prompts run on. The last mounts are those of skills to inject.
    pub(crate) fn harness(
        &self,
        asked: Asked,
        place: &Placing,
        keeps: bool,
        metier: &Metier,
        mounts: &[SkillMount],
    ) -> anyhow::Result<Box<dyn Harness>> {
        let agent = match asked {
            Asked::Agent(agent) => agent,
            Asked::OpenAi if keeps => {
                let text = "a model server keeps no conversations: `--keep` and `--resume` are for agents";
                return Err(UsageError(text.to_owned()).into());
            }
            Asked::OpenAi => return self.server(place, metier, mounts),
        };
        if self.is_given() {
            let text = "`--api`, `--base-url` and `--inject` are for `openai`";
            return Err(UsageError(text.to_owned()).into());
        }
        let home = place.home(metier, agent)?;
        Ok(if keeps { home.keep_conversations() } else { home }.harness()?)
    }

    const fn is_given(&self) -> bool {
        self.api.is_some() || self.base_url.is_some() || !self.inject.is_empty()
    }

    fn server(
        &self,
        place: &Placing,
        metier: &Metier,
        mounts: &[SkillMount],
    ) -> anyhow::Result<Box<dyn Harness>> {
        if place.is_given() {
            let text = "`openai` runs no program on this machine: of the options about where and how an agent runs, it has only \
                        `--api-key-file`";
            return Err(UsageError(text.to_owned()).into());
        }
        let mut server = metier.openai().api(match self.api {
            Some(Api::Chat) => OpenAiApi::Chat,
            Some(Api::Responses) | None => OpenAiApi::Responses,
        });
        if let Some(base_url) = &self.base_url {
            server = server.base_url(base_url);
        }
        if let Some(path) = place.api_key_file() {
            server = server.key_file(path);
        }
        let injected = mounts.iter().skip(mounts.len().saturating_sub(self.inject.len()));
        let injected: Vec<String> = injected.filter_map(SkillMount::effective_name).collect();
        Ok(Box::new(server.inject(InjectedSkills::These(injected)).harness()?))
    }
}
