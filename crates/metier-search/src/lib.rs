//! Finds skills by what a person or a model wants done: by words, and by what the words mean.
//!
//! [`Search::open`] prepares a [`Catalog`](metier_catalog::Catalog) and [`Search::query`] answers with the
//! [`SearchHit`]s that fit best. Everything is in the binary; nothing is fetched, and nothing leaves the machine.
//!
//! *Architecture invariant:* this crate reads the `SKILL.md` files of a catalog and its own index file, but not the
//! environment, the clock or the terminal. It does not look for skills; `metier-catalog` does.

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
