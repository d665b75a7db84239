//! Workflows: staged delivery with artifacts and gates.

mod bad_input;
mod commands;
mod crew;
mod decisions;
pub mod desk;
mod events;
mod gate;
mod list;
mod run;
mod safety;
mod stages;
mod told_why;
mod ways;
