//! What a host makes of an environment and settings: layers and their origins, catalogs, skill lists, sessions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(feature = "guard")]
#[path = "host/hooks.rs"]
mod hooks;

use std::fs;
use std::path::{Path, PathBuf};

use metier_host::{Environment, HostError, Layer, Metier, Overrides, SettingOrigin, Settings};
use metier_journal::JournalAddress;
use metier_skill::{Coded as _, Profile};

/// A home with a project in it that has a skill.
struct Place {
    _directory: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let place = Self { _directory: directory, base };
        place.write("project/.git/HEAD", "");
        place.skill("project/skills/pdf", "Fills in forms.");
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, path: &str, description: &str) {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
        self.write(&format!("{path}/SKILL.md"), &text);
    }

    fn environment(&self) -> Environment {
        Environment::new(self.base.join("home"), self.base.join("project"))
    }

    fn metier(&self) -> Metier {
        Metier::builder().root("skills").environment(self.environment()).build().unwrap()
    }
}

fn settings(environment: &Environment) -> Settings {
    Settings::read(environment, &Overrides::default()).unwrap()
}

#[test]
fn later_layers_win_and_say_so() {
    let place = Place::new();
    let environment = place.environment();
    assert_eq!(settings(&environment).profile.origin, SettingOrigin::Default);
    place.write("home/.config/metier/config.toml", "profile = \"strict\"\nindex = false\n");
    let read = settings(&environment);
    assert_eq!(read.profile.value, Profile::Strict);
    assert_eq!(read.profile.origin.layer(), Some(Layer::Person));
    place.write("project/metier.toml", "profile = \"lenient\"\n");
    // What is not trusted is not obeyed.
    assert_eq!(settings(&environment).profile.value, Profile::Strict);
    environment.trust().mark(&place.base.join("project")).unwrap();
    let read = settings(&environment);
    assert_eq!((read.profile.value, read.profile.origin.layer()), (Profile::Lenient, Some(Layer::Project)));
    assert_eq!(read.index.origin.layer(), Some(Layer::Person));
    let environment = environment.with_variable("METIER_PROFILE", "standard");
    let read = settings(&environment);
    assert_eq!(
        (read.profile.value, read.profile.origin.to_string()),
        (Profile::Standard, "METIER_PROFILE".to_owned())
    );
    let mut overrides = Overrides::default();
    overrides.profile = Some(Profile::Lenient);
    let read = Settings::read(&environment, &overrides).unwrap();
    assert_eq!(read.profile.origin.layer(), Some(Layer::Flags));
}

#[test]
fn a_project_does_not_say_what_is_recorded_unless_the_person_names_its_file() {
    let place = Place::new();
    let environment = place.environment();
    environment.trust().mark(&place.base.join("project")).unwrap();
    place.write("project/metier.toml", "journal = \"own.db\"\n");
    let read = settings(&environment);
    assert_eq!(read.recording.journal.origin, SettingOrigin::Default);
    assert!(read.notes.iter().any(|note| note.contains("a project cannot set")), "{:?}", read.notes);
    let environment = environment.with_variable("METIER_CONFIG", "metier.toml");
    let read = settings(&environment);
    let own = JournalAddress::file(place.base.join("project/own.db"));
    assert_eq!(read.recording.journal.value, Some(own));
    assert_eq!(read.notes, Vec::<String>::new());
}

#[cfg(feature = "home")]
#[test]
fn skills_are_linked_into_the_home_of_the_user_and_unlinked() {
    use metier_home::Agent;

    let place = Place::new();
    let metier = Metier::builder().root("skills").environment(place.environment()).build().unwrap();
    let catalog = metier.catalog().unwrap();
    let mounts = catalog.mounts_to_remove(Agent::Goose, &["pdf".to_owned()]).unwrap();
    let link = place.base.join("home").join(Agent::Goose.skills_directory()).join("pdf");
    for is_new in [true, false] {
        let change = catalog.link(Agent::Goose, &mounts, false).unwrap();
        assert_eq!((change.links.len(), change.links[0].is_new, &change.links[0].link), (1, is_new, &link));
        assert!(link.join("SKILL.md").is_file());
    }
    assert!(catalog.unlink(Agent::Goose, &mounts).unwrap().links[0].is_new);
    assert!(link.symlink_metadata().is_err() && place.base.join("project/skills/pdf/SKILL.md").is_file());
}

#[test]
fn errors_have_codes() {
    let place = Place::new();
    let code = |environment: Environment, roots: &[&str]| {
        let builder = roots.iter().fold(Metier::builder(), |builder, root| builder.root(*root));
        let made = builder.environment(environment).build().and_then(|metier| metier.catalog().map(drop));
        made.map_err(|error| error.code())
    };
    assert_eq!(code(place.environment(), &["skills"]), Ok(()));
    assert_eq!(code(place.environment(), &["nowhere"]), Err("root-not-found"));
    assert_eq!(code(place.environment(), &["skills:king"]), Err("override-invalid"));
    let variable = |name: &str, value: &str| place.environment().with_variable(name, value);
    assert_eq!(code(variable("METIER_PROFILE", "x"), &[]), Err("variable-invalid"));
    assert_eq!(code(variable("METIER_CONFIG", "gone.toml"), &[]), Err("settings-file-not-found"));
    place.write("home/.config/metier/config.toml", "unknown = 1\n");
    assert_eq!(code(place.environment(), &[]), Err("settings-invalid"));
}

