//! The host that a command works with: its flags, and the notes that it prints.

use clap::builder::NonEmptyStringValueParser;
use metier_host::{Approve, HostCatalog, HostError, HostSession, Metier, Overrides};
use metier_journal::Trigger;
use metier_policy::Reach;
use metier_skill::Profile;

use crate::exit::UsageError;
use crate::output::Output;
use crate::progress::Progress;

/// Options that select and configure the catalog.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Flags {
    /// Search DIR instead of the usual directories. TIER is builtin, org, user (the default) or `third_party`.
    /// Can be repeated
    #[arg(long, value_name = "DIR[:TIER]", help_heading = "Catalog")]
    root: Vec<String>,

    /// Rules that skills must follow to be loaded: strict, standard or lenient. Lenient, the default, loads what
    /// Claude Code and Codex load
    #[arg(long = "profile", id = "catalog_profile", value_name = "PROFILE", value_parser = profile, help_heading = "Catalog")]
    profile: Option<Profile>,

    /// Same as `--profile lenient`. `mount`, `link` and `run` then also accept skills that other agents refuse
    #[arg(long, conflicts_with = "catalog_profile", help_heading = "Catalog")]
    lenient: bool,

    /// Set the state of all skills whose name matches GLOB: on, name-only, user-only or off. Can be repeated
    #[arg(long, value_name = "GLOB=STATE", help_heading = "Catalog")]
    state: Vec<String>,

    /// Read every skill again, without using or writing the index
    #[arg(long, help_heading = "Catalog")]
    no_index: bool,
}

/// The profile of this name.
pub(crate) fn profile(text: &str) -> Result<Profile, String> {
    Profile::named(text).ok_or_else(|| "use strict, standard or lenient".to_owned())
}

impl Flags {
    /// Whether directories are named.
    pub(crate) fn has_roots(&self) -> bool {
        !self.root.is_empty()
    }

    pub(crate) fn overrides(&self) -> Overrides {
        let mut overrides = Overrides::default();
        overrides.roots.clone_from(&self.root);
        overrides.profile = self.profile.or_else(|| self.lenient.then_some(Profile::Lenient));
        overrides.states.clone_from(&self.state);
        overrides.no_index = self.no_index;
        overrides
    }

    /// The host with these flags; its notes are not printed.
    pub(crate) fn open_silently(&self) -> Result<Metier, HostError> {
        Metier::builder().overrides(self.overrides()).build()
    }

    /// The host with these flags; its notes are printed.
    pub(crate) fn open(&self, output: &mut Output) -> anyhow::Result<Metier> {
        let metier = self.open_silently()?;
        tell(&metier.settings().notes, output)?;
        Ok(metier)
    }

    /// Every skill that can be used here.
    pub(crate) fn find(&self, output: &mut Output) -> anyhow::Result<HostCatalog> {
        scan(&self.open(output)?, output)
    }

    /// The catalog and the id in it of the skill that is given by its name, id or path.
    pub(crate) fn find_with(
        &self,
        skill: &str,
        output: &mut Output,
    ) -> anyhow::Result<(HostCatalog, String)> {
        find_with(&self.open(output)?, skill, output)
    }
}

/// The catalog of an open host and the id in it of the skill that is given by its name, id or path.
pub(crate) fn find_with(
    metier: &Metier,
    skill: &str,
    output: &mut Output,
) -> anyhow::Result<(HostCatalog, String)> {
    let mut catalog = scan(metier, output)?;
    save(&mut catalog, output)?;
    Ok(catalog.with_skill(skill)?)
}

/// Every skill that a host finds.
pub(crate) fn scan(metier: &Metier, output: &mut Output) -> anyhow::Result<HostCatalog> {
    let progress = Progress::begin(output, "looking for skills");
    let catalog = metier.catalog()?;
    drop(progress);
    tell(catalog.notes(), output)?;
    Ok(catalog)
}

/// Prints notes of the host.
pub(crate) fn tell(notes: &[String], output: &mut Output) -> anyhow::Result<()> {
    Ok(notes.iter().try_for_each(|note| output.note(format_args!("note: {note}")))?)
}

/// Saves the index for the next time. Failing to save it is a note, not an error.
pub(crate) fn save(catalog: &mut HostCatalog, output: &mut Output) -> anyhow::Result<()> {
    output.flush()?;
    if let Err(error) = catalog.save() {
        let error = anyhow::Error::new(error);
        output.note(format_args!("note: the index could not be saved: {error:#}"))?;
    }
    Ok(())
}

/// Saves the index when the command has nothing else to do.
pub(crate) fn finish(mut catalog: HostCatalog, output: &mut Output) -> anyhow::Result<()> {
    save(&mut catalog, output)?;
    // The process ends here. Dropping 10,000 skills one by one was measured at 3 to 5% of the CPU time of a command.
    std::mem::forget(catalog);
    Ok(())
}

/// Prints, below a list of skills, which refusals of the person are stored for them.
pub(crate) fn note_refusals(catalog: &HostCatalog, output: &mut Output) -> anyhow::Result<()> {
    let refusals = catalog.refusals();
    Ok(refusals.iter().try_for_each(|refused| output.note(format_args!("note: {}", refused.message)))?)
}

/// The part of the network that is meant: all of it, unless hosts are named.
pub(crate) fn reach(network: bool, hosts: &[String]) -> Result<Option<Reach>, UsageError> {
    match (network, hosts) {
        (false, _) => Ok(None),
        (true, []) => Ok(Some(Reach::WHOLE)),
        (true, hosts) => Reach::hosts(hosts).map(Some).map_err(|error| UsageError(error.to_string())),
    }
}

/// The session that a step belongs to.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SessionArgs {
    /// Continue the session with this id, or start a resumable one. Without it, this step is a session of its own
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
}

impl SessionArgs {
    /// Continues the session or starts one. Questions go to the terminal, if one is attached.
    pub(crate) fn open(&self, catalog: &HostCatalog, output: &mut Output) -> anyhow::Result<HostSession> {
        let builder = catalog.metier().session().catalog(catalog.catalog());
        let builder = builder.actor("user").trigger(Trigger::User);
        let Some(id) = &self.session else {
            return Ok(builder.approver(Approve::ask_terminal()).open()?);
        };
        // If the note cannot be printed, it still waits.
        let busy = || {
            let note = format_args!("note: another command is using session `{id}`; waiting for it");
            let _ = output.note(note);
        };
        Ok(builder.id(id).approver(Approve::ask_terminal_in(id)).when_busy(busy).open()?)
    }
}

/// Saves the session for the next command, or ends it if it cannot be resumed.
pub(crate) fn close(session: HostSession, output: &mut Output) -> anyhow::Result<()> {
    tell(&session.close()?, output)
}
