//! To make an event hard to read: what the guard does not see must not pass.

use serde_json::{Value, json};

use super::attack_fixture::{EVIL, Host, NAME, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// One odd form of a payload with an evil command in it.
struct Form {
    what: &'static str,
    expected: Outcome,
    /// Makes the bytes from the honest payload.
    make: fn(Host, &Value) -> Vec<u8>,
}

/// The honest payload as text, with its command's letters replaced.
fn replaced(payload: &Value, by: &str) -> Vec<u8> {
    payload.to_string().replace(EVIL, by).into_bytes()
}

/// The payload with another member in its first object.
fn with_member(payload: &Value, member: &str) -> Vec<u8> {
    let text = payload.to_string();
    format!("{{{member},{}", &text[1..]).into_bytes()
}

/// The payload up to a word, and so much of it.
fn cut_in(payload: &Value, word: &str, keep: usize) -> Vec<u8> {
    let text = payload.to_string();
    let at = text.find(word).unwrap() + keep;
    text.as_bytes()[..at].to_vec()
}

/// The payload with the member of a name replaced, wherever it stands.
fn set(mut payload: Value, names: &[&str], value: &Value) -> Vec<u8> {
    fn walk(at: &mut Value, names: &[&str], value: &Value) {
        let Some(object) = at.as_object_mut() else { return };
        for (name, member) in object.iter_mut() {
            if names.contains(&name.as_str()) && !(name == "tool" && member.is_object()) {
                *member = value.clone();
            } else {
                walk(member, names, value);
            }
        }
    }
    walk(&mut payload, names, value);
    payload.to_string().into_bytes()
}

/// The payload with its event's name changed.
fn renamed(payload: &Value, change: impl Fn(&str) -> String) -> Vec<u8> {
    let name = EVENT.iter().find_map(|field| payload[field].as_str()).unwrap();
    set(payload.clone(), &EVENT, &json!(change(name)))
}

const TOOL: [&str; 2] = ["tool_name", "tool"];
const EVENT: [&str; 3] = ["hook_event_name", "event_type", "hook"];
const INPUT: [&str; 2] = ["tool_input", "args"];
const COMMAND: [&str; 1] = ["command"];

fn form(what: &'static str, expected: Outcome, make: fn(Host, &Value) -> Vec<u8>) -> Form {
    Form { what, expected, make }
}

/// Payloads that can be read.
fn readable() -> Vec<Form> {
    use Outcome::Denied;
    vec![
        form("A byte order mark stands before the payload", Denied, |_, payload| {
            format!("\u{feff}{payload}").into_bytes()
        }),
        form("Blank lines and tabs stand around the payload", Denied, |_, payload| {
            format!("\r\n\t {payload} \r\n\r\n").into_bytes()
        }),
        form("The payload is spread over lines that end with CR LF", Denied, |_, payload| {
            format!("{payload:#}").replace('\n', "\r\n").into_bytes()
        }),
        form("The command is written in escapes", Denied, |_, payload| {
            replaced(payload, "\\u0045\\u0056\\u0049\\u004c")
        }),
        form("The names of the members are written in escapes", Denied, |_, payload| {
            payload.to_string().replace("\"command\"", "\"c\\u006fmmand\"").into_bytes()
        }),
        form("Half a surrogate pair stands beside the command", Denied, |_, payload| {
            replaced(payload, "EVIL \\ud800")
        }),
        form("Bytes that are not UTF-8 stand in the command", Denied, |_, payload| {
            let text = payload.to_string();
            let at = text.find(EVIL).unwrap();
            [&text.as_bytes()[..at], b"\xff\xfe", &text.as_bytes()[at..]].concat()
        }),
        form("An escaped NUL stands before the command", Denied, |_, payload| {
            replaced(payload, "\\u0000EVIL")
        }),
        form("A member nested 10,000 levels deep comes first", Denied, |_, payload| {
            let deep = format!("\"x\":{}{}", "[".repeat(10_000), "]".repeat(10_000));
            with_member(payload, &deep)
        }),
        form("The command is nested 200 lists deep", Denied, |_, payload| {
            let deep = format!("{}\"EVIL\"{}", "[".repeat(200), "]".repeat(200));
            payload.to_string().replace("\"EVIL\"", &deep).into_bytes()
        }),
        form("A number of a million digits comes first", Denied, |_, payload| {
            with_member(payload, &format!("\"x\":{}", "1".repeat(1_000_000)))
        }),
        form("A number too large for any type comes first", Denied, |_, payload| {
            with_member(payload, "\"x\":1e999999999")
        }),
        form("The command is given twice, the harmless one first", Denied, |_, payload| {
            payload
                .to_string()
                .replace("\"command\":\"EVIL\"", "\"command\":\"ls\",\"command\":\"EVIL\"")
                .into_bytes()
        }),
        form("A megabyte of text comes before the command", Denied, |_, payload| {
            replaced(payload, &format!("{} EVIL", "x".repeat(1_000_000)))
        }),
        form("A megabyte of text comes after the command", Denied, |_, payload| {
            replaced(payload, &format!("EVIL {}", "x".repeat(1_000_000)))
        }),
        form("The command is a list of words", Denied, |_, payload| {
            set(payload.clone(), &COMMAND, &json!(["sh", "-c", "EVIL"]))
        }),
        form("The command is an object", Denied, |_, payload| {
            set(payload.clone(), &COMMAND, &json!({"line": {"words": ["EVIL"]}}))
        }),
        form("The command is in a member that the tool does not have", Denied, |_, payload| {
            set(payload.clone(), &INPUT, &json!({"command": "ls", "surprise": "EVIL"}))
        }),
        form("The event's name is in small letters", Denied, |_, payload| {
            renamed(payload, str::to_lowercase)
        }),
        form("The event's name is in capitals", Denied, |_, payload| {
            renamed(payload, str::to_uppercase)
        }),
        form("The last letter of the event's name is a capital", Denied, |_, payload| {
            renamed(payload, |name| {
                let (start, end) = name.split_at(name.len() - 1);
                format!("{start}{}", end.to_uppercase())
            })
        }),
        form("The event's name ends with a sign that nobody sees", Denied, |_, payload| {
            renamed(payload, |name| format!("{name}\u{200b}"))
        }),
        form("The event's name is `Before_Tool`", Denied, |_, payload| {
            renamed(payload, |_| "Before_Tool".to_owned())
        }),
        form("The event's name is `before_tool_call`", Denied, |_, payload| {
            renamed(payload, |_| "before_tool_call".to_owned())
        }),
        form("The event's name is `PreTool`", Denied, |_, payload| {
            renamed(payload, |_| "PreTool".to_owned())
        }),
        form("The input is a text instead of an object", Denied, |_, payload| {
            set(payload.clone(), &INPUT, &json!("EVIL"))
        }),
        form("The input is a list", Denied, |_, payload| {
            set(payload.clone(), &INPUT, &json!(["EVIL"]))
        }),
    ]
}

/// Payloads that are cut off, or of another form.
fn broken() -> Vec<Form> {
    use Outcome::{Denied, Refused};
    vec![
        form("The payload is cut off inside the command", Refused, |_, payload| {
            cut_in(payload, EVIL, 2)
        }),
        form("The payload is cut off before the command", Refused, |_, payload| {
            cut_in(payload, "\"command\"", 0)
        }),
        form("The payload is cut off in the middle of a member's name", Refused, |_, payload| {
            cut_in(payload, "\"command\"", 4)
        }),
        form("The tool's name is null", Denied, |_, payload| {
            set(payload.clone(), &TOOL, &Value::Null)
        }),
        form("The tool's name is a number", Denied, |_, payload| {
            set(payload.clone(), &TOOL, &json!(7))
        }),
        form("The tool's name is a list", Denied, |_, payload| {
            set(payload.clone(), &TOOL, &json!(["Bash"]))
        }),
        form("The event's name is a number", Refused, |_, payload| {
            set(payload.clone(), &EVENT, &json!(1))
        }),
        form("The event's name is a list", Refused, |_, payload| {
            set(payload.clone(), &EVENT, &json!(["PreToolUse"]))
        }),
        form("The event's name is null", Refused, |_, payload| {
            set(payload.clone(), &EVENT, &Value::Null)
        }),
        form("The event's name is empty", Refused, |_, payload| {
            renamed(payload, |_| String::new())
        }),
        form("The event's name is one that nobody knows", Refused, |_, payload| {
            renamed(payload, |_| "on_frobnicate".to_owned())
        }),
        form("The payload is in UTF-16", Refused, |_, payload| {
            payload.to_string().encode_utf16().flat_map(u16::to_le_bytes).collect()
        }),
        form("The payload is not JSON", Refused, |_, _| b"touch EVIL".to_vec()),
        form("The payload is empty", Refused, |_, _| Vec::new()),
        form("The payload is a list with the event in it", Refused, |_, payload| {
            json!([payload]).to_string().into_bytes()
        }),
        form("The payload is a text with the event in it", Refused, |_, payload| {
            json!(payload.to_string()).to_string().into_bytes()
        }),
    ]
}

/// A guard that does not block on failure is not due at an event that nobody knows.
fn told(host: Host) -> Seen {
    let world = World::with(&SHELL_GUARD.replace("\non_failure: block", ""), &denying());
    world.is_guarded(host)?;
    let honest = host.shell(EVIL, &world.project());
    let reply = world.send(host, renamed(&honest, |_| "on_frobnicate".to_owned()));
    if !reply.passes() {
        return Err(format!("it does not pass: {reply:?}"));
    }
    if reply.text().contains("unknown event `on_frobnicate`") {
        Ok(Outcome::Told)
    } else {
        Err(format!("it is not told: {reply:?}"))
    }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    // OpenCode's plugin can tell nobody at such an event; there it is in the journal.
    for host in Host::ALL.into_iter().filter(|host| *host != Host::OpenCode) {
        let what = "The event's name is one that nobody knows, and no guard blocks on failure";
        let how = format!("as `{}`", host.name());
        list.push(Attempt::new(what, how, Outcome::Told, move || told(host)));
    }
    for host in Host::ALL {
        for Form { what, expected, make } in readable().into_iter().chain(broken()) {
            list.push(Attempt::new(what, format!("as `{}`", host.name()), expected, move || {
                let world = World::guarded();
                let honest = host.shell(EVIL, &world.project());
                world.lets_pass(host)?;
                let reply = world.send(host, make(host, &honest));
                // That the guard cannot decide is as good as a refusal, if the guard is named.
                match reply.verdict()? {
                    Outcome::Blocked if reply.text().contains(NAME) => Ok(Outcome::Refused),
                    outcome => Ok(outcome),
                }
            }));
        }
    }
    list
}
