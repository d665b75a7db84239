//! A code for the camera of a phone, drawn with half blocks.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// Light on dark, whatever the terminal's own colours are.
const COLOURS: &str = "\u{1b}[38;5;231;48;5;16m";
const END: &str = "\u{1b}[0m";

/// Returns the lines of a code, if it fits into so many columns.
pub fn lines(text: &str, columns: usize) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    // What is drawn are the light parts: also the margin, without which cameras find nothing.
    let drawn = code
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .quiet_zone(true)
        .build();
    let fits = drawn.lines().all(|line| line.chars().count() <= columns);
    fits.then(|| drawn.lines().map(|line| format!("{COLOURS}{line}{END}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_margin_and_fits_or_is_not_drawn() {
        let link =
            format!("https://192.168.100.100:65535/pair#{0}.{0}", "0123456789abcdef".repeat(2));
        let lines = lines(&link, 80).unwrap();
        assert!(lines.len() <= 26, "{}", lines.len());
        let first = lines[0].trim_start_matches(COLOURS).trim_end_matches(END);
        assert!(first.chars().all(|block| block == '█'), "{first}");
        assert!(super::lines(&link, 40).is_none());
    }
}
