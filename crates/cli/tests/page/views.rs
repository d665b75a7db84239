//! What the page looks like: every view, dark and light, wide and narrow.
//!
//! With `ANYHOOK_UPDATE_PICTURES=1` the pictures of the documentation are made anew.

use std::path::Path;
use std::process::Child;

use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::{Value, json};

use crate::environment;
use crate::opened::{Opened, asks, dismissed, waits};

/// The views, by the name of their picture and their path.
const VIEWS: [(&str, &str); 8] = [
    ("agents", "agents"),
    ("inbox", "decisions"),
    ("journal", "journal"),
    ("hooks", "hooks"),
    ("pipelines", "pipelines"),
    ("workflows", "workflows"),
    ("statistics", "stats"),
    ("devices", "devices"),
];

/// A pipeline that is in the middle of its steps.
const RUNBOOK: &str = r#"
pipeline "release" {
  step "build" {
    run     = "true"
    on_done = { step = "check" }
  }
  step "check" {
    run     = "until [ -e go ]; do sleep 0.2; done"
    on_done = { step = "ship" }
  }
  step "ship" {
    run = "true"
  }
}
"#;

/// Agents that have worked, and some that wait; a pipeline and a workflow.
fn busy(environment: &TestEnv) -> Vec<(Child, Value)> {
    asks(environment);
    write(&environment.project().join("deploy.yml"), "replicas: 2\nimage: shop:41\n", 0o644);
    let runbook = environment.home().join(".config/agents/runbooks/release.hcl");
    write(&runbook, RUNBOOK, 0o644);
    for arguments in [&["pipeline", "run", "release"][..], &["workflow", "init"]] {
        let ran = environment.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    wait_until("the second step", || {
        let shown = environment.run(&["pipeline", "list", "--json"]).json();
        shown[0]["step"] == "check"
    });
    for (session, command) in
        [("a1", "cargo test"), ("b2", "npm run lint"), ("a1", "echo please-deny")]
    {
        let event = |kind: &str| {
            json!({"event_type": kind, "session_id": session, "tool_name": "Shell",
                   "tool_input": {"command": command}, "work_dir": environment.project()})
        };
        for kind in ["session_start", "before_tool", "after_tool"] {
            let code = environment.event(&event(kind)).code;
            assert_eq!(code == 2, kind == "before_tool" && command.contains("please-deny"));
        }
    }
    let content = "replicas: 4 # please-ask\nimage: shop:42\n";
    vec![
        waits(environment, "c3", "WriteFile", &json!({"path": "deploy.yml", "content": content})),
        waits(environment, "d4", "Shell", &json!({"command": "git push --force # please-ask"})),
    ]
}

/// No view loads anything from elsewhere, overflows on a phone, or keeps anybody out.
#[test]
fn every_view_is_usable_by_everyone() {
    let environment = environment();
    let waiting = busy(&environment);
    let Some(mut page) = Opened::new("views", &environment) else { return };
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let updates = std::env::var_os("ANYHOOK_UPDATE_PICTURES").is_some();
    for (form, options, is_pictured) in [
        (
            "light",
            json!({"viewport": {"width": 1280, "height": 800}, "colorScheme": "light"}),
            true,
        ),
        ("dark", json!({"viewport": {"width": 1280, "height": 800}, "colorScheme": "dark"}), false),
        (
            "phone",
            json!({"viewport": {"width": 360, "height": 720}, "colorScheme": "dark",
                         "isMobile": true, "hasTouch": true}),
            true,
        ),
    ] {
        page.another(form, &environment, &options);
        for (name, path) in VIEWS {
            let file = if updates && is_pictured {
                pictures.clone()
            } else {
                page.browser.folder().into()
            };
            let file = file.join(format!("page-{name}-{form}.png"));
            let script = "
                const at = await tools.page(args.form);
                await at.goto(`${args.address}${args.path}`);
                await at.waitForFunction(() => !document.body.dataset.follows || document.body.dataset.live === 'yes');
                await at.screenshot({ path: args.file });
                const width = await at.evaluate(() => document.scrollingElement.scrollWidth);
                const elsewhere = at.asked.filter((url) => !url.startsWith(args.address));
                return { width, elsewhere, problems: at.problems, axe: await tools.axe(at) };";
            let args = json!({"form": form, "path": path, "file": file});
            let seen = page.run(script, args);
            let view = format!("{name} {form}: {seen:#}");
            assert!(seen["width"].as_u64() <= options["viewport"]["width"].as_u64(), "{view}");
            assert_eq!(seen["elsewhere"], json!([]), "{view}");
            assert_eq!(seen["problems"], json!([]), "{view}");
            assert_eq!(seen["axe"], json!([]), "{view}");
            // A picture of nothing is small.
            assert!(std::fs::metadata(&file).unwrap().len() > 5000, "{view}");
        }
    }
    for (process, decision) in waiting {
        dismissed(process, &environment, &decision);
    }
}

/// With nothing to show, each view says so, and what to do.
#[test]
fn every_view_says_when_there_is_nothing() {
    let environment = environment();
    let Some(mut page) = Opened::new("empty views", &environment) else { return };
    for (name, path) in VIEWS {
        // That the page was opened is in the journal.
        let path = if name == "journal" { "journal?host=codex" } else { path };
        let script = "
            await page.goto(`${args.address}${args.path}`);
            return { text: await page.textContent('.empty'), axe: await tools.axe(page) };";
        let seen = page.run(script, json!({"path": path}));
        assert!(seen["text"].as_str().unwrap().len() > 20, "{name}: {seen}");
        assert_eq!(seen["axe"], json!([]), "{name}: {seen:#}");
    }
}
