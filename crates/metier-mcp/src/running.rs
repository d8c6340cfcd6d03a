//! A script that runs while its client waits: progress, and an end when nobody wants it any more.

use std::time::Duration;

use metier_sandbox::{Cancel, Sink, Stream};
use metier_session::{FinishedScript, PreparedScript};
use rmcp::model::{JsonObject, ProgressNotificationParam};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Refusal};
use crate::connection::Connection;
use crate::governed::{Brought, Governed};
use crate::tools::{self, Run};

/// How often a client that wants to know is told how far a script is.
const PROGRESS: Duration = Duration::from_millis(500);

impl Connection {
    /// Runs a script of a skill, and tells what came of it.
    pub(crate) async fn run(
        &self,
        tool: &'static str,
        arguments: Option<JsonObject>,
        brought: Brought<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Governed<Answer>, Refusal> {
        let Run { mut call, temporary } =
            tools::prepare(tool, arguments, self.library.options.work.as_deref())?;
        let cancel = Cancel::new().map_err(|error| Refusal::Broken(error.to_string()))?;
        call.cancel = cancel.clone();
        let prepared =
            self.governed(context, brought, move |session| Ok(session.prepare_script(call)?)).await?;
        let prepared = match prepared {
            Governed::Asks(question) => return Ok(Governed::Asks(question)),
            Governed::Done(prepared) => prepared,
        };
        let finished = self.watch(prepared, cancel, context).await?;
        // That it has run is recorded, whoever still waits for it.
        let nobody_stops_it = CancellationToken::new();
        let report = self
            .conversation
            .with(&nobody_stops_it, move |session, _| Ok(session.finish_script(finished)?))
            .await?;
        // A script may have left a great deal there.
        let _ = tokio::task::spawn_blocking(move || drop(temporary)).await;
        Ok(Governed::Done(tools::report(&report)))
    }

    /// Waits for a script, says how far it is, and ends it when nobody wants it any more.
    async fn watch(
        &self,
        prepared: PreparedScript,
        cancel: Cancel,
        context: &RequestContext<RoleServer>,
    ) -> Result<FinishedScript, Refusal> {
        let (printed, so_far) = watch::channel(0_u64);
        let ends = EndsWith(cancel);
        let turn = self.library.turns.script().await;
        let mut running = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            prepared.run(&mut Counting(printed))
        });
        let stop = &self.library.turns.stop;
        let token = context.meta.get_progress_token();
        let mut ticks = tokio::time::interval(PROGRESS);
        let mut seconds = 0.0;
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                finished = &mut running => {
                    return finished.map_err(|error| Refusal::Broken(error.to_string()));
                }
                () = context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    ends.0.cancel();
                }
                () = stop.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    ends.0.cancel();
                }
                _ = ticks.tick() => {
                    seconds += PROGRESS.as_secs_f64();
                    let Some(token) = token.clone().filter(|_| !is_cancelled) else { continue };
                    let message = format!("running; {} bytes printed", *so_far.borrow());
                    let progress = ProgressNotificationParam::new(token, seconds).with_message(message);
                    // A client that is gone is noticed elsewhere.
                    let _ = context.peer.notify_progress(progress).await;
                }
            }
        }
    }
}

/// Ends a script when nobody waits for it any more.
struct EndsWith(Cancel);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Counts what a script prints.
struct Counting(watch::Sender<u64>);

impl Sink for Counting {
    fn take(&mut self, _: Stream, bytes: &[u8]) {
        self.0.send_modify(|count| *count += bytes.len() as u64);
    }
}
