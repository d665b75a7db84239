//! The page in the network: what a paired phone may do, and what is refused to everyone else.

mod client;
mod pairing;
mod requests;
