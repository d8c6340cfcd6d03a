//! Homes for Claude Code: E01 to E44, each by its number. What needs a running agent (E50 to E52) is tested with one.

use std::fs;

use metier_home::{
    Agent, BedrockConfig, Home, HostVariables, IsolationConfig, NetworkPolicy, Secret, redacted,
};
use serde_json::{Value, json};

use metier_skill::{Coded as _, is_secret_name};

use crate::common::Ground;

fn settings(home: &Home) -> Value {
    serde_json::from_slice(&fs::read(home.path().join(".claude/settings.json")).unwrap()).unwrap()
}

fn claude(ground: &Ground, env: &[(&str, &str)]) -> Home {
    ground.home(Agent::ClaudeCode, env)
}

const BEDROCK: &[(&str, &str)] =
    &[("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_REGION", "eu-west-1"), ("AWS_PROFILE", "work")];

#[test]
fn e01_a_home_has_a_prefix_and_settings() {
    let ground = Ground::new();
    let home = claude(&ground, &[]);
    let name = home.path().file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("claude-agent-"), "{name}");
    assert!(home.path().join(".claude/settings.json").is_file());
    let mut options = ground.options();
    options.prefix = Some("mine-".to_owned());
    let other = Home::new(Agent::ClaudeCode, &ground.host(&[]), &options).unwrap();
    assert!(other.path().file_name().unwrap().to_str().unwrap().starts_with("mine-"));
}

#[test]
fn e03_only_the_users_settings_count() {
    let ground = Ground::new();
    assert_eq!(claude(&ground, &[]).hermetic_arguments(), ["--setting-sources", "user"]);
}

#[test]
fn e04_the_sandbox_is_on_and_reaches_nothing() {
    let ground = Ground::new();
    let home = claude(&ground, &[]);
    let sandbox = &settings(&home)["sandbox"];
    let expected = json!({
        "enabled": true, "autoAllowBashIfSandboxed": true, "allowUnsandboxedCommands": false,
        "network": { "allowedDomains": [] },
        // E08: where it puts what it needs for a while.
        "filesystem": { "allowWrite": [home.env()["TMPDIR"]] },
    });
    assert_eq!(*sandbox, expected, "E09 to E11: nothing that was not asked for");
}

#[test]
fn e05_to_e11_settings_are_those_that_were_asked_for() {
    let ground = Ground::new();
    let home = ground.home_with(Agent::ClaudeCode, &[], |config| {
        config.network = NetworkPolicy::domains(["b.example", "a.example"]);
        config.network.unix_sockets = vec!["/run/x.sock".into()];
        config.network.all_unix_sockets = true;
        config.network.local_binding = true;
        config.network.http_proxy = Some(8080);
        config.network.socks_proxy = Some(1080);
        config.sandbox.is_enabled = false;
        config.sandbox.allows_bash = false;
        config.sandbox.allows_unsandboxed = true;
        config.sandbox.excluded_commands = vec!["docker".to_owned(), "podman".to_owned()];
        config.sandbox.writable = vec!["/tmp/output".into(), "/var/log".into()];
        config.sandbox.unreadable = vec!["/secret".into()];
        config.sandbox.allows_weaker_nested = true;
        config.sandbox.fails_if_unavailable = true;
        config.sandbox.ignored_files.insert("*".to_owned(), vec!["/etc".to_owned()]);
    });
    let expected = json!({
        "enabled": false, "autoAllowBashIfSandboxed": false, "allowUnsandboxedCommands": true,
        "excludedCommands": ["docker", "podman"], "enableWeakerNestedSandbox": true, "failIfUnavailable": true,
        "filesystem": { "allowWrite": ["/tmp/output", "/var/log"], "denyRead": ["/secret"] },
        "ignoreViolations": { "file": { "*": ["/etc"] } },
        "network": {
            "allowedDomains": ["b.example", "a.example"], "allowUnixSockets": ["/run/x.sock"], "allowAllUnixSockets": true,
            "allowLocalBinding": true, "httpProxyPort": 8080, "socksProxyPort": 1080,
        },
    });
    assert_eq!(settings(&home.unwrap())["sandbox"], expected);
}

