//! The thread that talks to the server. With it, a store can be used anywhere, including in another
//! asynchronous runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::address::Address;
use super::failure::Failure;
use super::session::Session;

/// What a job does with the session. It never leaves the thread.
pub(super) type Step<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

type Job = Box<dyn FnOnce(&mut Session) -> Step<'_, ()> + Send>;

/// A session on a thread of its own.
pub(super) struct Link {
    /// Nothing only while this is dropped.
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    pub(super) fn start(address: &Address) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::refused(format!("its thread cannot be started: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let session = Session::new(address.clone());
        let (jobs, its) = unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("metier-journal".to_owned())
            .spawn(move || serve(runtime, session, its))
            .map_err(failed)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Has this done there, and waits for it.
    pub(super) fn run<T, F>(&self, job: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&mut Session) -> Step<'_, Result<T, Failure>> + Send + 'static,
    {
        let (reply, answer) = sync_channel(1);
        let job: Job = Box::new(move |session| {
            Box::pin(async move {
                // Who asked waits for this.
                let _ = reply.send(job(session).await);
            })
        });
        let gone = || Failure::refused("its thread has ended");
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }

    /// Has this done, and done again if only the connection was at fault: what changes nothing can be repeated.
    pub(super) fn run_again<T, F>(&self, job: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&mut Session) -> Step<'_, Result<T, Failure>> + Clone + Send + 'static,
    {
        match self.run(job.clone()) {
            Err(failure) if failure.is_lost() => self.run(job),
            other => other,
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

fn serve(runtime: Runtime, mut session: Session, mut jobs: UnboundedReceiver<Job>) {
    runtime.block_on(async {
        while let Some(job) = jobs.recv().await {
            job(&mut session).await;
        }
        session.close().await;
    });
    // Looking up a host's name cannot be interrupted, and nobody waits for it any more.
    runtime.shutdown_background();
}
