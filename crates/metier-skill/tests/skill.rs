//! All suites of this crate, as one program: each one more is compiled and linked for itself.

mod behaviour;
mod digest;
mod properties;
mod reference;
mod regressions;
mod shared_folder;
