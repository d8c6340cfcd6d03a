//! `metier verify`: checks that installed skills were not changed.

use metier_host::HostStore;
use serde_json::json;

use crate::exit::Exit;
use crate::installing::{record_failed, store};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, one_line};

/// Check that installed skills were not changed
///
/// Every file is digested again and compared with what was installed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if nothing was changed, else with 1.

Examples:
  metier verify
  metier verify pdf --json")]
pub(crate) struct Args {
    /// Skills to check [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let progress = Progress::begin(output, "checking installed skills");
    let verified = store.verify_installed(&args.names)?;
    drop(progress);
    let changed = verified.iter().filter(|skill| !skill.differences.is_empty()).count();
    record_failed(&store, HostStore::failed_verifications(&verified), output);
    if args.json {
        output.json(&json!({ "skills": verified }))?;
    } else {
        for skill in verified.iter().filter(|skill| !skill.differences.is_empty()) {
            let name = one_line(&skill.name);
            match skill.digest {
                Some(digest) => {
                    let differs = output.colored("differs", false);
                    output.line(format_args!("{name} {differs} from what was installed ({digest})"))?;
                }
                None => {
                    let was_not = output.colored("was not installed", false);
                    output.line(format_args!("{name} {was_not} by metier"))?;
                }
            }
            for difference in &skill.differences {
                output.line(format_args!("  {}", one_line(difference)))?;
            }
        }
        let fine = counted(verified.len() - changed, "skill");
        let rest = if changed == 0 {
            String::new()
        } else {
            format!(", {changed} changed; `metier update` repairs installed skills")
        };
        output.summary(format!("{fine} unchanged{rest}"))?;
    }
    Ok(if changed == 0 { Exit::Done } else { Exit::Findings })
}
