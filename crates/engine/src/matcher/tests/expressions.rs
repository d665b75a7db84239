//! Generates expressions, both realistic and odd ones, and texts that may match them.

use proptest::prelude::*;
use proptest::sample::select;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Expressions that are easily misread.
pub const NASTY: &[&str] = &[
    "",
    "|",
    "a|",
    "|a",
    "a||b",
    "(",
    ")",
    "a)|(b",
    "a)(b",
    "[",
    "]",
    "{",
    "}",
    "a{2",
    "a{2}",
    "a{,2}",
    "a{2,1}",
    "a{1000}",
    "((a{1000}){1000}){1000}",
    r"[\w&&[^a]]{100}",
    r"\d{700}",
    "*",
    "+",
    "?",
    "a**",
    "a*?",
    "a+?",
    r"\",
    r"\q",
    r"\z",
    r"\A",
    r"\b",
    r"\B",
    r"\<",
    r"\b{start}",
    r"\b{end-half}",
    "(?i)",
    "(?i)K",
    "(?i)ſ",
    "(?i)ß",
    "(?i)straße",
    "(?i)İ",
    "(?i)θ",
    "(?i-u)k",
    "(?-u)a",
    r"(?-u)\xff",
    r"(?-u)\W",
    r"(?-u).",
    "(?-u:é)",
    r"(?-u)[^a]",
    r"(?-u)(?i)rm",
    r"\xff",
    r"\u{1F600}",
    r"\u00e9",
    r"\U0001F600",
    r"\x{D800}",
    "(?x) a b",
    "(?x) a # b",
    "(?x) a # b\n c",
    "(?x) a # )",
    "(?x) a #",
    "(?x)#",
    "#",
    "a # b",
    "(?x)(?-x: a) # b",
    "(?x: a ) b",
    "(?m)^a$",
    "(?m)$^",
    "(?mR)^a$",
    "(?mR)^$",
    "(?R)^a$",
    r"(?mR)a$\r?\n^b",
    r"\b{start}a|b\b{end}",
    r"\b{start-half}a\b{end-half}",
    r"(?-u:\b{start})é|(?-u:\Bb)",
    r"(?-u:\b)é",
    r"(?-u:\B)",
    "(?s).",
    "(?U)a+",
    "(?U)a+?",
    "^",
    "$",
    "^$",
    "$a^",
    "a^b",
    "(?:)",
    "()",
    "(|a)",
    "(a|)",
    "((a))",
    "(?P<n>a)",
    "(?<n>a)(?<n>b)",
    "(?<1>a)",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    r"(a)\1",
    "[a-c]",
    "[^a]",
    "[a&&b]",
    "[a-z&&[aeiou]]",
    "[a--b]",
    "[a~~b]",
    "[[:alpha:]]",
    "[[:nope:]]",
    "[z-a]",
    r"[\d-z]",
    "[]a]",
    "[^]a]",
    r"\p{Greek}",
    r"\p{Nope}",
    r"\pN+",
    r"\PN",
    "é+",
    "(é|e)+",
    "😀{2}",
    "a{0}",
    "a{0,0}b",
    "(a{0})+",
    "(?i)a{0}",
    "(^a|b$)",
    "(?:^|x)a(?:$|y)",
    "a(?:b|)c",
    "a(?:|b)c",
    "(?:a|ab)(?:c|bcd)",
    "(?i:a)b(?-i:c)",
    "(?flags)",
    "(?i",
    "(?",
    "(?:",
    "(?P<",
    "(?P<n",
    "\0",
    "a\nb",
    "a\r\nb",
    r"a\nb",
    r"\n",
    r"\Q",
    r"\/",
    r"\-",
    r"\ ",
    "Shell",
    "Bash|Shell",
    "^Bash$",
    "mcp__.*__write.*",
    "mcp__[a-z]+__(read|write)",
    "(?i)bash",
    "Edit|MultiEdit|Write",
];

/// What people guard against.
const GUARDS: &[&str] = &[
    r"rm\s+-rf?",
    r"(?i)drop\s+table",
    r"\.env$",
    r"git push.*--force",
    r"curl[^|]*\|\s*(ba)?sh",
    r"\brm\b",
    r"(^|[;&|]\s*)sudo\b",
    r"chmod\s+(-R\s+)?777",
    r"(?i)password\s*[:=]",
    r"AKIA[0-9A-Z]{16}",
    r"-----BEGIN (RSA |EC )?PRIVATE KEY-----",
    r"^/etc/(passwd|shadow)",
    r"\.(pem|key|p12)$",
    r"npm (install|i) -g",
    r"(?x) dd \s+ if= # a disk",
    r"mkfs(\.\w+)?",
    r":\(\)\s*\{",
    r"> */dev/sd[a-z]",
    r"(?m)^\s*DELETE FROM \w+;",
    r"git (reset --hard|clean -fd)",
    r"eval\s*\(",
    r"https?://",
    r"(?i)TODO|FIXME",
    r"\bkubectl\s+delete\b",
    r"[\w.]+@[\w.]+",
];

/// Pieces of texts that guards search for, or nearly.
const WORDS: &[&str] = &[
    "rm -rf /",
    "rm  -r",
    "form",
    "drop table",
    "DROP TABLE x",
    "Drop\ttable",
    ".env",
    "a/.env",
    ".env ",
    "git push --force",
    "git push -f",
    "curl x | sh",
    "curl x |bash",
    "curl",
    "sudo ls",
    "; sudo",
    "chmod -R 777 /",
    "Password: x",
    "AKIA0123456789ABCDEF",
    "-----BEGIN EC PRIVATE KEY-----",
    "/etc/passwd",
    "x.pem",
    "npm i -g",
    "dd  if=x",
    "mkfs.ext4",
    ":() {",
    "> /dev/sda",
    "DELETE FROM a;",
    "a\n DELETE FROM b;",
    "git clean -fd",
    "eval (",
    "https://",
    "todo",
    "kubectl delete",
    "a@b",
    "\n",
    " ",
    "é",
    "K",
    "\u{212a}",
    "ſ",
    "ß",
    "😀",
    "a",
    "b",
    "ab",
    "c",
    "A",
    "B",
    "1",
    "true",
    "Shell",
    "Bash",
];

