//! Names of others, fit for a terminal.
