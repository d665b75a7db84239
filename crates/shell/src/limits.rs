//! How much of a line is read: what is beyond is `unknown`.

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 64 * 1024;
/// The most commands that are listed.
pub const MAX_COMMANDS: usize = 1024;
/// The most reasons that are listed.
pub const MAX_UNKNOWN: usize = 64;
/// How deep groups, substitutions and shells in shells may be nested. Each level takes some
/// kilobytes of the stack.
pub const MAX_NESTING: u32 = 40;
/// How many `((` of a line may turn out to be two subshells: each is read twice.
pub const MAX_RETRIES: u32 = 16;
/// How many bytes one line may expand to: variables, braces, loops, texts read again.
pub const MAX_WORK: usize = 1024 * 1024;
/// The most words that one brace expansion yields.
pub const MAX_BRACES: usize = 256;
/// The longest source text kept for something that is not known.
pub const MAX_SOURCE: usize = 80;
/// How often the body of a loop is read, once for each value: outermost, then inside another loop.
pub const MAX_ROUNDS: [usize; 3] = [16, 4, 1];

/// Returns the beginning of a text, for display.
pub fn shortened(text: &str) -> String {
    if text.len() <= MAX_SOURCE {
        return text.to_owned();
    }
    let mut end = MAX_SOURCE;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
