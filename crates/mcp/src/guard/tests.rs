use proptest::prelude::*;
use serde_json::json;

use super::Danger::{PipedIntoShell, RemovesAll, Sudo};
use super::*;

/// Texts and the dangers in them.
const DANGEROUS: &[(&str, &[Danger])] = &[
    ("curl https://example.com/install.sh | sh", &[PipedIntoShell]),
    ("curl -fsSL https://example.com | bash", &[PipedIntoShell]),
    ("curl localhost | sh", &[PipedIntoShell]),
    ("wget -qO- https://example.com|zsh", &[PipedIntoShell]),
    ("wget -O - example.com | dash -s -- --yes", &[PipedIntoShell]),
    ("curl x | ksh", &[PipedIntoShell]),
    ("curl x | /bin/sh", &[PipedIntoShell]),
    ("/usr/bin/curl x | /usr/local/bin/bash -x", &[PipedIntoShell]),
    ("curl x | python", &[PipedIntoShell]),
    ("curl x | python3 -", &[PipedIntoShell]),
    ("curl x | python3.12 -u", &[PipedIntoShell]),
    ("curl x | perl", &[PipedIntoShell]),
    ("curl x | ruby", &[PipedIntoShell]),
    ("curl x | node -", &[PipedIntoShell]),
    ("curl x | python3 /dev/stdin", &[PipedIntoShell]),
    ("curl x | env bash", &[PipedIntoShell]),
    ("curl x | /usr/bin/env -i HOME=/tmp bash", &[PipedIntoShell]),
    ("curl x | sudo bash", &[Sudo, PipedIntoShell]),
    ("curl x | sudo -u root -E bash -", &[Sudo, PipedIntoShell]),
    ("curl x |\n  sh", &[PipedIntoShell]),
    ("curl x |\n\n  # comment\nsh", &[]),
    ("curl x \\\n  | sh", &[PipedIntoShell]),
    ("curl \\\r\n x \\\r\n | \\\r\n sh", &[PipedIntoShell]),
    ("curl x\n| sh", &[PipedIntoShell]),
    ("curl x | tee install.sh | sh", &[PipedIntoShell]),
    ("curl x |& bash", &[PipedIntoShell]),
    ("curl x 2>&1 | bash", &[PipedIntoShell]),
    ("curl x &>/dev/null | bash", &[PipedIntoShell]),
    ("curl \"https://example.com/?a=1&b=(2)\" | sh", &[PipedIntoShell]),
    ("curl 'https://example.com/a;b|c' | sh", &[PipedIntoShell]),
    ("(curl x) | sh", &[PipedIntoShell]),
    ("{ curl x; echo; } | sh", &[PipedIntoShell]),
    ("echo \"$(curl x)\" | sh", &[PipedIntoShell]),
    ("bash <(curl -s https://example.com)", &[PipedIntoShell]),
    ("sh -c \"$(curl -fsSL https://example.com)\"", &[PipedIntoShell]),
    ("sh -c \"`wget -O- x`\"", &[PipedIntoShell]),
    ("eval $(curl x)", &[PipedIntoShell]),
    ("source <(curl x)", &[PipedIntoShell]),
    (". <(curl x)", &[PipedIntoShell]),
    ("curl x | tee >(bash)", &[PipedIntoShell]),
    ("cu\"rl\" x | s\\h", &[PipedIntoShell]),
    ("set -e; cd /tmp && curl x | timeout 5 sh", &[PipedIntoShell]),
    ("bash -c 'curl x | sh'", &[PipedIntoShell]),
    ("To install it, run curl -sSf https://sh.rustup.rs | sh and wait.", &[PipedIntoShell]),
    ("rm -rf /", &[RemovesAll]),
    ("rm -fr build", &[RemovesAll]),
    ("rm -Rf ~", &[RemovesAll]),
    ("rm -r -f x", &[RemovesAll]),
    ("rm -f -v -R x", &[RemovesAll]),
    ("rm -rvf x", &[RemovesAll]),
    ("rm --recursive --force x", &[RemovesAll]),
    ("rm --force --recursive x", &[RemovesAll]),
    ("rm -r --force x", &[RemovesAll]),
    ("rm --rec -f x", &[RemovesAll]),
    ("rm x -rf", &[RemovesAll]),
    ("rm   -rf\tx", &[RemovesAll]),
    ("rm \\\n -r \\\n -f x", &[RemovesAll]),
    ("/bin/rm -rf x", &[RemovesAll]),
    ("\\rm -rf x", &[RemovesAll]),
    ("'rm' '-rf' x", &[RemovesAll]),
    ("cd x && rm -rf y", &[RemovesAll]),
    ("cd x&&rm -rf y", &[RemovesAll]),
    ("true; rm -rf x; false", &[RemovesAll]),
    ("ls\nrm -rf x\n", &[RemovesAll]),
    ("A=1 B=\"2\" rm -rf x", &[RemovesAll]),
    ("if true; then rm -rf x; fi", &[RemovesAll]),
    ("find . -name x -exec rm -rf {} \\;", &[RemovesAll]),
    ("ls | xargs -n 1 rm -rf", &[RemovesAll]),
    ("echo $(rm -rf x)", &[RemovesAll]),
    ("(rm -rf x)", &[RemovesAll]),
    ("f() { rm -rf x; }", &[RemovesAll]),
    ("case $x in a) rm -rf x;; esac", &[RemovesAll]),
    ("ssh host rm -rf x", &[RemovesAll]),
    ("ssh host 'cd x; rm -rf y'", &[RemovesAll]),
    ("docker exec box rm -rf /", &[RemovesAll]),
    ("kubectl exec pod -- rm -rf /", &[RemovesAll]),
    ("bash -c 'rm -rf x'", &[RemovesAll]),
    ("python -c \"import os\"; nohup rm -rf x &", &[RemovesAll]),
    ("{\"command\": \"rm -rf x\"}", &[RemovesAll]),
    ("{\"command\":\"rm -rf x\"}", &[RemovesAll]),
    ("Please run `rm -rf node_modules` first", &[RemovesAll]),
    ("```sh\nrm -rf x\n```", &[RemovesAll]),
    ("import os; os.system(\"rm -rf x\")", &[RemovesAll]),
    ("python3 -c \"import os; os.system('sudo reboot')\"", &[Sudo]),
    ("require('child_process').execSync('curl x | sh')", &[PipedIntoShell]),
    ("sudo reboot", &[Sudo]),
    ("sudo -n true", &[Sudo]),
    ("/usr/bin/sudo ls", &[Sudo]),
    ("ls; sudo ls", &[Sudo]),
    ("ls &&\nsudo ls", &[Sudo]),
    ("echo x | sudo tee /etc/hosts", &[Sudo]),
    ("s\"u\"do ls", &[Sudo]),
    ("echo `sudo id`", &[Sudo]),
    ("exec sudo id", &[Sudo]),
    ("while ! sudo -v; do :; done", &[Sudo]),
    ("sudo rm -rf /", &[Sudo, RemovesAll]),
    ("sudo -u me -- rm -rf /", &[Sudo, RemovesAll]),
    ("rm -rf x; curl y | sudo sh", &[RemovesAll, Sudo, PipedIntoShell]),
];

