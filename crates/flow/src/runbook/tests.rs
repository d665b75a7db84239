//! Tests of runbooks: both formats give the same model; a plan has every value filled in.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhook_model::RecordId;
use anyhook_model::pipeline::{PipelinePlan, StepWork, WorkspaceKind};
use anyhook_model::reaction::Verb;
use proptest::prelude::*;

use super::*;

const HCL: &str = r#"
pipeline "two" {
  vars = {
    topic  = {}
    branch = "main"
    style  = { default = "${STYLE:-plain}", description = "how it looks" }
    extra  = { required = false }
  }
  locals {
    title = "${var.topic} on ${var.branch}"
    long  = "<${local.title}> ${pipeline.name}"
  }
  workspace {
    kind   = "worktree"
    path   = "../trees/${var.topic}"
    branch = "work/${pipeline.id}"
    keep   = false
  }
  notify = {
    on_start = "begins: ${local.long}"
    on_fail  = "failed in ${workspace.root}"
  }
  on_fail = "clean"
  step "a" {
    run     = "echo ${var.topic} '${local.title}' $HOME $${HOME}"
    timeout = "10m"
    on_done = { step = "b" }
  }
  step "b" {
    run       = { agent = "x" }
    on_done   = "c"
    on_fail   = { step = "a" }
    on_cancel = { step = "clean" }
  }
  step "c" {
    run = <<-END
      make ${var.style}
        install
    END
  }
  step "clean" {
    run = "rm -rf tmp"
  }
}

agent "x" {
  run      = "FLAG=1 /usr/bin/claude --model ${MODEL} ${prompt}"
  prompt   = "Write about ${var.topic}."
  env      = { STYLE = "${var.style}" }
  cwd      = "sub"
  on_idle  = { action = "gate", run = "test -f ${local.title}", attempts = 3 }
  on_error = [
    { match = "rate_limited", action = "gate", run = "sleep ${var.style}; echo ${local.title}" },
    { action = "escalate", message = "${pipeline.id} failed" },
  ]
}
"#;

const TOML: &str = r#"
[pipeline.two]
on_fail = "clean"

[pipeline.two.vars]
topic = {}
branch = "main"
style = { default = "${STYLE:-plain}", description = "how it looks" }
extra = { required = false }

[pipeline.two.locals]
title = "${var.topic} on ${var.branch}"
long = "<${local.title}> ${pipeline.name}"

[pipeline.two.workspace]
kind = "worktree"
path = "../trees/${var.topic}"
branch = "work/${pipeline.id}"
keep = false

[pipeline.two.notify]
on_start = "begins: ${local.long}"
on_fail = "failed in ${workspace.root}"

[[pipeline.two.step]]
name = "a"
run = "echo ${var.topic} '${local.title}' $HOME $${HOME}"
timeout = "10m"
on_done = { step = "b" }

[[pipeline.two.step]]
name = "b"
run = { agent = "x" }
on_done = "c"
on_fail = { step = "a" }
on_cancel = { step = "clean" }

[[pipeline.two.step]]
name = "c"
run = """
make ${var.style}
  install
"""

[[pipeline.two.step]]
name = "clean"
run = "rm -rf tmp"

[agent.x]
run = "FLAG=1 /usr/bin/claude --model ${MODEL} ${prompt}"
prompt = "Write about ${var.topic}."
env = { STYLE = "${var.style}" }
cwd = "sub"
on_idle = { action = "gate", run = "test -f ${local.title}", attempts = 3 }
on_error = [
  { match = "rate_limited", action = "gate", run = "sleep ${var.style}; echo ${local.title}" },
  { action = "escalate", message = "${pipeline.id} failed" },
]
"#;

fn usable(text: &str, format: RunbookFormat) -> Runbook {
    let reading = read(text, format);
    assert_eq!(reading.findings, []);
    reading.runbook
}

/// Plans with some variables; the environment has `MODEL` and an empty `STYLE`.
fn planned(
    runbook: &Runbook,
    name: &str,
    given: &[(&str, &str)],
) -> Result<PipelinePlan, Vec<Finding>> {
    planned_asking(runbook, name, given).map(|(plan, _)| plan)
}

