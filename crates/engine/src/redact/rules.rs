//! Redaction rules: classes of bytes, and a table of what secrets look like.

// Classes of bytes.
pub(super) const UPPER: u16 = 1;
pub(super) const LOWER: u16 = 1 << 1;
pub(super) const DIGIT: u16 = 1 << 2;
pub(super) const HEX_LETTER: u16 = 1 << 3; // a–f only: tokens in hexadecimal are in lower case
pub(super) const UNDERSCORE: u16 = 1 << 4;
pub(super) const DASH: u16 = 1 << 5;
pub(super) const SLASH: u16 = 1 << 6;
pub(super) const PLUS: u16 = 1 << 7;
pub(super) const SPACE: u16 = 1 << 8;
/// Bytes that end a string or begin an escape.
pub(super) const QUOTE: u16 = 1 << 9;
/// Bytes that a header's value is made of.
pub(super) const VALUE: u16 = 1 << 10;
/// Bytes that `user:password@host` of a URL is made of.
pub(super) const AUTHORITY: u16 = 1 << 11;
pub(super) const ALNUM: u16 = UPPER | LOWER | DIGIT;
pub(super) const HEX: u16 = DIGIT | HEX_LETTER;
pub(super) const CAPITALS: u16 = UPPER | DIGIT;
pub(super) const URL64: u16 = ALNUM | UNDERSCORE | DASH;
pub(super) const BASE64: u16 = ALNUM | PLUS | SLASH;

pub(super) static CLASS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    loop {
        let own = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'f' => LOWER | HEX_LETTER,
            b'g'..=b'z' => LOWER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'/' => SLASH,
            b'+' => PLUS,
            b' ' | b'\t' | b'\n' | b'\r' => SPACE,
            b'"' | b'\'' | b'`' | b'\\' => QUOTE,
            _ => 0,
        };
        let value = match byte {
            b',' | b';' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' => 0,
            0x21..=0x7e if own & QUOTE == 0 => VALUE,
            _ => 0,
        };
        let authority = match byte {
            0..=0x20 | 0x7f | b'/' | b'?' | b'#' | b'<' | b'>' => 0,
            _ if own & QUOTE == 0 => AUTHORITY,
            _ => 0,
        };
        table[byte as usize] = own | value | authority;
        if byte == 255 {
            break table;
        }
        byte += 1;
    }
};

pub(super) fn is(byte: u8, class: u16) -> bool {
    CLASS[byte as usize] & class != 0
}

/// One kind of secret and how it begins.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    pub(super) shape: SecretShape,
}

pub(super) enum SecretShape {
    /// The prefix and what follows it are the secret.
    Token(SecretToken),
    /// The prefix is a name, in any case and with `-` or `_`; its value is the secret.
    Name(Value),
}

pub(super) struct SecretToken {
    pub(super) body: u16,
    pub(super) min: usize,
    pub(super) max: usize,
    /// The minimum and maximum number of further bodies, each after a dot.
    pub(super) dotted: (u8, u8),
    /// Whether a digit, or both upper and lower case letters, are required: otherwise it may be
    /// words.
    pub(super) varied: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Value {
    /// `scheme credential`, or a credential only.
    Credential,
    /// One word.
    Word,
    /// Base64 of this length, so distinctive that no separator is needed.
    Base64(usize, usize),
}

pub(super) const fn token(kind: &'static str, prefix: &'static str, body: u16, min: usize) -> Rule {
    let token = SecretToken { body, min, max: usize::MAX, dotted: (0, 0), varied: false };
    Rule { kind, prefix, shape: SecretShape::Token(token) }
}

pub(super) const fn name(kind: &'static str, prefix: &'static str, value: Value) -> Rule {
    Rule { kind, prefix, shape: SecretShape::Name(value) }
}

impl Rule {
    const fn with(self, max: usize, dotted: (u8, u8), varied: bool) -> Self {
        let SecretShape::Token(SecretToken { body, min, .. }) = self.shape else { return self };
        let token = SecretToken { body, min, max, dotted, varied };
        Self { shape: SecretShape::Token(token), ..self }
    }

    /// At most this many bytes after the prefix.
    const fn max(self, max: usize) -> Self {
        self.with(max, (0, 0), false)
    }

    const fn varied(self) -> Self {
        self.with(usize::MAX, (0, 0), true)
    }

