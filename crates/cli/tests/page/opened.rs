//! A page that was opened in a browser, and agents that wait.

use std::process::Child;

use anyhook_testkit::browser::Browser;
use anyhook_testkit::{TestEnv, begin, finish, wait_until, write};
use serde_json::{Value, json};

/// A hook that wants a person to decide about some calls, and denies others.
const ASKS: &str = r#"read -r event
case $event in
*please-deny*) echo 'not without a review' >&2; exit 2 ;;
*please-ask*) echo '{"decision": "ask", "reason": "is this what you want?"}' ;;
esac"#;

/// Makes calls that contain `please-ask` wait for a person.
pub fn asks(environment: &TestEnv) {
    let settings = "[decisions]\nwait = [\"ask\"]\nwait_seconds = 200\n";
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment.user_hook("asks", "trigger: before_tool", ASKS);
}

/// Lets a call wait for a person; returns the process and the decision.
pub fn waits(environment: &TestEnv, session: &str, tool: &str, input: &Value) -> (Child, Value) {
    let before = open_decisions(environment).len();
    let event = json!({
        "event_type": "before_tool", "session_id": session, "tool_name": tool,
        "tool_input": input, "work_dir": environment.project(),
    });
    let command = environment.command(&["hook", "agent-hooks"]);
    let process = begin(command, event.to_string().as_bytes());
    wait_until("the decision", || open_decisions(environment).len() > before);
    let decision = open_decisions(environment).pop().unwrap();
    (process, decision)
}

/// Returns the open decisions, oldest first.
pub fn open_decisions(environment: &TestEnv) -> Vec<Value> {
    environment.run(&["decision", "list", "--json"]).json().as_array().unwrap().clone()
}

/// A browser that was let in.
pub struct Opened {
    pub browser: Browser,
    /// The address of the page, ending with `/`.
    pub address: String,
}

impl Opened {
    /// Opens the page; none if there is no browser here.
    pub fn new(test: &str, environment: &TestEnv) -> Option<Self> {
        let page = link(environment);
        let address = page["address"].as_str().unwrap().to_owned();
        let mut browser = Browser::open(test, host(&address))?;
        enter(&mut browser, "first", &page, &json!({}));
        Some(Self { browser, address })
    }

    /// Lets another browser in, which shares nothing with the first one.
    pub fn another(&mut self, name: &str, environment: &TestEnv, options: &Value) {
        let page = link(environment);
        enter(&mut self.browser, name, &page, options);
    }

    /// Runs a script in the browser: `args.address` is the page's address.
    pub fn run(&mut self, script: &str, mut args: Value) -> Value {
        args["address"] = self.address.clone().into();
        self.browser.run(script, &args)
    }
}

/// Returns the host of an address, without its port.
pub fn host(address: &str) -> &str {
    let authority = address.trim_start_matches("http://").trim_end_matches('/');
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// Asks for a link to the page.
pub fn link(environment: &TestEnv) -> Value {
    let page = environment.run(&["ui", "--no-open", "--json"]);
    assert_eq!(page.code, 0, "{page:?}");
    page.json()
}

fn enter(browser: &mut Browser, name: &str, page: &Value, options: &Value) {
    let script = "
        const page_ = await tools.page(args.name, args.options);
        await page_.goto(args.link);
        await page_.waitForSelector('#nav');
        return page_.url();";
    let args = json!({"name": name, "link": page["link"], "options": options});
    let url = browser.run(script, &args);
    let address = page["address"].as_str().unwrap();
    assert_eq!(url, format!("{address}agents"), "the code is not in the address");
}

/// Ends a process that waits, whatever was answered.
pub fn dismissed(process: Child, environment: &TestEnv, decision: &Value) {
    let id = decision["inquiry"]["id"].as_str().unwrap();
    environment.run(&["decision", "resolve", id, "deny"]);
    finish(process);
}