/// Plans, and returns the commands whose host was asked for.
fn planned_asking(
    runbook: &Runbook,
    name: &str,
    given: &[(&str, &str)],
) -> Result<(PipelinePlan, Vec<String>), Vec<Finding>> {
    let commands = RefCell::new(Vec::new());
    let variables: BTreeMap<String, String> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let asked = PlanRequest {
        id: RecordId::from_random(7),
        project: "/project".to_owned(),
        runbook: "/project/.agents/runbooks/two.hcl".to_owned(),
        digest: "abc".to_owned(),
        variables,
        environment: &|name| match name {
            "MODEL" => Some("o'pus".to_owned()),
            "STYLE" => Some(String::new()),
            _ => None,
        },
        workspaces: "/state/workspaces".to_owned(),
        read: &|path| match path {
            "prompts/go.md" => Ok("Go ${var.topic},\nnow.\n".to_owned()),
            "prompts/bad.md" => Ok("a\n${var.tpic}\n${nobody.knows} ${UNSET}\n\0".to_owned()),
            _ => Err("there is no such file".to_owned()),
        },
        host_of: &|command| {
            commands.borrow_mut().push(command.to_owned());
            command.contains("claude").then(|| "claude-code".to_owned())
        },
    };
    plan(runbook, name, &asked).map(|plan| (plan, commands.take()))
}

fn messages(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.message.as_str()).collect()
}

#[test]
fn both_formats_say_the_same() {
    let hcl = usable(HCL, RunbookFormat::Hcl);
    assert_eq!(hcl, usable(TOML, RunbookFormat::Toml));
    let different = HCL.replace("echo ${var.topic}", "echo ${var.branch}");
    assert_ne!(hcl, usable(&different, RunbookFormat::Hcl));
    let json = |text, format| tree(text, format).0.unwrap().to_json();
    assert_eq!(sorted(json(HCL, RunbookFormat::Hcl)), sorted(json(TOML, RunbookFormat::Toml)));
}

