//! Runs a script while its client waits: progress, and cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use metier_sandbox::{Cancel, Sink, Stream};
use metier_session::tools::{self, LeftOutput};
use metier_session::{FinishedScript, PreparedScript, Session, SkillToolAnswer};
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::answer::Refusal;
use crate::connection::{McpConnection, principal};
use crate::governed::{Brought, Governed};
use crate::output::{Outputs, Owner};
use crate::place;
use crate::slots::{self, Client, Entry, Slot};

/// How often a client is told about the progress of a script.
const PROGRESS: Duration = Duration::from_millis(500);

impl McpConnection {
    /// Runs a script of a skill, and returns its result.
    pub(crate) async fn run(
        &self,
        arguments: Value,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<Governed<SkillToolAnswer>, Refusal> {
        let work = place::choose(&self.library.options.work, self.root(context).await);
        let names = self.library.options.tool_names;
        let mut call = tools::script_call(arguments, names, work.clone())?;
        let cancel = Cancel::new().map_err(|error| Refusal::Broken(error.to_string()))?;
        call.cancel = cancel.clone();
        let prepare = move |session: &mut Session| Ok(session.prepare_script(call.clone())?);
        let progress = Progress::new(context);
        let hold = |is_answered| self.slot(context, &progress, is_answered);
        // The slot is held until the output is out of memory, so that the number of outputs in memory is limited.
        let (slot, prepared) = match self.in_session_with(context, brought, hold, prepare).await? {
            Governed::Asks(question) => return Ok(Governed::Asks(question)),
            Governed::Done(prepared) => prepared,
        };
        let finished = self.watch(prepared, cancel, context, &progress).await?;
        // The run is recorded, whether the client still waits or not.
        let nobody_stops_it = CancellationToken::new();
        let (library, ran_in) = (Arc::clone(&self.library), place::ran_in(work.as_ref()));
        let owner = Owner { client: self.reader(context), session: Arc::as_ptr(&self.conversation).addr() };
        let finish = move |session: &mut Session| {
            let report = session.finish_script(finished)?;
            let answer = tools::script_answer(report, &ran_in, |stream, bytes| {
                keep(&library.outputs, owner, stream, bytes, names.read())
            });
            drop(slot);
            Ok(answer)
        };
        self.conversation.with(&nobody_stops_it, finish).await.map(Governed::Done)
    }

    /// Waits for a slot to run a script in. Nothing has started yet, so a cancelled call has no effect.
    async fn slot(
        &self,
        context: &RequestContext<RoleServer>,
        progress: &Progress<'_>,
        is_answered: bool,
    ) -> Result<Slot, Refusal> {
        let client = match principal(context) {
            number @ 1.. => Client::Token(number),
            0 => Client::Connection(Arc::as_ptr(&self.conversation).addr()),
        };
        let queued = match self.library.slots.enter(client, is_answered) {
            Entry::Free(slot) => return Ok(slot),
            Entry::Queued(queued) => queued,
            Entry::Full => return Err(Refusal::Busy { running: slots::OF_ONE, waiting: slots::WAITING }),
        };
        let mut slot = std::pin::pin!(queued.slot());
        let mut ticks = tokio::time::interval(PROGRESS);
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => return Err(Refusal::Gone),
                () = self.library.turns.stop.cancelled() => return Err(Refusal::Gone),
                slot = &mut slot => return slot.ok_or(Refusal::Gone),
                _ = ticks.tick() => progress.tell("waiting for another script to finish".to_owned()).await,
            }
        }
    }

    /// Waits for a script, reports progress, and stops it if the call is cancelled.
    async fn watch(
        &self,
        prepared: PreparedScript,
        cancel: Cancel,
        context: &RequestContext<RoleServer>,
        progress: &Progress<'_>,
    ) -> Result<FinishedScript, Refusal> {
        let (printed, so_far) = watch::channel(0_u64);
        let ends = EndsWith(cancel);
        let mut running = tokio::task::spawn_blocking(move || prepared.run(&mut Counting(printed)));
        let stop = &self.library.turns.stop;
        let mut ticks = tokio::time::interval(PROGRESS);
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
                _ = ticks.tick(), if !is_cancelled => {
                    let message = format!("running, {} bytes of output", *so_far.borrow());
                    progress.tell(message).await;
                }
            }
        }
    }
}

/// Stores a stream that is too long to be shown, and returns how to read the rest.
fn keep(outputs: &Outputs, owner: Owner, stream: &str, bytes: &[u8], tool: &str) -> LeftOutput {
    match outputs.keep(owner, stream, bytes) {
        Ok(address) => {
            let note = format!("read the rest with `{tool}`, `resource_name` \"{address}\" and a `range`");
            LeftOutput::kept(address, note)
        }
        Err(error) => LeftOutput::gone(format!("the rest could not be stored: {error}")),
    }
}

/// Progress notifications for a client that requested them. The number increases with each message, as the protocol
/// requires, also from waiting to running.
struct Progress<'a> {
    context: &'a RequestContext<RoleServer>,
    told: AtomicU32,
}

impl<'a> Progress<'a> {
    const fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, told: AtomicU32::new(0) }
    }

    async fn tell(&self, message: String) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let count = self.told.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let seconds = PROGRESS.as_secs_f64() * f64::from(count);
        let progress = ProgressNotificationParam::new(token, seconds).with_message(message);
        // A disconnected client is noticed elsewhere.
        let _ = self.context.peer.notify_progress(progress).await;
    }
}

/// Stops a script if its call is cancelled.
struct EndsWith(Cancel);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Counts the output of a script.
struct Counting(watch::Sender<u64>);

impl Sink for Counting {
    fn take(&mut self, _: Stream, bytes: &[u8]) {
        self.0.send_modify(|count| *count += bytes.len() as u64);
    }
}
