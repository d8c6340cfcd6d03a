//! `plugin` with coverage feedback. `scripts/fuzz --libfuzzer` runs it.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(what) = metier_fuzz::check_plugin(bytes) {
        panic!("{what}");
    }
});
