//! Every command's output and errors as a person sees them: one file a command.

#[macro_use]
pub mod snapshot;

mod add;
mod agent;
mod check;
mod completions;
mod context7;
mod daemon;
pub mod decision;
mod demo;
mod doctor;
mod emit;
mod explain;
mod general;
mod guard;
mod hook;
mod hosts;
mod init;
mod install;
pub mod learn;
mod list;
mod log;
mod manual;
mod new;
mod outside_packs;
mod packs;
mod pager;
mod promote;
mod prompt;
mod remove;
mod replay;
mod review;
mod run;
mod runbook;
mod schema;
mod serve;
mod signals;
mod stats;
mod test;
mod top;
pub mod trust;
mod uninstall;
mod untrust;
mod update;
mod verify;
mod watch;
