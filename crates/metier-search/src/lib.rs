//! Finds skills for a task by words and by meaning.
//!
//! [`Search::open`] prepares a [`Catalog`](metier_catalog::Catalog), and [`Search::query`] returns the best
//! [`SearchHit`]s. All data is in the binary; nothing is downloaded or sent anywhere.
//!
//! *Architecture invariant:* this crate reads the `SKILL.md` files of a catalog and its own index file, but not
//! the environment, the clock or the terminal. Finding skills on disk is the task of `metier-catalog`.

mod build;
mod error;
mod index;
mod lexical;
mod meaning;
mod postings;
mod question;
mod search;
mod snippet;
mod store;
mod synonyms;
mod table;
mod target;
mod text;
mod words;

pub use error::SearchError;
pub use search::{Search, SearchHit, SearchMatch};
