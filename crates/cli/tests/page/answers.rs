//! A person answers on the page.

use anyhook_testkit::agents::AGENT_PATIENCE;
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::{TestEnv, finish, wait_within, write};
use serde_json::{Value, json};

use crate::environment;
use crate::interactive_claude::{DIALOG, Seat, shell};
use crate::opened::{Opened, asks, dismissed, link, open_decisions, waits};

/// Answers a decision by a click.
const CLICK: &str = "
    const at = await tools.page(args.name ?? 'first');
    await at.click(`#decision-${args.id} button[value=\"${args.choice}\"]`);
    await at.waitForSelector(`#ending-${args.id}`);
    return await at.textContent(`#ending-${args.id}`);";

/// Shows the inbox, and remembers when a decision appears and when the daemon heard of it.
const WATCH: &str = "
    const at = await tools.page(args.name ?? 'first');
    await at.goto(`${args.address}decisions`);
    await at.waitForSelector('body[data-live=yes]');
    await at.evaluate(() => {
      globalThis.seen = new Promise((resolve) => {
        const heard = new Promise((heard) => {
          const events = new EventSource('/api/v1/events');
          events.addEventListener('happened', ({ data }) => {
            const made = JSON.parse(data).find((one) => one.type === 'decision:created');
            if (made) heard(Date.parse(made.heard));
          });
        });
        new MutationObserver(async () => {
          if (!document.querySelector('article[data-open]')) return;
          const shown = Date.now();
          resolve(shown - await heard);
        }).observe(document.body, { childList: true, subtree: true });
      });
    });";

fn id(decision: &Value) -> &str {
    decision["inquiry"]["id"].as_str().unwrap()
}

/// A real agent waits at a permission; the page shows it at once, and a click lets it go on.
#[test]
fn a_click_lets_exactly_the_call_of_claude_code_run() {
    let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 120\n";
    let seat = Seat::take(
        |bed| write(&bed.home().join(".config/agents/anyhook.toml"), settings, 0o644),
        [shell("touch done"), shell("touch other"), ModelTurn::text("it rests")],
    );
    let Some(seat) = seat else { return };
    let environment = seat.bed.environment();
    let Some(mut page) = Opened::new("a click", environment) else { return };
    page.another("second", environment, &json!({}));
    page.run(WATCH, json!({}));
    page.run(WATCH, json!({"name": "second"}));
    seat.screen.submit("do it");
    seat.screen.wait_for(DIALOG);
    let waited = page.run("return await page.evaluate(() => globalThis.seen);", json!({}));
    // Usually some twenty; a busy machine takes longer.
    println!("shown {waited} ms after the daemon heard of it");
    assert!(waited.as_f64().unwrap() < 5000.0, "{waited}");
    let open = open_decisions(environment);
    assert_eq!(open[0]["inquiry"]["about"], "touch done", "{open:#?}");
    let first = id(&open[0]).to_owned();
    let shown = page.run(
        "return await page.textContent(`#decision-${args.id} pre.command`);",
        json!({"id": first}),
    );
    assert_eq!(shown, "touch done");
    let ending = page.run(CLICK, json!({"id": first, "choice": "allow"}));
    assert!(ending.as_str().unwrap().contains("on the page"), "{ending}");
    wait_within(AGENT_PATIENCE, "the call", || seat.exists("done"));
    // The other browser sees that it is over, without being reloaded.
    page.run(
        "const other = await tools.page('second');
         await other.waitForSelector(`#decision-${args.id}`, { state: 'detached' });
         await other.waitForSelector(`[data-key=made-${args.id}]`);",
        json!({"id": first}),
    );
    // The next call is another decision: the answer was for the first one alone.
    wait_within(AGENT_PATIENCE, "the next decision", || {
        open_decisions(environment).iter().any(|open| open["inquiry"]["about"] == "touch other")
    });
    assert!(!seat.exists("other"));
    let next = open_decisions(environment);
    page.run("await page.goto(`${args.address}decisions`);", json!({}));
    page.run(CLICK, json!({"id": id(&next[0]), "choice": "deny"}));
    seat.wait_for("Stop", "");
    assert!(!seat.exists("other"));
}

/// Opens the page with a decision, and returns what the waiting process says after a script.
fn answered_by(test: &str, script: &str) -> Option<(TestEnv, i32, String)> {
    let environment = environment();
    asks(&environment);
    let input = json!({"command": "touch please-ask"});
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    let mut page = Opened::new(test, &environment)?;
    page.run("await page.goto(`${args.address}decisions`);", json!({}));
    page.run(script, json!({"id": id(&decision)}));
    let ended = finish(process);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    Some((environment, ended.code, said))
}

#[test]
fn a_denial_reaches_the_agent_with_its_message() {
    let script = "
        await page.click(`#decision-${args.id} details summary`);
        await page.fill(`#message-${args.id}`, 'not on a Friday');
        await page.click(`#decision-${args.id} button[value=deny]`);
        await page.waitForSelector(`#ending-${args.id}`);";
    let Some((_, code, said)) = answered_by("a denial", script) else { return };
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("not on a Friday"), "{said}");
}

#[test]
fn the_keyboard_answers_only_what_has_the_focus() {
    let script = "
        await page.keyboard.press('1');
        if (await page.$(`#ending-${args.id}`)) throw new Error('nothing had the focus');
        await page.keyboard.press('j');
        const focus = await page.evaluate(() => document.activeElement.id);
        if (focus !== `decision-${args.id}`) throw new Error(`focus on ${focus}`);
        await page.keyboard.press('1');
        await page.waitForSelector(`#ending-${args.id}`);";
    let Some((_, code, said)) = answered_by("keys", script) else { return };
    assert_eq!(code, 0, "{said}");
}

