//! Skills that stay what they were: every file by its digest, every skill by the digest of its manifest.
//!
//! Whoever wants to know later what a skill was when it was used finds it here ([`Store::keep`], [`Store::manifest`]).
//! What is read is digested again, so that a changed byte is an error and never an answer.

mod error;
mod store;

pub use error::StoreError;
pub use store::Store;
