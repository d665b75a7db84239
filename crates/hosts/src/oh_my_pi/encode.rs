//! Encodes verdicts for our extension in oh-my-pi.

pub(super) use crate::extension::replies::encode;
