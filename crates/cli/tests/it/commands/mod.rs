//! Every command's output and errors as a person sees them: one file a command.

#[macro_use]
mod snapshot;

mod add;
mod agent;
mod check;
mod completions;
mod daemon;
pub mod decision;
mod demo;
mod doctor;
mod emit;
mod explain;
mod general;
mod hook;
mod hosts;
mod install;
mod list;
mod log;
mod new;
mod promote;
mod prompt;
mod remove;
mod replay;
mod run;
mod runbook;
mod schema;
mod serve;
mod stats;
mod test;
mod top;
mod trust;
mod uninstall;
mod untrust;
mod verify;
