//! Functions of C that glibc has in a new version since 2.35. The packages are for 2.34 (RHEL 9) and later, so the program
//! brings its own.

/// `hypot(3)`.
#[unsafe(no_mangle)]
extern "C" fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// `hypotf(3)`.
#[unsafe(no_mangle)]
extern "C" fn hypotf(x: f32, y: f32) -> f32 {
    libm::hypotf(x, y)
}
