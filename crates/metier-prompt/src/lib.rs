//! What a model sees of skills: the catalogue of those it can use, in several formats and within a budget.
//!
//! *Architecture invariant:* pure text. This crate reads no disk, runs nothing, and knows neither catalogs nor
//! agents; whoever calls it says what there is to show.

mod catalogue;

pub use catalogue::{Catalogue, Format, Listed, Rendered};
