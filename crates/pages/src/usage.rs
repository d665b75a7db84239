//! Token usage of agents in words.

use anyhook_model::daemon::Usage;
use anyhook_terminal::format::thousands;

/// Returns tokens in words: `1,200 in, 340 out, 5,000 from cache`.
pub fn tokens(usage: Usage) -> Option<String> {
    let parts = [
        (usage.input_tokens, "in"),
        (usage.output_tokens, "out"),
        (usage.cache_read_tokens, "from the cache"),
        (usage.cache_write_tokens, "to the cache"),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter_map(|(number, word)| Some(format!("{} {word}", thousands(number?))))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}
