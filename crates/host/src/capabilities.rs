//! Rights that are given up once they have been used.