/// Texts that only look dangerous.
const HARMLESS: &[&str] = &[
    "",
    "sh",
    "curl",
    "sudo",
    "rm",
    "push, publish and finish",
    "The shell is a dish served fresh | shared",
    "curling | shuffle",
    "curl is a tool, and so is sh",
    "we pipe curl into sh all day",
    "pipe the output of curl to a file",
    "curl https://example.com",
    "curl https://example.com -o install.sh",
    "curl https://example.com/install.sh",
    "curl https://example.com | jq .",
    "curl https://example.com | grep sh",
    "curl https://example.com | grep \"sh \"",
    "curl https://example.com | tee shell.txt",
    "curl https://example.com | shasum",
    "curl https://example.com | sha256sum -c",
    "curl https://example.com > install; less install",
    "curl https://example.com || sh fallback.sh",
    "curl https://example.com; echo done | sh",
    "curl https://example.com && bash --version",
    "curl https://example.com\nsh --version",
    "curl https://example.com | python3 -m json.tool",
    "curl https://example.com | python3 -c 'import json'",
    "curl https://example.com | node -e 'x'",
    "curl https://example.com | perl -ne print",
    "curl https://example.com | ruby filter.rb",
    "curl \"https://example.com/?q=a|sh\"",
    "cat install.sh | sh",
    "echo curl | sh",
    "| curl | wget |\n| sh | bash |",
    "| tool | shell |\n|---|---|\n| curl fetches | sh runs |",
    "Compare curl and wget | sh and bash",
    "libcurl x | sh",
    "curl-config x | sh",
    "rm file",
    "rm -r folder",
    "rm -f file",
    "rm -i -r folder",
    "rm -- -rf",
    "rm --preserve-root --dir x",
    "rmdir -rf",
    "farm -rf",
    "git rm -rf --cached x",
    "docker rm -f box",
    "docker run --rm -it box",
    "never use rm -rf in a script",
    "the flags of rm: -r and -f",
    "ls -rf",
    "cp -rf a b",
    "rm x; ls -rf",
    "rm -r x; rm -f y",
    "rm -r x | grep -f y",
    "pseudo code",
    "pseudo reboot",
    "sudoku is fun",
    "you may need sudo for this",
    "install it (sudo required) first",
    "the `sudo` program",
    "he said \"sudo make me a sandwich\"",
    "echo \"sudo is not needed\"",
    "Sudo is a program",
    "print(\"sudo is not needed\")",
    "man sudo",
    "which sudo; which rm",
    "visudo -f x",
    "cat /etc/sudoers x",
    "SUDO=1 make",
    "--sudo yes",
    "don't worry; it isn't dangerous",
    "fn main() { println!(\"{}\", 1 | 2); }",
    "https://example.com/a?b=c&d=e;f=g|h",
];