/// Returns the JSON text with the keys of objects sorted, at every depth.
fn sorted(mut value: serde_json::Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

#[test]
fn a_plan_has_every_value() {
    let runbook = usable(HCL, RunbookFormat::Hcl);
    let plan = planned(&runbook, "two", &[("topic", "it's; touch x")]).unwrap();
    assert_eq!(plan.variables["topic"], "it's; touch x");
    assert_eq!(plan.variables["style"], "plain", "an empty variable has its default");
    assert_eq!(plan.variables["extra"], "");
    assert_eq!(plan.workspace.kind, WorkspaceKind::Worktree);
    assert_eq!(plan.workspace.root, "/project/../trees/it's; touch x");
    assert_eq!(plan.workspace.branch.as_deref(), Some("work/70000000"));
    assert_eq!(plan.workspace.base.as_deref(), Some("HEAD"));
    assert!(!plan.workspace.keep);
    assert_eq!(plan.notify.on_start.as_deref(), Some("begins: <it's; touch x on main> two"));
    assert_eq!(plan.notify.on_fail.as_deref(), Some("failed in /project/../trees/it's; touch x"));
    assert_eq!(plan.on_fail.as_deref(), Some("clean"));
    let StepWork::Shell(shell) = &plan.step("a").unwrap().work else { panic!("no shell") };
    assert_eq!(
        shell.run.text,
        "echo \"${ANYHOOK_VALUE_1}\" ''\"${ANYHOOK_VALUE_2}\"'' $HOME ${HOME}"
    );
    assert_eq!(shell.run.values["ANYHOOK_VALUE_1"], "it's; touch x");
    assert_eq!(shell.run.values["ANYHOOK_VALUE_2"], "it's; touch x on main");
    assert_eq!(shell.timeout_ms, Some(600_000));
    let StepWork::Shell(shell) = &plan.step("c").unwrap().work else { panic!("no shell") };
    assert_eq!(shell.run.text, "make \"${ANYHOOK_VALUE_1}\"\n  install\n");
    assert_eq!(plan.step("b").unwrap().on_cancel.as_deref(), Some("clean"));
}

#[test]
fn an_agent_has_every_value() {
    let runbook = usable(TOML, RunbookFormat::Toml);
    let plan = planned(&runbook, "two", &[("topic", "cats")]).unwrap();
    let StepWork::Agent(agent) = &plan.step("b").unwrap().work else { panic!("no agent") };
    assert_eq!(agent.host.as_deref(), Some("claude-code"));
    assert_eq!(
        agent.run.text,
        "FLAG=1 /usr/bin/claude --model \"${ANYHOOK_VALUE_1}\" \"${ANYHOOK_PROMPT}\""
    );
    assert_eq!(agent.run.values["ANYHOOK_VALUE_1"], "o'pus");
    assert_eq!(agent.run.values["ANYHOOK_PROMPT"], "Write about cats.");
    assert_eq!(agent.prompt.as_deref(), Some("Write about cats."));
    assert!(agent.places_prompt);
    assert_eq!(agent.env["STYLE"], "plain");
    assert_eq!(agent.cwd, "/project/../trees/cats/sub");
    let run = |text: &Option<String>| text.clone().unwrap();
    assert_eq!(agent.reactions.on_idle.verb, Verb::Gate);
    assert_eq!(run(&agent.reactions.on_idle.run), "test -f \"${ANYHOOK_VALUE_1}\"");
    assert_eq!(
        run(&agent.reactions.on_error[0].action.run),
        "sleep \"${ANYHOOK_VALUE_2}\"; echo \"${ANYHOOK_VALUE_3}\""
    );
    assert_eq!(run(&agent.reactions.on_error[1].action.message), "70000000 failed");
    let values: Vec<&str> = agent.gate_values.values().map(String::as_str).collect();
    assert_eq!(values, ["cats on main", "plain", "cats on main"]);
}

#[test]
fn defaults_of_a_workspace() {
    let text = |workspace: &str| {
        format!(
            "[pipeline.p]\nworkspace = \"{workspace}\"\n[[pipeline.p.step]]\nname = \"a\"\nrun = \"true\"\n"
        )
    };
    let workspace = |kind: &str| {
        planned(&usable(&text(kind), RunbookFormat::Toml), "p", &[]).unwrap().workspace
    };
    let none = workspace("none");
    assert_eq!((none.root.as_str(), none.keep, none.branch), ("/project", true, None));
    let folder = workspace("folder");
    assert_eq!((folder.root.as_str(), folder.branch), ("/state/workspaces/p-70000000", None));
    let tree = workspace("worktree");
    assert_eq!(tree.root, "/state/workspaces/p-70000000");
    assert_eq!(tree.branch.as_deref(), Some("anyhook/p-70000000"));
    assert_eq!(tree.base.as_deref(), Some("HEAD"));
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let text = r#"
[pipeline.p]
vars = { topic = { description = "what about" }, other = "${NEVER}" }
workspace = { kind = "worktree", branch = "-D", path = "${var.other}" }
[[pipeline.p.step]]
name = "a"
run = "echo ${UNSET} ${UNSET} ${UNSET:-x}"
on_done = "b"
[[pipeline.p.step]]
name = "b"
run = { agent = "x" }
[agent.x]
run = "codex"
prompt_file = "no.md"
"#;
    let findings = planned(&usable(text, RunbookFormat::Toml), "p", &[("tpic", "a")]).unwrap_err();
    assert_eq!(
        messages(&findings),
        [
            "the variable `topic` is missing (what about)",
            "the environment variable `NEVER` is not set",
            "the pipeline `p` has no variable `tpic`",
            "the workspace's path is empty",
            "`-D` is not a valid branch or commit",
            "the environment variable `UNSET` is not set",
            "`no.md` cannot be read: there is no such file",
        ]
    );
    assert_eq!(findings[2].hint.as_deref(), Some("did you mean `topic`?"));
    assert_eq!(&text[findings[1].span.clone().unwrap()], "${NEVER}");
    let findings = planned(&usable(text, RunbookFormat::Toml), "q", &[]).unwrap_err();
    assert_eq!(messages(&findings), ["there is no pipeline `q`"]);
}

#[test]
fn the_whole_command_is_asked_for_its_host() {
    let asked = |run: &str| {
        let text = format!(
            "[pipeline.p]\nvars.x = \"\"\nstep = [{{ name = \"a\", run.agent = \"x\" }}]\n[agent.x]\nrun = '''{run}'''\n"
        );
        let given = [("x", "a \"b\" \\ ; ${ANYHOOK_VALUE_1}")];
        planned_asking(&usable(&text, RunbookFormat::Toml), "p", &given).unwrap().1
    };
    for run in ["npx -y @openai/codex", "env -u X claude", "cd x && claude", "echo $HOME $"] {
        assert_eq!(asked(run), [run]);
    }
    let value = "a \\\"b\\\" \\\\ ; ${ANYHOOK_VALUE_1}";
    assert_eq!(asked("cd ${var.x} && claude"), [format!("cd \"{value}\" && claude")]);
    assert_eq!(asked("claude 'a ${var.x}'"), [format!("claude 'a '\"{value}\"''")]);
    assert_eq!(asked("$${SHELL} $${ ${var.x}"), [format!("${{SHELL}} ${{ \"{value}\"")]);
}

#[test]
fn a_prompt_may_be_in_a_file() {
    let text = |file: &str| {
        format!(
            "[pipeline.p]\nvars.topic = \"on\"\nstep = [{{ name = \"a\", run.agent = \"x\" }}]\n[agent.x]\nrun = \"codex\"\nprompt_file = \"prompts/{file}.md\"\n"
        )
    };
    let plan = planned(&usable(&text("go"), RunbookFormat::Toml), "p", &[]).unwrap();
    let StepWork::Agent(agent) = &plan.steps[0].work else { panic!("no agent") };
    assert_eq!(agent.prompt.as_deref(), Some("Go on,\nnow.\n"));
    assert!(!agent.places_prompt && agent.host.is_none());
    assert_eq!(agent.cwd, "/project");
    let findings = planned(&usable(&text("bad"), RunbookFormat::Toml), "p", &[]).unwrap_err();
    assert_eq!(
        messages(&findings),
        [
            "prompts/bad.md:3: there is no `nobody.knows`",
            "prompts/bad.md:2: there is no variable `tpic` in the pipeline `p`",
            "prompts/bad.md:3: the environment variable `UNSET` is not set",
            "prompts/bad.md:1: the text contains a NUL character",
        ]
    );
}

#[test]
fn no_value_may_have_a_nul_or_be_endless() {
    let text = "[pipeline.p]\nvars.a = \"\"\nstep = [{ name = \"a\", run = \"echo ${var.a}\" }]\n";
    let runbook = usable(text, RunbookFormat::Toml);
    let findings = planned(&runbook, "p", &[("a", "x\0y")]).unwrap_err();
    assert_eq!(messages(&findings), ["the variable `a` contains a NUL character"]);
    let findings = planned(&runbook, "p", &[("a", &"x".repeat(200_000))]).unwrap_err();
    assert_eq!(messages(&findings), ["the variable `a` is too long: 200000 bytes"]);
}

#[test]
fn a_place_is_where_it_is_written() {
    let step = "pipeline \"p\" {\n  step \"a\" {\n    run = \"echo \\\"ä\\\" ${var.none} $${x} ${A:-} ${nobody.knows}\"\n  }\n}\n";
    let found = read(step, RunbookFormat::Hcl).findings;
    let places: Vec<&str> =
        found.iter().map(|finding| &step[finding.span.clone().unwrap()]).collect();
    assert_eq!(places, ["${var.none}", "${nobody.knows}"]);
    let text = "[pipeline.p]\nstep = [{ name = \"a\", run = \"\"\"\n\\u0024{var.none}\"\"\" }]\n";
    let found = read(text, RunbookFormat::Toml).findings;
    assert_eq!(&text[found[0].span.clone().unwrap()], "\"\"\"\n\\u0024{var.none}\"\"\"");
}

#[test]
fn a_hostile_text_is_read_in_good_time_and_in_few_words() {
    let open =
        format!("[pipeline.p]\nstep = [{{ name = \"a\", run = \"{}\" }}]\n", "${".repeat(100_000));
    assert_eq!(
        messages(&read(&open, RunbookFormat::Toml).findings),
        ["`${` is not closed by a `}`"]
    );
    let many =
        format!("[pipeline.p]\nstep = [{{ name = \"a\", run = \"{}\" }}]\n", "${}".repeat(500));
    let found = read(&many, RunbookFormat::Toml).findings;
    assert_eq!((found.len(), found[100].message.as_str()), (101, "and 400 more"));
    let deep = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let again = "on_done = \"a\"\n".repeat(2_000);
    for (format, _) in RunbookFormat::ALL {
        assert!(!read(&deep, format).is_usable());
        let found = read(&again, format).findings;
        assert_eq!(found.len(), 101, "{:?}", found.last());
    }
}

#[test]
fn masks_are_no_way_around() {
    for text in
        ["x = \"\u{91}\"", "x = \"\\u0091var.x}\"", "x = <<E\n\u{92}\nE\n", "x = \"\\u0092\""]
    {
        let found = read(text, RunbookFormat::Hcl).findings;
        assert!(found.iter().any(|finding| finding.code == "unreadable"), "{text}: {found:?}");
    }
}

proptest! {
    /// Any text: reading it returns, and every position is in the text.
    #[test]
    fn places_are_in_the_text(text in "(pipeline|agent|step|run|vars|locals|on_done|[\"{}=\\[\\]\n ${}.ä#<-]|a|b|\"a\"|\\$\\{|<<E\n|\nE\n){0,40}") {
        for (format, _) in RunbookFormat::ALL {
            for finding in read(&text, format).findings {
                let span = finding.span.unwrap_or_default();
                prop_assert!(span.start <= span.end && span.end <= text.len(), "{:?}", span);
            }
        }
    }
}