#[test]
fn what_is_printed_for_debugging_has_no_secrets() {
    let place = Place::new();
    let text = "[telemetry]\nendpoint = \"http://localhost:4318\"\nheaders = { authorization = \"Bearer s3cret\" }\n";
    place.write("home/.config/metier/config.toml", text);
    let printed = format!("{:?}", place.metier());
    assert!(printed.contains("localhost:4318") && printed.contains("authorization"), "{printed}");
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn an_environment_of_a_host_has_the_account_of_the_process() {
    let (own, read) = (Environment::new("/h", "/w"), Environment::read());
    assert_eq!((own.account, own.uid, own.is_root), (read.account, read.uid, read.is_root));
    assert_eq!((own.account_home, own.machine), (read.account_home, read.machine));
}

#[test]
fn roots_of_the_builder_are_the_only_ones() {
    let place = Place::new();
    place.skill("home/.agents/skills/mine", "Mine.");
    let names = |metier: &Metier| {
        let catalog = metier.catalog().unwrap();
        catalog.skills().map(|skill| skill.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&place.metier()), ["pdf"]);
    let usual = Metier::builder().environment(place.environment()).build().unwrap();
    assert!(names(&usual).contains(&"mine".to_owned()));
    let error = place.metier().catalog().unwrap().not_found("pfd");
    assert!(matches!(&error, HostError::NoSkill { near, .. } if near == &["pdf"]), "{error}");
}

#[test]
fn the_skill_list_follows_the_rules_about_states() {
    let place = Place::new();
    place.skill("project/skills/zip", "Packs files.");
    place.skill("project/skills/secret", "For people.");
    place.skill("project/skills/quiet", "Not told.");
    let mut overrides = Overrides::default();
    overrides.roots = vec!["skills".to_owned()];
    overrides.states = vec!["secret=user-only".to_owned(), "quiet=name-only".to_owned()];
    let metier = Metier::builder().overrides(overrides).environment(place.environment()).build().unwrap();
    let text = metier.catalog().unwrap().skill_list().task("pack files").render().text;
    assert!(text.contains("Packs files.") && text.contains("quiet"), "{text}");
    assert!(!text.contains("secret") && !text.contains("Not told."), "{text}");
    let position = |word: &str| text.find(word).unwrap();
    if cfg!(feature = "search") {
        assert!(position("Packs files.") < position("Fills in forms."), "{text}");
    }
    let rendered = metier.catalog().unwrap().skill_list().budget(60).render();
    assert!(rendered.tokens <= 60);
}

#[cfg(feature = "session")]
mod sessions {
    use metier_host::{Approve, SystemClock, now};
    use metier_journal::{Clock as _, JournalReader, Trigger};

    use super::*;

    #[test]
    fn a_session_records_in_the_journal_of_the_builder() {
        let place = Place::new();
        let builder = Metier::builder().root("skills").journal("audit.db");
        let metier = builder.environment(place.environment()).build().unwrap();
        let mut session = metier.session().approver(Approve::deny()).id("one").start().unwrap();
        assert!(session.activate("pdf").unwrap().content.contains("Do it."));
        session.end().unwrap();
        let address = metier.journal_address().unwrap();
        assert_eq!(address.as_file().unwrap(), place.base.join("project/audit.db"));
        assert!(JournalReader::open(&address).unwrap().size().unwrap() >= 3);
    }

    #[test]
    fn a_saved_session_goes_on_where_it_was() {
        let place = Place::new();
        let metier = place.metier();
        let open = || metier.session().id("work").open().unwrap();
        let mut session = open();
        assert!(!session.activate("pdf").unwrap().already_active);
        assert_eq!(session.close().unwrap(), Vec::<String>::new());
        let mut session = open();
        assert!(session.activate("pdf").unwrap().already_active);
        session.close().unwrap();
    }

    #[test]
    fn a_tool_call_is_a_models_whoever_has_the_session() {
        let place = Place::new();
        place.write("project/skills/pdf/notes.md", "Notes.");
        place.write("project/skills/pdf/scripts/fill.sh", "#!/bin/sh\n");
        let mut overrides = Overrides::default();
        (overrides.roots, overrides.states) = (vec!["skills".to_owned()], vec!["pdf=user-only".to_owned()]);
        let metier = Metier::builder().overrides(overrides).environment(place.environment()).build().unwrap();
        let mut session = metier.session().trigger(Trigger::User).start().unwrap();
        let name = ("skill_name", "pdf");
        let calls: [(&str, &[(&str, &str)]); 3] = [
            ("load_skill", &[name]),
            ("read_skill_resource", &[name, ("resource_name", "notes.md")]),
            ("run_skill_script", &[name, ("script_name", "scripts/fill.sh")]),
        ];
        for (tool, arguments) in calls {
            let error = session.dispatch(tool, arguments.iter().copied().collect()).unwrap_err();
            assert_eq!(error.code(), "skill-not-for-models", "{tool}: {error}");
        }
        assert_eq!(session.read("pdf", "notes.md").unwrap().bytes, b"Notes.");
    }

    #[test]
    fn the_tools_of_a_session_follow_the_settings_and_the_builder() {
        let place = Place::new();
        place.skill("project/skills/zip", "Compresses files into an archive.");
        place.write("project/skills/pdf/scripts/fill.sh", "#!/bin/sh\n");
        place.write("project/src/main.c", "");
        place.write("home/.config/metier/config.toml", "tool_names = \"dotted\"\n");
        let metier = place.metier();
        let session = || metier.session().work_directory("src");
        let mut started = session().start().unwrap();
        let tools = started.tools();
        assert_eq!(tools[3].name, "skills.run_script");
        let work = place.base.join("project/src").display().to_string();
        assert!(tools[3].description.contains(&work), "{}", tools[3].description);
        let arguments = [("skill_name", "pdf"), ("script_name", "scripts/fill.sh")];
        let refusal = started.dispatch("skills.run_script", arguments.into_iter().collect()).unwrap_err();
        let root = place.base.join("project/skills").display().to_string();
        assert!(
            refusal.text().contains(&format!("metier approve --root {root}:user pdf")),
            "{}",
            refusal.text()
        );
        // A synonym, which only the ranking knows.
        if cfg!(feature = "search") {
            let query = [("query", "compression")].into_iter().collect();
            let text = started.dispatch("skills.list", query).unwrap().text;
            assert!(text.starts_with("zip:"), "{text}");
        }
        assert!(metier.session().work_directory("skills").start().is_err(), "a skill root");
    }

    #[test]
    fn a_session_that_is_opened_records_where_it_is_told() {
        let place = Place::new();
        let (metier, other) = (place.metier(), place.base.join("other.db"));
        let builder = Metier::builder().root("skills").journal(other.display().to_string());
        let elsewhere = builder.environment(place.environment()).build().unwrap();
        let recorder = elsewhere.recorder().unwrap();
        let session = metier.session().recorder(&recorder).open().unwrap();
        session.close().unwrap();
        let mut reader = JournalReader::open(&elsewhere.journal_address().unwrap()).unwrap();
        let mut kind = |at: u64| reader.record(at).unwrap().unwrap().event["kind"].clone();
        let kinds = [kind(0), kind(1), kind(2)];
        assert_eq!(kinds, ["journal.created", "session.started", "session.ended"]);
        assert_eq!(recorder.close(), Vec::<String>::new());
        assert!(!metier.journal_address().unwrap().as_file().unwrap().exists());
    }

    #[test]
    fn nothing_of_metier_is_a_work_directory() {
        let place = Place::new();
        let metier = place.metier();
        let reserved = metier.reserved_paths();
        let open = |path: &str| {
            let path = place.base.join(path);
            fs::create_dir_all(&path).unwrap();
            metier.work_directory(&path, false, &reserved).map(drop).map_err(|error| error.code())
        };
        assert_eq!(open("elsewhere"), Ok(()));
        for path in ["home", "home/.config/metier", "home/.local/state/metier", "project/skills"] {
            assert!(open(path).is_err(), "{path}");
        }
    }

    #[test]
    fn the_clock_goes_on() {
        let (first, second) = (now(), SystemClock.now());
        assert!(first <= second);
        assert_ne!(SystemClock.id(), SystemClock.id());
    }
}

/// What the person's launcher is, an agent is started by as well.
#[cfg(feature = "harness")]
#[test]
fn an_agent_is_started_by_the_launcher_that_was_found() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let noted = place.base.join("noted");
    let programs =
        [("metier", format!("#!/bin/sh\n: > {}\n", noted.display())), ("claude", "#!/bin/sh\n".to_owned())];
    for (name, text) in programs {
        place.write(&format!("bin/{name}"), &text);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.base.join("bin").join(name), executable).unwrap();
    }
    let mut environment = place.environment();
    environment.path = place.base.join("bin").into();
    let metier = Metier::builder().environment(environment).build().unwrap();
    let setup = metier.home(metier_home::Agent::ClaudeCode).setup().unwrap();
    // It is no launcher, and so nothing is started; but it was asked.
    setup
        .make(&metier_prompt::WorkspaceFiles::default())
        .unwrap()
        .run([] as [&str; 0])
        .map(drop)
        .unwrap_err();
    assert!(noted.exists());
}
