//! Encodes verdicts for our extension in pi.

pub(super) use crate::extension::replies::encode;