#[test]
fn it_works_without_scripts() {
    let environment = environment();
    asks(&environment);
    let input = json!({"command": "touch please-ask"});
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    let Some(mut page) = Opened::new("no scripts", &environment) else { return };
    page.another("plain", &environment, &json!({"javaScriptEnabled": false}));
    let script = "
        const plain = await tools.page('plain');
        await plain.goto(`${args.address}decisions`);
        await plain.click(`#decision-${args.id} button[value=allow]`);
        return await plain.textContent(`#ending-${args.id}`);";
    let ending = page.run(script, json!({"id": id(&decision)}));
    assert!(ending.as_str().unwrap().starts_with("allow"), "{ending}");
    assert_eq!(finish(process).code, 0);
}

#[test]
fn a_call_that_was_allowed_again_does_not_wait_again() {
    let script = "
        await page.check(`#decision-${args.id} input[name=again]`);
        await page.click(`#decision-${args.id} button[value=allow]`);
        await page.waitForSelector(`#ending-${args.id}`);";
    let Some((environment, code, said)) = answered_by("again", script) else { return };
    assert_eq!(code, 0, "{said}");
    let event = json!({
        "event_type": "before_tool", "session_id": "s", "tool_name": "Shell",
        "tool_input": {"command": "touch please-ask"}, "work_dir": environment.project(),
    });
    let again = environment.event(&event);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(open_decisions(&environment), Vec::<Value>::new());
}

/// What a person is typing is not lost when something else changes.
#[test]
fn a_message_stays_while_the_page_changes() {
    let environment = environment();
    asks(&environment);
    let (one, first) = waits(&environment, "s", "Shell", &json!({"command": "echo please-ask"}));
    let Some(mut page) = Opened::new("typing", &environment) else { return };
    let id = json!({"id": id(&first)});
    page.run(
        "await page.goto(`${args.address}decisions`);
         await page.waitForSelector('body[data-live=yes]');
         await page.click(`#decision-${args.id} details summary`);
         await page.fill(`#message-${args.id}`, 'half a sen');",
        id.clone(),
    );
    let input = json!({"command": "echo another please-ask"});
    let (other, second) = waits(&environment, "t", "Shell", &input);
    page.run(
        "await page.waitForSelector(`#decision-${args.id}`);",
        json!({"id": second["inquiry"]["id"]}),
    );
    let typed = page.run("return await page.inputValue(`#message-${args.id}`);", id);
    assert_eq!(typed, "half a sen");
    for (process, decision) in [(one, first), (other, second)] {
        dismissed(process, &environment, &decision);
    }
}

/// A file that would be written is compared with what is there.
#[test]
fn a_write_is_shown_as_a_difference() {
    let environment = environment();
    asks(&environment);
    write(&environment.project().join("a.txt"), "one\ntwo\nthree\n", 0o644);
    let input = json!({"path": "a.txt", "content": "one\nplease-ask\nthree\n"});
    let (process, decision) = waits(&environment, "s", "WriteFile", &input);
    let Some(mut page) = Opened::new("a difference", &environment) else { return };
    let shown = page.run(
        "await page.goto(`${args.address}decisions/${args.id}`);
         return [await page.textContent('.diff .del'), await page.textContent('.diff .ins')];",
        json!({"id": id(&decision)}),
    );
    assert_eq!(shown, json!(["-two\n", "+please-ask\n"]));
    dismissed(process, &environment, &decision);
}

/// The page says that it does not know any more, and goes on when the daemon is back.
#[test]
fn a_daemon_that_is_gone_is_noticed() {
    let environment = environment();
    let Some(mut page) = Opened::new("stale", &environment) else { return };
    page.run("await page.waitForSelector('body[data-live=yes]');", json!({}));
    environment.kill_daemon_for_good();
    page.run("await page.waitForSelector('#stale:not([hidden])');", json!({}));
    // The next daemon serves the page at the same address, to the same browser.
    link(&environment);
    page.run("await page.waitForSelector('#stale[hidden]', { state: 'attached' });", json!({}));
}

/// Hundreds of connections that say nothing delay no decision.
#[test]
fn a_page_that_is_flooded_costs_no_decision() {
    let environment = environment();
    asks(&environment);
    let page = link(&environment);
    let address = page["address"].as_str().unwrap();
    let host = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let open = |_| {
        use std::io::Write as _;
        let mut stream = std::net::TcpStream::connect(&host).unwrap();
        stream.write_all(b"GET /agents HTTP/1.1\r\nHost: ").unwrap();
        stream
    };
    let streams: Vec<_> = (0..300).map(open).collect();
    let (process, decision) =
        waits(&environment, "s", "Shell", &json!({"command": "echo please-ask"}));
    let made = environment.run(&["decision", "resolve", id(&decision), "allow"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(finish(process).code, 0);
    drop(streams);
}

/// The end of the page ends every session; a new link begins anew.
#[test]
fn a_closed_page_lets_nobody_in() {
    let environment = environment();
    let Some(mut page) = Opened::new("closing", &environment) else { return };
    let closed = environment.run(&["ui", "--stop"]);
    assert_eq!(closed.code, 0, "{closed:?}");
    page.run("await page.waitForSelector('#stale:not([hidden])');", json!({}));
    link(&environment);
    let status = page.run("return (await page.goto(`${args.address}agents`)).status();", json!({}));
    assert_eq!(status, 401);
}
