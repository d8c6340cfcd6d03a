//! Archives as strangers make them: hostile and odd ones, built byte by byte; packing; signatures.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "archives/common.rs"]
mod common;
#[path = "archives/fine.rs"]
mod fine;
#[path = "archives/hostile.rs"]
mod hostile;
#[path = "archives/hostile_tar.rs"]
mod hostile_tar;
#[path = "archives/hostile_zip.rs"]
mod hostile_zip;
#[path = "archives/packing.rs"]
mod packing;
#[path = "archives/properties.rs"]
mod properties;
#[path = "archives/refused.rs"]
mod refused;
#[path = "archives/signatures.rs"]
mod signatures;
#[path = "../../../tests/shared/skips.rs"]
mod skips;
#[path = "archives/tar_writer.rs"]
mod tar_writer;
#[path = "archives/zip_writer.rs"]
mod zip_writer;
