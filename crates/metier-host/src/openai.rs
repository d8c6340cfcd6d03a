//! Model servers that prompts run on, reached as the environment says.

use std::path::{Path, PathBuf};

use metier_harness::{InjectedSkills, OPENAI_BASE_URL, OpenAi, OpenAiApi, OpenAiSettings, SkillTools};
use metier_home::{MountOptions, Secret};

use crate::error::HostError;
use crate::host::Metier;
use crate::settings::read_named;

/// The variable with the API key.
const KEY: &str = "OPENAI_API_KEY";
/// The variable with the base URL.
const BASE_URL: &str = "OPENAI_BASE_URL";

impl Metier {
    /// Prepares a model server with one of `OpenAI`'s APIs: their own, `LiteLLM`, or a local one.
    pub const fn openai(&self) -> OpenAiBuilder<'_> {
        OpenAiBuilder {
            metier: self,
            base_url: None,
            api: OpenAiApi::Responses,
            model: None,
            key_file: None,
            injected: InjectedSkills::None,
        }
    }
}

/// Options for asking a model server: see [`Metier::openai`].
#[derive(Debug)]
pub struct OpenAiBuilder<'a> {
    metier: &'a Metier,
    base_url: Option<String>,
    api: OpenAiApi,
    model: Option<String>,
    key_file: Option<PathBuf>,
    injected: InjectedSkills,
}

impl OpenAiBuilder<'_> {
    /// Sets the address that the API's paths are below. Without it, `OPENAI_BASE_URL` counts, else it is `OpenAI`'s own server.
    #[must_use]
    pub fn base_url(self, base_url: impl Into<String>) -> Self {
        Self { base_url: Some(base_url.into()), ..self }
    }

    /// Sets the API. The default is the Responses API.
    #[must_use]
    pub fn api(self, api: OpenAiApi) -> Self {
        Self { api, ..self }
    }

    /// Sets the model. An evaluation can name another one.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// Reads the API key from a file. Without it, it is in `OPENAI_API_KEY`.
    #[must_use]
    pub fn key_file(self, path: &Path) -> Self {
        Self { key_file: Some(self.metier.environment().absolute(path)), ..self }
    }

    /// Chooses the skills whose instructions the model has from the start.
    #[must_use]
    pub fn inject(self, injected: InjectedSkills) -> Self {
        Self { injected, ..self }
    }

    /// The settings, to be changed further.
    pub fn settings(self) -> Result<OpenAiSettings, HostError> {
        let environment = self.metier.environment();
        let mut skills = SkillTools::new(environment.homes());
        let rules = self.metier.settings().mount_profile().rules();
        skills.mount = MountOptions { rules, ..MountOptions::default() };
        skills.injected = self.injected;
        let mut settings = OpenAiSettings::new(skills);
        let from_environment = || environment.variable(BASE_URL).map(str::to_owned);
        if let Some(base_url) = self.base_url.or_else(from_environment) {
            settings.base_url = base_url;
        }
        settings.api = self.api;
        settings.model = self.model;
        settings.key = match &self.key_file {
            Some(path) => Some(key_in(path)?),
            None => environment.variable(KEY).map(Secret::new),
        };
        if settings.key.is_none() && settings.base_url == OPENAI_BASE_URL {
            return Err(HostError::NoKey);
        }
        Ok(settings)
    }

    /// The model server as a harness: something that prompts run on.
    pub fn harness(self) -> Result<OpenAi, HostError> {
        Ok(OpenAi::new(self.settings()?))
    }
}

/// The key in a file, which may end with an empty line.
fn key_in(path: &Path) -> Result<Secret, HostError> {
    let text = read_named(path).map_err(|source| HostError::read(path, source))?;
    match text.trim() {
        "" => Err(HostError::EmptyKey { path: path.to_owned() }),
        key => Ok(Secret::new(key)),
    }
}

#[cfg(test)]
mod tests {
    use metier_skill::Coded as _;

    use super::*;
    use crate::environment::Environment;

    fn metier(environment: Environment) -> Metier {
        Metier::builder().environment(environment).build().unwrap()
    }

    #[test]
    fn the_key_comes_from_the_environment_or_a_file() {
        let place = tempfile::tempdir().unwrap();
        let environment = || Environment::new(place.path(), place.path());
        let error = metier(environment()).openai().harness().unwrap_err();
        assert_eq!(error.code(), "no-api-key");
        let settings = metier(environment().with_variable(KEY, "sk-1")).openai().settings().unwrap();
        assert_eq!((settings.key.unwrap().expose(), settings.base_url.as_str()), ("sk-1", OPENAI_BASE_URL));
        std::fs::write(place.path().join("key"), "sk-2\n").unwrap();
        let host =
            metier(environment().with_variable(KEY, "sk-1").with_variable(BASE_URL, "http://localhost:1"));
        let settings = host.openai().key_file(Path::new("key")).settings().unwrap();
        assert_eq!(
            (settings.key.unwrap().expose(), settings.base_url.as_str()),
            ("sk-2", "http://localhost:1")
        );
        std::fs::write(place.path().join("key"), "\n").unwrap();
        assert_eq!(host.openai().key_file(Path::new("key")).settings().unwrap_err().code(), "empty-api-key");
        assert!(host.openai().key_file(Path::new("missing")).settings().is_err());
        // A server of one's own may need none.
        let settings = metier(environment()).openai().base_url("http://localhost:1").settings().unwrap();
        assert_eq!(settings.key, None);
    }
}
