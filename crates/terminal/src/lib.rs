//! Text for terminals: what pieces of text mean ([`tone`]), where it is written ([`out`], [`page`])
//! or paged ([`pager`]), columns that fit ([`table`]), text that fits ([`text`]), numbers and times
//! ([`format`](mod@format), [`time_arg`], [`zone`]), names that
//! people type ([`pattern`]), charts in characters ([`sparkline`]), how states
//! look ([`states`]), and the progress of what takes a while ([`progress`]).
//!
//! It knows neither commands nor screens: `anyhook` and `anyhook top` are built on it.

pub mod format;
pub mod out;
pub mod page;
pub mod pager;
pub mod pattern;
pub mod progress;
pub mod sparkline;
pub mod states;
pub mod table;
pub mod text;
pub mod time_arg;
pub mod tone;
pub mod zone;

pub use out::Out;
pub use page::{Column, Page};
pub use pager::Pager;
pub use table::{Cell, columns, field};
pub use text::{counted, first_line, printable, tidy};
pub use tone::{OwnedStyledText, StyledLine, StyledText, Tone};
