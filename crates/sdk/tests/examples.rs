//! The examples run, and what they promise holds.

#![cfg(feature = "agent")]
#![allow(dead_code, reason = "each example is a program")]

#[path = "../examples/cost_limit.rs"]
mod cost_limit;
#[path = "../examples/logging.rs"]
mod logging;
#[path = "../examples/masking.rs"]
mod masking;
#[path = "../examples/shell_agent.rs"]
mod shell_agent;
#[path = "../examples/usage.rs"]
mod usage;
#[path = "../examples/validation.rs"]
mod validation;

#[test]
fn usage() {
    usage::main().unwrap();
}

#[test]
fn logging() {
    logging::main().unwrap();
}

#[test]
fn validation() {
    validation::main().unwrap();
}

#[test]
fn shell_agent() {
    shell_agent::main().unwrap();
}

#[test]
fn masking() {
    masking::main().unwrap();
}

#[test]
fn cost_limit() {
    cost_limit::main().unwrap();
}
