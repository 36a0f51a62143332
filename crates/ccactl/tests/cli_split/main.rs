//! `ccactl split` as its users and the ends of its connections see it, in network namespaces of their own.

mod ends;
mod input;
mod killed;
mod place;
mod streams;
mod transparent;
mod upload;