    const fn dotted(self, min: u8, max: u8) -> Self {
        self.with(usize::MAX, (min, max), true)
    }
}

/// Sorted by first letter, ignoring case; of rules with the same beginning the first wins.
pub(super) static RULES: &[Rule] = &[
    token("google-oauth", "1//0", URL64, 40).varied(),
    token("aws-access-key", "AKIA", CAPITALS, 16).max(16),
    token("aws-access-key", "ASIA", CAPITALS, 16).max(16),
    token("google-api-key", "AIza", URL64, 35),
    token("age-key", "AGE-SECRET-KEY-1", CAPITALS, 50),
    name("authorization", "authorization", Value::Credential),
    name("azure-key", "accountkey", Value::Base64(80, 90)),
    token("docker-token", "dckr_pat_", URL64, 20).varied(),
    token("docker-token", "dckr_oat_", URL64, 20).varied(),
    token("digitalocean-token", "dop_v1_", HEX, 64),
    token("digitalocean-token", "doo_v1_", HEX, 64),
    token("digitalocean-token", "dor_v1_", HEX, 64),
    token("databricks-token", "dapi", HEX, 32),
    token("discord-webhook", "discord.com/api/webhooks/", URL64 | SLASH, 60),
    token("jwt", "eyJ", URL64, 10).dotted(2, 4),
    token("github-token", "ghp_", ALNUM, 36),
    token("github-token", "gho_", ALNUM, 36),
    token("github-token", "ghu_", ALNUM, 36),
    token("github-token", "ghs_", URL64, 36).dotted(0, 2),
    token("github-token", "ghr_", ALNUM, 36),
    token("github-token", "github_pat_", URL64, 40).varied(),
    token("gitlab-token", "glpat-", URL64, 20).dotted(0, 2),
    token("gitlab-token", "glptt-", URL64, 20).varied(),
    token("gitlab-token", "gldt-", URL64, 20).varied(),
    token("gitlab-token", "glrt-", URL64, 20).dotted(0, 2),
    token("gitlab-token", "glcbt-", URL64, 20).varied(),
    token("gitlab-token", "glft-", URL64, 20).varied(),
    token("gitlab-token", "glimt-", URL64, 20).varied(),
    token("gitlab-token", "glsoat-", URL64, 20).varied(),
    token("gitlab-token", "glagent-", URL64, 20).varied(),
    token("grafana-token", "glsa_", URL64, 40).varied(),
    token("google-oauth", "GOCSPX-", URL64, 24).varied(),
    token("groq-key", "gsk_", ALNUM, 40),
    token("hugging-face-token", "hf_", ALNUM, 34),
    token("vault-token", "hvs.", URL64, 24).varied(),
    token("vault-token", "hvb.", URL64, 24).varied(),
    token("slack-webhook", "hooks.slack.com/services/", ALNUM | SLASH, 30),
    token("linear-key", "lin_api_", ALNUM, 32),
    token("linear-key", "lin_oauth_", ALNUM, 32),
    token("npm-token", "npm_", ALNUM, 36),
    token("notion-token", "ntn_", ALNUM, 40),
    token("pypi-token", "pypi-AgEI", URL64, 40),
    token("perplexity-key", "pplx-", ALNUM, 40),
    name("api-key", "private-token", Value::Word),
    token("replicate-token", "r8_", ALNUM, 37),
    token("stripe-key", "rk_live_", ALNUM, 20),
    token("stripe-key", "rk_test_", ALNUM, 20),
    token("rubygems-token", "rubygems_", HEX, 48),
    token("anthropic-key", "sk-ant-", URL64, 32).varied(),
    token("openai-key", "sk-proj-", URL64, 32).varied(),
    token("openai-key", "sk-svcacct-", URL64, 32).varied(),
    token("openai-key", "sk-admin-", URL64, 32).varied(),
    token("openrouter-key", "sk-or-v1-", HEX, 64),
    token("openai-key", "sk-", ALNUM, 32).varied(),
    token("stripe-key", "sk_live_", ALNUM, 20),
    token("stripe-key", "sk_test_", ALNUM, 20),
    token("sendgrid-key", "SG.", URL64, 20).dotted(1, 1),
    token("shopify-token", "shpat_", HEX, 32),
    token("shopify-token", "shpss_", HEX, 32),
    token("shopify-token", "shpca_", HEX, 32),
    token("shopify-token", "shppa_", HEX, 32),
    name("aws-secret-key", "secret_access_key", Value::Base64(40, 40)),
    name("aws-secret-key", "secretaccesskey", Value::Base64(40, 40)),
    name("aws-session-token", "session_token", Value::Base64(100, usize::MAX)),
    name("aws-session-token", "sessiontoken", Value::Base64(100, usize::MAX)),
    name("azure-key", "sharedaccesskey", Value::Base64(42, 46)),
    token("stripe-key", "whsec_", BASE64, 24),
    token("xai-key", "xai-", ALNUM, 40),
    token("slack-token", "xoxb-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxp-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxa-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxr-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxs-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxc-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xoxe-", ALNUM | DASH, 20).varied(),
    token("slack-token", "xapp-", ALNUM | DASH, 20).varied(),
    name("api-key", "x-api-key", Value::Word),
    name("api-key", "x-auth-token", Value::Word),
    name("api-key", "x-access-token", Value::Word),
    name("api-key", "x-goog-api-key", Value::Word),
    name("api-key", "x-vault-token", Value::Word),
    token("google-oauth", "ya29.c.", URL64, 20).varied(),
    token("google-oauth", "ya29.", URL64, 20).varied(),
];

/// A filter that excludes nearly all text that cannot begin a rule: for each byte, which rules have
/// it as their first, second or third. A rule is identified by the last five bits of its first
/// byte.
pub(super) static LEADS: [[u32; 256]; 3] = {
    let mut table = [[0; 256]; 3];
    let mut at = 0;
    while at < RULES.len() + 3 {
        let (prefix, any_case) = prefix(at);
        let rule = 1 << (prefix[0] & 31);
        let mut place = 0;
        while place < 3 {
            let byte = prefix[place];
            table[place][byte as usize] |= rule;
            table[place][other_case(byte, any_case) as usize] |= rule;
            place += 1;
        }
        at += 1;
    }
    table
};

/// Returns whether the lowest three bytes may be the first of a rule, or those from its second on;
/// rarely `true` for other text.
pub(super) fn is_in_threes(three: u64) -> bool {
    let place = place(three);
    THREES[place / 64] >> (place % 64) & 1 != 0
}

/// Returns the position of three bytes in a table that fits in two pages of memory.
#[expect(clippy::cast_possible_truncation, reason = "of the rest of the bytes nothing is wanted")]
const fn place(three: u64) -> usize {
    // The multiplier is that of Fibonacci hashing, 2^32 over the golden ratio.
    (((three as u32) << 8).wrapping_mul(0x9e37_79b1) >> 16) as usize
}

static THREES: [u64; 1024] = {
    let mut table = [0; 1024];
    let mut at = 0;
    while at < RULES.len() + 3 {
        let (prefix, any_case) = prefix(at);
        let mut start = 0;
        while start < 2 {
            // Each byte as it is or in its other case; past the end of the prefix, any byte.
            let mut case = 0;
            while case < 8 {
                let any_byte = start + 2 == prefix.len();
                let mut last = if any_byte { 255u8 } else { 0 };
                loop {
                    let mut three = 0;
                    let mut index = 0;
                    while index < 3 {
                        let byte = if index == 2 && any_byte {
                            last
                        } else {
                            let byte = prefix[start + index];
                            other_case(byte, any_case && case >> index & 1 == 1)
                        };
                        three |= (byte as u64) << (8 * index);
                        index += 1;
                    }
                    table[place(three) / 64] |= 1 << (place(three) % 64);
                    if last == 0 {
                        break;
                    }
                    last -= 1;
                }
                case += 1;
            }
            start += 1;
        }
        at += 1;
    }
    table
};

/// Returns the prefix of a rule, including the three that are not in the table, and whether it is
/// case-insensitive.
const fn prefix(at: usize) -> (&'static [u8], bool) {
    match at.checked_sub(RULES.len()) {
        None => (RULES[at].prefix.as_bytes(), matches!(RULES[at].shape, SecretShape::Name(_))),
        Some(0) => (b"-BEGIN", false),
        Some(1) => (b"curl", false),
        // Where a password may follow.
        Some(_) => (b"://", false),
    }
}

/// Returns the other way a byte of a rule may be written.
const fn other_case(byte: u8, any_case: bool) -> u8 {
    match byte {
        _ if !any_case => byte,
        b'-' => b'_',
        _ => byte.to_ascii_uppercase(),
    }
}

/// For each first byte, its rules.
pub(super) static SPAN: [(u8, u8); 256] = {
    let mut table = [(0, 0); 256];
    let mut at = 0u8;
    while (at as usize) < RULES.len() {
        let first = RULES[at as usize].prefix.as_bytes()[0].to_ascii_lowercase();
        let from = if table[first as usize].1 == 0 { at } else { table[first as usize].0 };
        assert!(table[first as usize].1 == 0 || table[first as usize].1 == at, "out of order");
        table[first as usize] = (from, at + 1);
        table[first.to_ascii_uppercase() as usize] = (from, at + 1);
        at += 1;
    }
    table
};

/// What may come between `Authorization:` and the credential.
pub(super) const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "token",
    "bot",
    "apikey",
    "api-key",
    "key",
    "digest",
    "negotiate",
    "oauth",
    "aws4-hmac-sha256",
];
