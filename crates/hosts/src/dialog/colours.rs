//! Parses the screen of a terminal, with or without its colours.

/// The contents of a screen: characters, each with its background.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    /// The text without colours.
    pub text: String,
    /// The background of each character of the text, line by line; empty if it has none.
    backgrounds: Vec<Vec<String>>,
}

impl Grid {
    /// Parses a screen as `tmux capture-pane -p` prints it, with or without `-e`.
    pub fn read(screen: &str) -> Self {
        let mut grid = Self { text: String::with_capacity(screen.len()), backgrounds: Vec::new() };
        let mut line = Vec::new();
        let mut background = String::new();
        let mut letters = screen.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' if letters.peek() == Some(&'[') => {
                    letters.next();
                    let mut codes = String::new();
                    let end = letters.find(|letter| {
                        let is_end = ('@'..='~').contains(letter);
                        if !is_end {
                            codes.push(*letter);
                        }
                        is_end
                    });
                    if end == Some('m') {
                        colour(&mut background, &codes);
                    }
                }
                // A link or a title: skipped to its end.
                '\u{1b}' if letters.peek() == Some(&']') => {
                    let mut before = ' ';
                    letters.find(|letter| {
                        let is_end = *letter == '\u{7}' || (before == '\u{1b}' && *letter == '\\');
                        before = *letter;
                        is_end
                    });
                }
                '\u{1b}' => {
                    // The escape sequence for a character set has one more character.
                    if matches!(letters.next(), Some('(' | ')')) {
                        letters.next();
                    }
                }
                '\n' => {
                    grid.text.push('\n');
                    grid.backgrounds.push(std::mem::take(&mut line));
                }
                letter => {
                    grid.text.push(letter);
                    line.push(background.clone());
                }
            }
        }
        grid.backgrounds.push(line);
        grid
    }

    /// Returns which of several texts, given in their order in the line, has a different background
    /// from the others, which share one.
    pub fn highlighted(&self, line: usize, texts: &[&str]) -> Option<usize> {
        let content = self.text.lines().nth(line)?;
        let mut from = 0;
        let mut found = Vec::new();
        for text in texts {
            let start = from + content[from..].find(text)?;
            let column = content[..start].chars().count();
            found.push(self.backgrounds.get(line)?.get(column)?.as_str());
            from = start + text.len();
        }
        let differs = |place: &usize| {
            let mut others = found.iter().enumerate().filter(|(other, _)| other != place);
            others.all(|(_, other)| *other != found[*place])
        };
        let mut different = (0..found.len()).filter(differs);
        let one = different.next()?;
        different.next().is_none().then_some(one)
    }
}

/// Applies the codes of a colour.
fn colour(background: &mut String, codes: &str) {
    let mut codes = codes.split([';', ':']);
    while let Some(code) = codes.next() {
        match code {
            "" | "0" | "49" => background.clear(),
            "7" => "reverse".clone_into(background),
            "27" if background == "reverse" => background.clear(),
            "38" | "48" => {
                let kind = codes.next().unwrap_or_default();
                let count = if kind == "2" { 3 } else { 1 };
                let colour: Vec<&str> = codes.by_ref().take(count).collect();
                if code == "48" {
                    *background = format!("{kind} {}", colour.join(" "));
                }
            }
            code if (code.len() == 2 && code.starts_with('4')) || code.starts_with("10") => {
                code.clone_into(background);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "a\n\x1b[1m\x1b[48;5;1m ┃\x1b[48;2;9;9;9m One \x1b[48;5;1m Two  Three\x1b[0m";

    #[test]
    fn the_text_is_without_its_colours() {
        let link = "\x1b]8;;http://x\x1b\\here\x1b]8;;\x07 \x1b(Bthere";
        assert_eq!(Grid::read(link).text, "here there");
        assert_eq!(Grid::read(ROW).text, "a\n ┃ One  Two  Three");
        assert_eq!(Grid::read("\x1b[").text, "");
    }

    #[test]
    fn what_stands_out_is_found() {
        let options = ["One", "Two", "Three"];
        let grid = Grid::read(ROW);
        assert_eq!(grid.highlighted(1, &options), Some(0));
        assert_eq!(grid.highlighted(1, &["One", "Four"]), None);
        assert_eq!(grid.highlighted(0, &options), None);
        let plain = Grid::read("One Two Three");
        assert_eq!(plain.highlighted(0, &options), None);
        let second = "One \x1b[7mTwo\x1b[27m Three";
        assert_eq!(Grid::read(second).highlighted(0, &options), Some(1));
        let all = "\x1b[41mOne\x1b[42mTwo\x1b[43mThree";
        assert_eq!(Grid::read(all).highlighted(0, &options), None);
    }
}
