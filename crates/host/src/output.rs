//! Files that are never written through somebody else's.