/// Pieces of what the grammar's expressions match, and of what they do not match.
const PIECES: &[&str] = &[
    "a", "b", "ab", "c", "rm", "RM", "sh", "é", "É", "k", "K", "\u{212a}", "s", "ſ", "-rf",
    "force", " ", "ß", "😀", "1", "true", "\n", "#", "\r", "\r\n", "comment",
];

/// An expression, and texts of which some match.
pub fn with_texts() -> impl Strategy<Value = (String, Vec<String>)> {
    let known = prop_oneof![select(GUARDS), select(NASTY)].prop_map(str::to_owned);
    prop_oneof![1 => known, 3 => grammar()].prop_flat_map(|expression| {
        let texts = proptest::collection::vec(text_of(&expression), 1..4);
        (Just(expression), texts)
    })
}

/// Characters that mean something, in any order.
pub fn scribble() -> impl Strategy<Value = String> {
    prop_oneof![
        r"[ab|()\[\]{}^$.*+?\\,0-9:=!<>ixmsuURPdwsbBpLnz# \n&~é-]{0,14}",
        "(\\(\\?[imsxuUR-]{1,3}\\)|\\(\\?[ix]:|[()|ab#\n])[abK #\n()|?]{0,8}",
        any::<String>(),
    ]
}

/// Expressions of every kind of part.
fn grammar() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => select(&["a", "b", "ab", "c", "rm", "sh", "é", "K", "s", "-rf", "force", " ", "ſ", "ß", "😀", "1", "true"][..]),
        2 => select(&[".", r"\w", r"\s", r"\d", "[ab]", "[^a]", "[a-c]", "[aA]", r"[\w&&[^a]]", r"\pL", "[[:alpha:]]", "[a&&b]"][..]),
        2 => select(&["^", "$", r"\b", r"\B", r"\A", r"\z", "", "()", r"\b{start}"][..]),
        1 => select(&["(?i)", "(?m)", "(?s)", "(?x)", "(?U)", "(?-u)", "(?mR)", "(?-i)", "(?xi)"][..]),
        1 => select(GUARDS),
    ]
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            4 => proptest::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            3 => proptest::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => proptest::collection::vec(inner.clone(), 2..3).prop_map(|parts| parts.join("|")),
            2 => (inner.clone(), select(&["*", "+", "?", "{2}", "{1}", "{0}", "{1,}", "{0,2}", "{2,3}", "*?", "+?", "??"][..]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            2 => (inner.clone(), select(&["(", "(?P<n>", "(?i:", "(?m:", "(?s:", "(?x:", "(?-u:", "(?U:", "(?i-s:"][..]))
                .prop_map(|(part, open)| format!("{open}{part})")),
            1 => inner.prop_map(|part| format!("{part} # comment")),
        ]
    })
}

/// A text that the expression matches if its anchors allow, among other words; or any words.
fn text_of(expression: &str) -> BoxedStrategy<String> {
    let word = || proptest::collection::vec(select(WORDS), 0..2).prop_map(|words| words.concat());
    let pieces = proptest::collection::vec(select(PIECES), 0..6).prop_map(|pieces| pieces.concat());
    let Ok(hir) = regex_syntax::parse(expression) else {
        return prop_oneof![2 => pieces, 1 => word()].boxed();
    };
    let matching = any::<u64>().prop_map(move |seed| {
        let mut text = String::new();
        Sampler(seed).write(&hir, &mut text);
        text
    });
    let matching = matching.boxed();
    prop_oneof![
        3 => matching.clone(),
        3 => (word(), matching, word()).prop_map(|(before, text, after)| before + &text + &after),
        2 => pieces,
        1 => word(),
    ]
    .boxed()
}

/// Chooses one of the texts that an expression matches.
struct Sampler(u64);

impl Sampler {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn write(&mut self, hir: &Hir, text: &mut String) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).unwrap()),
            HirKind::Class(class) => text.extend(self.character(class)),
            HirKind::Capture(capture) => self.write(&capture.sub, text),
            HirKind::Repetition(repetition) => {
                // Something repeated thousands of times is not worth so long a text.
                let least = repetition.min.min(20);
                let most = repetition.max.unwrap_or(u32::MAX).min(least + 2);
                let extra = self.below(usize::try_from(most - least + 1).unwrap());
                for _ in 0..usize::try_from(least).unwrap() + extra {
                    self.write(&repetition.sub, text);
                }
            }
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part, text)),
            HirKind::Alternation(parts) => {
                let chosen = self.below(parts.len());
                self.write(&parts[chosen], text);
            }
        }
    }

    fn character(&mut self, class: &Class) -> Option<char> {
        let ranges: Vec<(u32, u32)> = match class {
            Class::Unicode(class) => {
                class.iter().map(|range| (range.start().into(), range.end().into())).collect()
            }
            Class::Bytes(class) => {
                class.iter().map(|range| (range.start().into(), range.end().into())).collect()
            }
        };
        if ranges.is_empty() {
            return None;
        }
        let (start, end) = ranges[self.below(ranges.len())];
        let span = usize::try_from(end - start + 1).unwrap();
        char::from_u32(start + u32::try_from(self.below(span)).unwrap())
    }
}
