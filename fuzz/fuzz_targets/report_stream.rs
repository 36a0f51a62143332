//! An Arrow stream, as `ccactl report` reads it.

#![no_main]

mod report;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| report::report("x.arrows", bytes));
