//! Benches.
pub mod children;
pub mod dumbbell;