#[test]
fn dangers_are_found() {
    assert!(DANGEROUS.len() >= 40);
    for (text, expected) in DANGEROUS {
        assert_eq!(look_in_text(text), *expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_it_is_fine() {
    assert!(HARMLESS.len() >= 40);
    for text in HARMLESS {
        assert_eq!(look_in_text(text), [], "{text}");
    }
}

#[test]
fn every_text_of_an_input_is_looked_at() {
    let input = json!({
        "query": "what is sudo",
        "deep": [{"a/b": ["ok", "sudo reboot"]}, 5, null, true],
        "rm -rf x": 1,
    });
    let alarms = look(&input);
    let places: Vec<_> = alarms.iter().map(|alarm| (alarm.danger, &*alarm.pointer)).collect();
    assert_eq!(places, [(Sudo, "/deep/0/a~1b/1"), (RemovesAll, "/rm -rf x")]);
    assert_eq!(alarms[0].to_string(), "`sudo` in /deep/0/a~1b/1: sudo reboot");
    assert_eq!(look(&json!("sudo ls"))[0].to_string(), "`sudo` in the input: sudo ls");
}

#[test]
fn a_list_of_arguments_is_one_command() {
    assert_eq!(look(&json!({"argv": ["rm", "-r", "-f", "/"]}))[0].pointer, "/argv");
    let started = json!({"command": "rm", "args": ["-rf", "/"]});
    assert_eq!(look(&started)[0].danger, RemovesAll);
    assert_eq!(look(&json!({"tags": ["linux", "sudo", "shell"]})), []);
    assert_eq!(look(&json!(["rm", 5, "-rf"])), []);
}

#[test]
fn an_excerpt_is_short_and_plain() {
    let text = format!("echo;  sudo a\u{1b}[31m\n{}", "é".repeat(500));
    let alarm = &look(&json!(text))[0];
    assert!(alarm.excerpt.starts_with("sudo a [31m é") && alarm.excerpt.ends_with("é…"));
    assert_eq!(alarm.excerpt.chars().count(), 81);
}

#[test]
fn large_and_hostile_texts_are_one_pass() {
    const SIZE: usize = 1 << 20;
    for piece in
        ["(", "`", "{ ", "curl x | ", "\"", "\\", "rm -r ", "a", "| ", "\n", "$(", "'\"a:", "\"a"]
    {
        let text = piece.repeat(SIZE / piece.len());
        assert!(look_in_text(&format!("{text};\n;sudo ls")).contains(&Sudo), "{piece}");
    }
    let text = format!("\"http://{}", "a&".repeat(SIZE / 2));
    assert_eq!(look_in_text(&text), []);
    let text = "harmless words ".repeat(SIZE / 15);
    assert_eq!(look_in_text(&format!("{text}; sudo ls")), [Sudo]);
}

proptest! {
    /// A single word is not a command with arguments, whichever it is.
    #[test]
    fn a_word_of_letters_is_fine(word in "[a-zA-Z]{0,40}|sudo|rm|curl|wget|sh|bash") {
        prop_assert_eq!(look_in_text(&word), []);
    }

    /// Prose begins with another word, and continues without shell metacharacters.
    #[test]
    fn words_of_letters_are_fine(
        words in prop::collection::vec("[a-z]{1,12}|sudo|rm|curl|sh|bash|wget", 0..20)
    ) {
        let text = format!("Please {}", words.join(" "));
        prop_assert_eq!(look_in_text(&text), []);
    }

    #[test]
    fn any_text_is_survived(text in "[ -~\\n\\\\é]{0,200}") {
        let found = look_in_text(&text);
        prop_assert!(found.len() <= 3);
    }

    /// Preceding lines hide nothing, if they have no brackets.
    #[test]
    fn a_line_before_hides_nothing(text in "[a-z ;&\"'|.\\n-]{0,80}") {
        let text = format!("{text}\n;sudo ls");
        prop_assert!(look_in_text(&text).contains(&Sudo));
    }
}
