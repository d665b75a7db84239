//! Values come out of the real `sh` byte for byte, and nothing in them is executed.

use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::runbook::template::TemplateScope;
use crate::runbook::tree::NodeText;

fn woven(command: &str) -> ShellCommand {
    let whole = 0..command.len();
    let text = NodeText::new(command.to_owned(), command, &whole);
    let (template, findings) = Template::read(&text, whole, TemplateScope::AGENT);
    assert_eq!(findings, []);
    interpolate(&template, 1)
}

/// Runs a command in an empty folder with one value for every reference.
fn printed(command: &str, value: &str) -> Vec<u8> {
    let woven = woven(command);
    assert_eq!(woven.findings, [], "{command}");
    let folder = tempfile::tempdir().unwrap();
    let mut printed: Vec<Vec<u8>> = Vec::new();
    for mut shell in shells() {
        shell.args(["-c", &woven.text]).current_dir(folder.path());
        for (variable, ..) in &woven.values {
            shell.env(variable, value);
        }
        let output = shell.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.is_empty(), "{shell:?}\n{told}");
        let left: Vec<_> = folder.path().read_dir().unwrap().flatten().collect();
        assert!(left.is_empty(), "{shell:?} left {left:?}");
        printed.push(output.stdout);
    }
    assert!(printed.iter().all(|one| *one == printed[0]), "shells differ about {}", woven.text);
    printed.remove(0)
}

/// Returns `sh`, and another shell that is `sh` on other systems, if it is installed.
fn shells() -> Vec<Command> {
    let mut bash = Command::new("bash");
    bash.arg("--posix");
    let has_bash = Command::new("bash").arg("--version").output().is_ok();
    [Command::new("/bin/sh")].into_iter().chain(has_bash.then_some(bash)).collect()
}

/// Commands that print the value once between brackets, in every context.
const CONTEXTS: &[&str] = &[
    "printf '[%s]' ${var.x}",
    "printf '[%s]' \"${var.x}\"",
    "printf '[%s]' '${var.x}'",
    "printf '%s' [${var.x}]",
    "printf '%s' \"[${var.x}]\"",
    "printf '%s' '['${var.x}']'",
    "printf '%s' \"$(printf '[%s]' \"${var.x}\")\"",
    "printf '%s' \"$(printf '[%s]' '${var.x}')\"",
    "x=${var.x}; printf '[%s]' \"$x\"",
    "# it's a \"comment ${var.x}\nprintf '[%s]' ${var.x}",
    "printf '[%s]' ${var.x} # it's over",
    "printf '[%s]' $${none:-${var.x}}",
    "printf '[%s]' \"$${none:-${var.x}}\"",
    "echo \\' \\\" >/dev/null; printf '[%s]' ${var.x}",
    "echo \"a\\\"b\" 'c\\' >/dev/null; printf '[%s]' ${var.x}",
    "(printf '[%s]' ${var.x})",
    "if true; then printf '[%s]' ${var.x}; fi",
    "echo $((1 + (2 * 3))) >/dev/null; printf '[%s]' ${var.x}",
    "echo `echo \"'\"` >/dev/null; printf '[%s]' ${var.x}",
    "cat >/dev/null <<'END'\nit's\nEND\nprintf '[%s]' ${var.x}",
    "cat >/dev/null <<-\"END\" && printf '[%s]' ${var.x}\n\tit's\n\tEND\n",
    "cat >/dev/null <<A; cat >/dev/null <<B; printf '[%s]' '${var.x}'\n\"\nA\n'\nB\n",
    "printf '%s' \"$(case a in (b) echo 1 ;; a) printf '[%s]' ${var.x} ;; esac)\"",
    "printf '%s' \"$(echo case >/dev/null; printf '[%s]' \"${var.x}\")\"",
    "printf '%s' \"[\"'${var.x}'\"]\"",
    "( (printf '[%s]' ${var.x}) )",
    "printf \\\n '[%s]' \\\n${var.x} \\\n# it's over",
    "ca\\\nse a in a) printf '[%s]' ${var.x} ;; esac",
    "cat >/dev/null <<END; printf '[%s]' ${var.x}\nit's\\\nEND\n\"\nEND\n",
];

#[test]
fn a_value_comes_out_as_it_is() {
    let values = [
        "",
        "plain",
        "two  words",
        "it's \"quoted\"",
        "$(touch gone)",
        "`touch gone`",
        "; touch gone #",
        "' ; touch gone; '",
        "\" ; touch gone; \"",
        "'\"'\"'; touch gone; '\"'\"'",
        "a\nb\n",
        "\\",
        "\\\\n $HOME ${HOME} $((1+1)) * ? [a] ~ -n %s",
        "${ANYHOOK_VALUE_1}",
        "}\"; touch gone; \"${x",
        "äöü 拦截 \u{1f600}",
        "-e",
        "\r\n\t",
    ];
    for context in CONTEXTS {
        for value in values {
            let expected = format!("[{value}]");
            assert_eq!(String::from_utf8_lossy(&printed(context, value)), expected, "{context}");
        }
    }
}

#[test]
fn a_here_document_takes_values() {
    for value in ["it's", "$(touch gone)", "`touch gone`", "a\\b \"c\" $HOME", "END", "two\nlines"]
    {
        let printed = printed("cat <<END\nit's [${var.x}]\nEND\n", value);
        assert_eq!(String::from_utf8_lossy(&printed), format!("it's [{value}]\n"));
    }
    let command = "cat <<-END\n\t$(printf '[%s]' ${var.x})\n\tEND\nprintf '%s' '${var.x}'";
    assert_eq!(String::from_utf8_lossy(&printed(command, "a  b")), "[a  b]\na  b");
}

