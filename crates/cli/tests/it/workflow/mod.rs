//! Workflows: staged delivery with artifacts and gates.

mod bad_input;
mod commands;
mod crew;
pub mod desk;
mod events;
mod gate;
mod run;
mod safety;
mod stages;
