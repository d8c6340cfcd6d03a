//! `metier verify`: whether installed skills still are what was installed.

use metier_host::HostStore;
use serde_json::json;

use crate::exit::Exit;
use crate::installing::{record_failed, store};
use crate::output::Output;
use crate::table::{counted, one_line};

/// Digest everything that is installed again, and say what was modified
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if every byte is what it was, else with 1.

Examples:
  metier verify
  metier verify pdf --json")]
pub(crate) struct Args {
    /// Which; all, if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let verified = store.verify_installed(&args.names)?;
    let changed = verified.iter().filter(|skill| !skill.differences.is_empty()).count();
    record_failed(&store, HostStore::failed_verifications(&verified), output);
    if args.json {
        output.json(&json!({ "skills": verified }))?;
    } else {
        for skill in verified.iter().filter(|skill| !skill.differences.is_empty()) {
            let name = one_line(&skill.name);
            match skill.digest {
                Some(digest) => output.line(format_args!("{name} is not what was installed ({digest})"))?,
                None => output.line(format_args!("{name} was not installed"))?,
            }
            for difference in &skill.differences {
                output.line(format_args!("  {}", one_line(difference)))?;
            }
        }
        let fine = counted(verified.len() - changed, "skill");
        let rest = if changed == 0 {
            String::new()
        } else {
            format!(", {changed} not; `metier update` puts right what was installed and is changed")
        };
        output.summary(format!("{fine} as installed{rest}"))?;
    }
    Ok(if changed == 0 { Exit::Done } else { Exit::Findings })
}
