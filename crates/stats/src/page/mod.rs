//! Renders a report for people: the overview of a period, or some hooks in detail.

mod detail;
mod overview;
mod shadow;

pub use detail::show as show_hooks;
pub use overview::show as show_overview;
pub use shadow::{shadow_line, show_shadow_blocks};