#[test]
fn a_word_that_is_no_command_means_nothing() {
    let command = "printf '%s' \"$(echo case) '${var.x}'\"";
    assert_eq!(String::from_utf8_lossy(&printed(command, "a  b")), "case 'a  b'");
}

#[test]
fn quotes_are_where_they_belong() {
    let text = |command: &str| woven(command).text;
    assert_eq!(text("a ${var.x}"), "a \"${ANYHOOK_VALUE_1}\"");
    assert_eq!(text("a \"${var.x}\""), "a \"${ANYHOOK_VALUE_1}\"");
    assert_eq!(text("a 'b ${var.x} c'"), "a 'b '\"${ANYHOOK_VALUE_1}\"' c'");
    assert_eq!(
        text("${var.x} ${local.x} ${var.x}"),
        "\"${ANYHOOK_VALUE_1}\" \"${ANYHOOK_VALUE_2}\" \"${ANYHOOK_VALUE_1}\""
    );
    assert_eq!(
        text("claude ${prompt} ${A:-b}"),
        "claude \"${ANYHOOK_PROMPT}\" \"${ANYHOOK_VALUE_1}\""
    );
    assert_eq!(text("echo $HOME $${HOME}"), "echo $HOME ${HOME}");
}

/// Why no value is allowed there: the scanner is right to be strict.
#[test]
fn a_value_that_is_computed_is_executed() {
    for text in ["((${x}))", "echo $[${x}]", "for ((i = ${x}; 0; )); do :; done"] {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut bash) = shells().into_iter().nth(1) else { return };
        bash.args(["-c", text]).env("x", "a[$(touch gone)]").current_dir(folder.path());
        bash.output().unwrap();
        assert!(folder.path().join("gone").exists(), "{text}");
    }
}

#[test]
fn where_no_value_can_stand() {
    let messages = |command: &str| {
        woven(command).findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(messages("echo \\${var.x}"), ["there is a backslash before the value"]);
    assert_eq!(messages("echo \"\\${var.x}\""), ["there is a backslash before the value"]);
    assert_eq!(messages("echo '\\${var.x}'"), [""; 0]);
    assert_eq!(messages("echo `echo ${var.x}`"), ["a value cannot be used inside backticks"]);
    assert_eq!(messages("echo \"`echo ${var.x}`\""), ["a value cannot be used inside backticks"]);
    let arithmetic = "a shell may execute a value inside `$((…))`";
    assert_eq!(messages("echo $((${var.x} + 1))"), [arithmetic]);
    assert_eq!(messages("echo \"$(( (1) + ${var.x}))\" ${var.x}"), [arithmetic]);
    assert_eq!(messages("echo $( (echo ${var.x}) )"), [""; 0]);
    assert_eq!(messages("echo $(\\\n(${var.x}))"), [arithmetic], "the line goes on");
    let command = "a shell may execute a value inside `((…))`";
    for text in [
        "((${var.x}))",
        "true && (( (1) + ${var.x} )); echo ${var.x}",
        "if ((a[${var.x}])); then :; fi",
        "for ((i = 0; i < ${var.x}; i++)); do :; done",
        "echo $(((1)); ((${var.x})))",
        "echo \"$(if ((1 + ${var.x})); then :; fi)\"",
        "(\\\n(${var.x}))",
        "((echo ${var.x}); true)",
    ] {
        assert_eq!(messages(text).len(), 1, "{text}");
        assert!([arithmetic, command].contains(&messages(text)[0].as_str()), "{text}");
    }
    assert_eq!(messages("( (echo ${var.x}); (echo '((' \"((\" \\(\\( ${var.x}) )"), [""; 0]);
    let brackets = "a shell may execute a value inside `$[…]`";
    assert_eq!(messages("echo $[${var.x} + 1] ${var.x}"), [brackets]);
    assert_eq!(messages("echo \"$[a[1] + ${var.x}] ${var.x}\""), [brackets]);
    assert_eq!(messages("cat <<E\n$[1 + ${var.x}] ${var.x}\nE\n"), [brackets]);
    assert_eq!(messages("echo '$['${var.x} \"\\$[${var.x}]\" \\$[${var.x}]"), [""; 0]);
    assert_eq!(
        messages("cat <<'E'\n${var.x}\nE\n"),
        ["a here-document with a quoted delimiter does not expand values"]
    );
    assert_eq!(
        messages("cat <<${var.x}\n"),
        ["a value cannot be the delimiter of a here-document"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any value in any context.
    #[test]
    fn any_value_comes_out_as_it_is(
        value in "([^\\x00]|['\"`$;\\\\\n(){}&|<>*#~-]|\\$\\(touch x\\)|`touch x`){0,12}",
        context in prop::sample::select(CONTEXTS),
    ) {
        prop_assert_eq!(printed(context, &value), format!("[{value}]").into_bytes());
    }

    /// Any command: it is read to its end, and the values do not become part of it.
    #[test]
    fn any_command_is_read(command in "([ a-z]|['\"`$;\\\\\n(){}&|<>#-]|<<E|\\$\\(|case|esac|@){0,30}") {
        let source = command.replace("${", "$").replace('@', "${var.x}");
        let whole = 0..source.len();
        let text = NodeText::new(source.clone(), &source, &whole);
        let (template, _) = Template::read(&text, whole, TemplateScope::TEXT);
        let woven = interpolate(&template, 1);
        let expanded = woven.text.matches("${ANYHOOK_VALUE_1}").count();
        prop_assert_eq!(expanded + woven.findings.len(), template.references().count());
    }
}