#[test]
fn e12_e14_keys_are_in_no_file() {
    let ground = Ground::new();
    let env = settings(&claude(&ground, &[]))["env"].clone();
    assert_eq!(env, json!({ "DISABLE_AUTOUPDATER": "1" }));
    let key =
        |config: &mut metier_home::IsolationConfig| config.api_key = Some(Secret::new("sk-very-secret"));
    let home = ground.home_with(Agent::ClaudeCode, BEDROCK, key).unwrap();
    let env = settings(&home)["env"].clone();
    assert_eq!(
        env,
        json!({ "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_USE_BEDROCK": "0", "CLAUDE_USE_BEDROCK": "0" })
    );
    for file in ground.listing("homes") {
        let text = fs::read(ground.path("homes").join(file)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("very-secret"));
    }
    assert!(!format!("{home:?}").contains("very-secret"), "nor in what is logged");
}

#[test]
fn e13_e15_bedrock_is_taken_over() {
    let ground = Ground::new();
    ground.write("host/.aws/config", "[default]");
    ground.write("host/.claude/settings.json", r#"{"awsAuthRefresh": "aws sso login", "theme": "dark"}"#);
    let home = claude(&ground, BEDROCK);
    let found = settings(&home);
    assert_eq!(found["env"]["CLAUDE_CODE_USE_BEDROCK"], "1");
    assert_eq!(found["awsAuthRefresh"], "aws sso login");
    assert!(found.get("theme").is_none());
}

#[test]
fn e20_e21_a_key_that_is_given_is_the_one() {
    let ground = Ground::new();
    let host = [("ANTHROPIC_API_KEY", "host-key"), BEDROCK[0], BEDROCK[1], BEDROCK[2]];
    let key = |config: &mut metier_home::IsolationConfig| config.api_key = Some(Secret::new("given"));
    let home = ground.home_with(Agent::ClaudeCode, &host, key).unwrap();
    let env = home.env();
    assert_eq!(env["HOME"], home.path().to_str().unwrap());
    assert_eq!((env["ANTHROPIC_API_KEY"].as_str(), env["PATH"].as_str()), ("given", "/usr/bin:/bin"));
    assert_eq!((env["CLAUDE_CODE_USE_BEDROCK"].as_str(), env["CLAUDE_USE_BEDROCK"].as_str()), ("0", "0"));
    assert!(!env.contains_key("AWS_PROFILE") && !env.contains_key("AWS_REGION"));
    assert!(!home.path().join(".aws").exists(), "E34");
}

#[test]
fn e22_to_e24_the_hosts_way_is_passed_on() {
    let ground = Ground::new();
    assert!(!claude(&ground, &[]).env().contains_key("ANTHROPIC_API_KEY"));
    assert_eq!(claude(&ground, &[("ANTHROPIC_API_KEY", "host-key")]).env()["ANTHROPIC_API_KEY"], "host-key");
    assert_eq!(claude(&ground, &[("CLAUDE_CODE_OAUTH_TOKEN", "t")]).env()["CLAUDE_CODE_OAUTH_TOKEN"], "t");
    ground.write("host/.aws/config", "[default]");
    let env =
        json!({ "env": { "AWS_SECRET_ACCESS_KEY": "from-file", "AWS_REGION": "us-east-1", "OTHER": "x" } });
    ground.write("host/.claude/settings.json", env.to_string());
    let home = claude(&ground, BEDROCK);
    let env = home.env();
    assert_eq!(
        (env["AWS_REGION"].as_str(), env["AWS_PROFILE"].as_str()),
        ("eu-west-1", "work"),
        "the shell wins"
    );
    assert_eq!(env["AWS_SECRET_ACCESS_KEY"], "from-file");
    assert!(!env.contains_key("OTHER"));
}

#[test]
fn e25_to_e27_the_rest_of_the_host_comes_only_if_it_is_asked_for() {
    let ground = Ground::new();
    let host = [
        ("MY_VAR", "mine"),
        ("CLAUDE_CONFIG_DIR", "/host/.claude"),
        ("ANTHROPIC_LOG", "x"),
        ("AWS_VAULT", "x"),
        ("GOOGLE_X", "x"),
        ("AZURE_X", "x"),
        ("OPENAI_X", "x"),
        ("HOMEBREW_X", "x"),
        ("NPM_TOKEN", "x"),
        ("DB_PASSWORD", "x"),
        ("CODEX_HOME", "/host/.codex"),
        ("LC_ALL", "C.UTF-8"),
    ];
    let without = claude(&ground, &host);
    assert!(!without.env().contains_key("MY_VAR") && without.env().contains_key("PATH"));
    assert_eq!(without.env()["LC_ALL"], "C.UTF-8");
    let with = ground.home_with(Agent::ClaudeCode, &host, |config| {
        config.include_host_env = true;
        config.env.insert("ANTHROPIC_API_KEY".to_owned(), "explicit".to_owned());
        config.env.insert("HOME".to_owned(), "/elsewhere".to_owned());
    });
    let with = with.unwrap();
    let env = with.env();
    assert_eq!(env["MY_VAR"], "mine");
    for (name, _) in &host[1..11] {
        assert!(!env.contains_key(*name), "{name}");
    }
    assert_eq!(
        (env["ANTHROPIC_API_KEY"].as_str(), env["HOME"].as_str()),
        ("explicit", "/elsewhere"),
        "the last word"
    );
}

#[test]
fn e28_settings_that_cannot_be_read_are_none() {
    let ground = Ground::new();
    for text in ["{ broken", "[]", "7"] {
        ground.write("host/.claude/settings.json", text);
        assert!(!claude(&ground, &[]).env().contains_key("AWS_REGION"));
    }
}

#[test]
fn e29_what_looks_secret_is_not_shown() {
    for name in ["MY_SECRET", "GITHUB_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "KEY_ID"] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in ["AWS_REGION", "AWS_PROFILE", "PATH"] {
        assert!(!is_secret_name(name), "{name}");
    }
    let shown =
        redacted(&[("API_TOKEN".to_owned(), "x".to_owned()), ("PATH".to_owned(), "/bin".to_owned())].into());
    assert_eq!((shown["API_TOKEN"].as_str(), shown["PATH"].as_str()), ("…", "/bin"));
}

#[test]
fn e30_to_e33_aws_comes_along_only_for_bedrock() {
    let ground = Ground::new();
    ground.write("host/.aws/config", "[default]");
    assert!(!claude(&ground, &[]).path().join(".aws").exists(), "without Bedrock it stays");
    let home = claude(&ground, BEDROCK);
    assert_eq!(fs::read_to_string(home.path().join(".aws/config")).unwrap(), "[default]");
    ground.write("other/credentials", "x");
    let path = ground.path("other");
    let home = ground.home_with(Agent::ClaudeCode, BEDROCK, |config| config.aws_config = Some(path));
    assert!(home.unwrap().path().join(".aws/credentials").is_file());

    let bare = Ground::new();
    let error = Home::new(Agent::ClaudeCode, &bare.host(BEDROCK), &bare.options()).unwrap_err();
    assert!(error.to_string().contains("AWS config directory not found"), "{error}");
    assert_eq!((error.code(), bare.homes()), ("home-auth", 0), "E35: nothing is left");
    let env = BEDROCK.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let homeless = HostVariables::new(env);
    let error = Home::new(Agent::ClaudeCode, &homeless, &bare.options()).unwrap_err();
    assert_eq!((error.code(), bare.homes()), ("home-auth", 0));
}

/// E32: what cannot be copied is an error where the agent needs it, and said where it does not.
#[test]
fn e32_what_cannot_be_copied_is_said() {
    let ground = Ground::new();
    // As long as a path can be, so that the copy's would be longer.
    let mut deep = ground.path("aws");
    while deep.as_os_str().len() < 4_040 {
        deep.push("d".repeat((4_070 - deep.as_os_str().len()).min(200)));
    }
    fs::create_dir_all(deep).unwrap();
    let path = ground.path("aws");
    let error = ground.home_with(Agent::ClaudeCode, BEDROCK, |config| config.aws_config = Some(path));
    let error = error.unwrap_err();
    assert_eq!((error.code(), ground.homes()), ("home-auth", 0));
    assert!(error.to_string().contains("failed to copy"), "{error}");

    std::fs::create_dir_all(ground.path("host/.codex")).unwrap();
    // A file that nobody can read from the start.
    std::os::unix::fs::symlink("/proc/self/mem", ground.path("host/.codex/auth.json")).unwrap();
    let home = ground.home(Agent::Codex, &[]);
    assert_eq!(home.warnings().len(), 1);
    assert!(home.warnings()[0].to_string().contains("auth.json"), "{:?}", home.warnings());
}

/// What the host keeps elsewhere is found, and a link is copied as what it leads to: nothing is written through it.
#[test]
fn authentication_is_found_where_the_host_has_moved_it() {
    let ground = Ground::new();
    ground.write("moved/.credentials.json", "credentials");
    ground.write("moved/opencode/auth.json", "auth");
    ground.write("moved/goose/config.yaml", "config");
    let moved = ground.path("moved").to_string_lossy().into_owned();
    for (agent, variable, file) in [
        (Agent::ClaudeCode, "CLAUDE_CONFIG_DIR", ".claude/.credentials.json"),
        (Agent::OpenCode, "XDG_DATA_HOME", ".local/share/opencode/auth.json"),
        (Agent::Goose, "XDG_CONFIG_HOME", ".config/goose/config.yaml"),
    ] {
        let home = ground.home(agent, &[(variable, &moved)]);
        assert!(home.path().join(file).is_file(), "{agent}");
    }
    ground.write("dots/auth.json", "auth");
    fs::create_dir_all(ground.path("host/.codex")).unwrap();
    std::os::unix::fs::symlink("../../dots/auth.json", ground.path("host/.codex/auth.json")).unwrap();
    let home = ground.home(Agent::Codex, &[]);
    let copy = home.path().join(".codex/auth.json");
    assert!(!fs::symlink_metadata(&copy).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(copy).unwrap(), "auth");
}

/// Keys to a cloud are only for those whose models are there; and nothing that looks like a secret comes with the host's variables.
#[test]
fn secrets_that_are_not_needed_stay() {
    let ground = Ground::new();
    let clouds = [("AWS_SECRET_ACCESS_KEY", "x"), ("GOOGLE_APPLICATION_CREDENTIALS", "y")];
    let home = claude(&ground, &clouds);
    assert!(clouds.iter().all(|(name, _)| !home.env().contains_key(*name)));
    let vertex = claude(&ground, &[clouds[1], ("CLAUDE_CODE_USE_VERTEX", "1")]);
    assert_eq!(vertex.env()["GOOGLE_APPLICATION_CREDENTIALS"], "y");
    let secrets = [
        ("STRIPE_KEY", "x"),
        ("DB_PASS", "x"),
        ("GITLAB_PAT", "x"),
        ("NPM_AUTH", "x"),
        ("SSH_AUTH_SOCK", "x"),
        ("DATABASE_URL", "postgres://me:hunter2@host/db"),
    ];
    let all = [&secrets[..], &[("HOMEPAGE_URL", "https://me@host/a:b"), ("EDITOR", "vi")]].concat();
    let home = ground.home_with(Agent::ClaudeCode, &all, |config| config.include_host_env = true).unwrap();
    assert!(secrets.iter().all(|(name, _)| !home.env().contains_key(*name)), "{:?}", home.env().keys());
    assert_eq!(home.env()["EDITOR"], "vi");
}

#[test]
fn e44_bedrock_is_known_by_its_flag_and_region() {
    let ground = Ground::new();
    let found = BedrockConfig::detect(&ground.host(BEDROCK)).unwrap();
    assert_eq!(
        (found.region.as_str(), found.profile.as_deref(), found.source),
        ("eu-west-1", Some("work"), "shell")
    );
    for env in [&[("CLAUDE_CODE_USE_BEDROCK", "true"), BEDROCK[1]][..], &BEDROCK[..1], &BEDROCK[1..]] {
        assert_eq!(BedrockConfig::detect(&ground.host(env)), None, "{env:?}");
    }
    let env = json!({ "env": { "CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1" } });
    ground.write("host/.claude/settings.json", env.to_string());
    assert_eq!(BedrockConfig::detect(&ground.host(&[])).unwrap().source, "host_settings");
}

#[test]
fn e40_to_e43_ways_to_authenticate_are_known_before_anything_is_made() {
    let ground = Ground::new();
    let key = ground.host(&[("ANTHROPIC_API_KEY", "k")]);
    assert!(IsolationConfig::inherit_host_auth(&key).is_ok());
    assert!(IsolationConfig::inherit_host_auth(&ground.host(BEDROCK)).is_ok());
    let none = ground.host(&[]);
    for config in [
        IsolationConfig::inherit_host_auth(&none),
        IsolationConfig::with_api_key(" "),
        IsolationConfig::for_anthropic_api(&none),
        IsolationConfig::for_bedrock(&key, None),
    ] {
        assert_eq!(config.unwrap_err().code(), "home-auth");
    }
    let config = IsolationConfig::for_anthropic_api(&key).unwrap();
    assert_eq!(config.api_key.unwrap().expose(), "k");
    let config = IsolationConfig::for_bedrock(&ground.host(BEDROCK), Some("/aws".into())).unwrap();
    assert_eq!(config.aws_config.as_deref(), Some(std::path::Path::new("/aws")));
    ground.write("host/.claude/settings.json", r#"{"env": {"ANTHROPIC_API_KEY": "in-file"}}"#);
    assert!(IsolationConfig::inherit_host_auth(&none).is_ok(), "or in the host's settings");
    assert!(IsolationConfig::for_anthropic_api(&none).is_err(), "this one looks at variables alone");
}
