//! All that can be wrong with a runbook, in both formats.

use anyhook_testkit::{TestEnv, write};

use crate::commands::snapshot;
use crate::environment;

/// What is wrong, and the same in HCL and in TOML; empty where a format has no such mistake.
const BAD: &[(&str, &str, &str)] = &[
    ("not the format at all", "pipeline \"p\" {", "[pipeline.p"),
    ("two attributes in a line", "pipeline \"p\" { on_done = \"a\" on_fail = \"b\" }", ""),
    ("an agent without anything", "agent \"x\" {}", "[agent.x]"),
    (
        "unknown keys",
        r#"
pipelin "p" {}
pipeline "p" {
  stps   = 1
  var    = {}
  notify = { on_don = "x" }
  vars   = { x = { defalt = "y" } }
  workspace = { kind = "folder", pth = "z" }
  step "a" {
    run     = { agnt = "x" }
    on_done = { stp = "b" }
    timout  = "5m"
  }
}
agent "x" {
  rn      = "claude"
  on_idel = "nudge"
}
"#,
        r#"
[pipelin.p]
[pipeline.p]
stps = 1
var = {}
notify = { on_don = "x" }
vars = { x = { defalt = "y" } }
workspace = { kind = "folder", pth = "z" }
[[pipeline.p.step]]
name = "a"
run = { agnt = "x" }
on_done = { stp = "b" }
timout = "5m"
[agent.x]
rn = "claude"
on_idel = "nudge"
"#,
    ),
    (
        "wrong types",
        r#"
pipeline "p" {
  vars      = ["x"]
  locals    = { x = 5 }
  workspace = true
  notify    = "done"
  on_done   = 5
  step "a" {
    run     = ["make"]
    timeout = 5
    on_fail = true
  }
  step "b" {
    run     = "true"
    timeout = "-5s"
  }
}
pipeline "q" {
  vars      = { x = 5, y = { default = 5, required = "yes", description = 1 } }
  workspace = { kind = 1, keep = "yes" }
  step "a" {
    run     = { agent = 5 }
    on_done = { step = [] }
  }
}
agent "x" {
  run     = 5
  prompt  = {}
  env     = []
  cwd     = 1
  host    = false
  session = 2
}
agent = 5
"#,
        r#"
pipeline.r = 5
pipeline.s = { step = 5 }
pipeline.t = { step = [5, { name = 5 }] }
[pipeline.p]
vars = ["x"]
locals = { x = 5 }
workspace = true
notify = "done"
on_done = 5
[[pipeline.p.step]]
name = "a"
run = ["make"]
timeout = 5
on_fail = true
[[pipeline.p.step]]
name = "b"
run = "true"
timeout = "-5s"
[pipeline.q]
vars = { x = 5, y = { default = 5, required = "yes", description = 1 } }
workspace = { kind = 1, keep = "yes" }
[[pipeline.q.step]]
name = "a"
run = { agent = 5 }
on_done = { step = [] }
[agent.x]
run = 5
prompt = {}
env = []
cwd = 1
host = false
session = 2
"#,
    ),
    ("no lists of pipelines", "pipeline = [1]\nagent = \"x\"\n", "pipeline = [1]\nagent = \"x\"\n"),
    ("no steps", "pipeline \"p\" {\n}\n", "[pipeline.p]\nstep = []\n"),
    (
        "things that are missing",
        r#"
pipeline "p" {
  workspace = { path = "x" }
  step "a" {
    on_done = {}
  }
  step "b" {
    run = {}
  }
  step "c" {
    run = "  "
  }
}
agent "x" {
}
agent "y" {
  run = "claude ${prompt}"
}
"#,
        r#"
[pipeline.p]
workspace = { path = "x" }
[[pipeline.p.step]]
name = "a"
on_done = {}
[[pipeline.p.step]]
name = "b"
run = {}
[[pipeline.p.step]]
run = "  "
[agent.x]
[agent.y]
run = "claude ${prompt}"
"#,
    ),
    (
        "things that have no effect",
        r#"
pipeline "p" {
  vars      = { x = { default = "a", required = true } }
  workspace = { kind = "none", path = "x", keep = true }
  step "a" {
    run     = { agent = "x" }
    timeout = "5m"
  }
}
pipeline "q" {
  workspace = { kind = "folder", branch = "x", base = "y" }
  step "a" {
    run = "true"
  }
}
agent "x" {
  run         = "claude"
  prompt      = "a"
  prompt_file = "b"
}
"#,
        r#"
[pipeline.p]
vars = { x = { default = "a", required = true } }
workspace = { kind = "none", path = "x", keep = true }
[[pipeline.p.step]]
name = "a"
run = { agent = "x" }
timeout = "5m"
[pipeline.q]
workspace = { kind = "folder", branch = "x", base = "y" }
[[pipeline.q.step]]
name = "a"
run = "true"
[agent.x]
run = "claude"
prompt = "a"
prompt_file = "b"
"#,
    ),
    (
        "names",
        r#"
pipeline "a b" {
  vars   = { "x y" = "1" }
  locals = { "" = "1" }
  step "" {
    run = { agent = "ä" }
  }
}
agent "ä" {
  run  = "claude"
  host = "claude-cod"
  env  = { "A-B" = "1", "1A" = "2", ANYHOOK_AGENT_ID = "me" }
}
pipeline {
}
step "a" "b" {
}
vars "x" {
}
"#,
        r#"
[pipeline."a b"]
vars = { "x y" = "1" }
locals = { "" = "1" }
[[pipeline."a b".step]]
name = ""
run = { agent = "ä" }
[agent."ä"]
run = "claude"
host = "claude-cod"
env = { "A-B" = "1", "1A" = "2", ANYHOOK_AGENT_ID = "me" }
"#,
    ),
    (
        "the same twice",
        r#"
pipeline "p" {
  step "a" {
    run     = "true"
    on_done = "b"
  }
  step "a" {
    run  = "true"
    name = "c"
  }
  step "b" {
    run = "true"
  }
  vars {
    x = "1"
  }
  vars = { "x" = "1", x = "2" }
}
pipeline "p" {
}
agent "x" {
}
agent "x" {
}
"#,
        r#"
[[pipeline.p.step]]
name = "a"
run = "true"
on_done = "b"
[[pipeline.p.step]]
name = "a"
run = "true"
[[pipeline.p.step]]
name = "b"
run = "true"
"#,
    ),
    (
        "an attribute twice",
        "pipeline \"p\" {\n  on_done = \"a\"\n  on_done = \"b\"\n}\n",
        "[pipeline.p]\non_done = \"a\"\non_done = \"b\"\n",
    ),
    (
        "a key of an object twice",
        "pipeline \"p\" {\n  vars = { x = \"1\", x = \"2\" }\n}\n",
        "[pipeline.p]\nvars = { x = \"1\", x = \"2\" }\n",
    ),
    ("a pipeline twice", "", "[pipeline.p]\n[pipeline.p]\n"),
    (
        "steps and agents that are not there",
        r#"
pipeline "p" {
  on_fail = "clena"
  step "build" {
    run       = { agent = "writr" }
    on_done   = { step = "tset" }
    on_cancel = "nowhere"
  }
  step "test" {
    run = "true"
  }
  step "clean" {
    run = "true"
  }
}
agent "writer" {
  run = "claude"
}
"#,
        r#"
[pipeline.p]
on_fail = "clena"
[[pipeline.p.step]]
name = "build"
run = { agent = "writr" }
on_done = { step = "tset" }
on_cancel = "nowhere"
[[pipeline.p.step]]
name = "test"
run = "true"
[[pipeline.p.step]]
name = "clean"
run = "true"
[agent.writer]
run = "claude"
"#,
    ),
    (
        "no agents at all",
        "pipeline \"p\" {\n  step \"a\" {\n    run = { agent = \"x\" }\n  }\n}\n",
        "[[pipeline.p.step]]\nname = \"a\"\nrun = { agent = \"x\" }\n",
    ),
    (
        "steps in a circle",
        r#"
pipeline "p" {
  step "start" {
    run     = "true"
    on_done = "a"
  }
  step "a" {
    run     = "true"
    on_done = { step = "b" }
  }
  step "b" {
    run     = "true"
    on_done = { step = "a" }
    on_fail = { step = "start" }
  }
}
pipeline "q" {
  step "self" {
    run     = "true"
    on_done = "self"
  }
}
"#,
        r#"
[[pipeline.p.step]]
name = "start"
run = "true"
on_done = "a"
[[pipeline.p.step]]
name = "a"
run = "true"
on_done = { step = "b" }
[[pipeline.p.step]]
name = "b"
run = "true"
on_done = { step = "a" }
on_fail = { step = "start" }
[[pipeline.q.step]]
name = "self"
run = "true"
on_done = "self"
"#,
    ),
    (
        "locals in a circle",
        "pipeline \"p\" {\n  locals = {\n    a = \"${local.b}\"\n    b = \"x ${local.c}\"\n    c = \"${local.a}\"\n    d = \"${local.a}\"\n  }\n  step \"a\" {\n    run = \"true\"\n  }\n}\n",
        "[pipeline.p.locals]\na = \"${local.b}\"\nb = \"x ${local.c}\"\nc = \"${local.a}\"\nd = \"${local.a}\"\n[[pipeline.p.step]]\nname = \"a\"\nrun = \"true\"\n",
    ),
    (
        "values that are not there",
        r#"
pipeline "p" {
  vars   = { topic = "x", old = "${var.topic}", root = "${workspace.root}", ask = "${prompt}" }
  locals = { title = "${var.topc} ${local.titel} ${workspace.root}" }
  workspace = { kind = "folder", path = "${workspace.root}/x" }
  notify = { on_done = "${prompt} ${pipeline.nme} ${whatever.z}" }
  step "a" {
    run     = "echo ${var.topc} ${local.titl} ${prompt}"
    on_done = "b"
  }
  step "b" {
    run = { agent = "x" }
  }
}
pipeline "q" {
  step "a" {
    run     = "echo ${var.x} ${local.x}"
    on_done = "b"
  }
  step "b" {
    run = { agent = "x" }
  }
}
agent "x" {
  run     = "claude ${var.topic}"
  prompt  = "about ${local.title}"
  env     = { A = "${var.none}" }
  on_idle = { action = "nudge", message = "${var.none}" }
  on_dead = { action = "gate", run = "echo ${local.none}" }
}
"#,
        r#"
[pipeline.p]
vars = { topic = "x", old = "${var.topic}", root = "${workspace.root}", ask = "${prompt}" }
locals = { title = "${var.topc} ${local.titel} ${workspace.root}" }
workspace = { kind = "folder", path = "${workspace.root}/x" }
notify = { on_done = "${prompt} ${pipeline.nme} ${whatever.z}" }
[[pipeline.p.step]]
name = "a"
run = "echo ${var.topc} ${local.titl} ${prompt}"
on_done = "b"
[[pipeline.p.step]]
name = "b"
run = { agent = "x" }
[[pipeline.q.step]]
name = "a"
run = "echo ${var.x} ${local.x}"
on_done = "b"
[[pipeline.q.step]]
name = "b"
run = { agent = "x" }
[agent.x]
run = "claude ${var.topic}"
prompt = "about ${local.title}"
env = { A = "${var.none}" }
on_idle = { action = "nudge", message = "${var.none}" }
on_dead = { action = "gate", run = "echo ${local.none}" }
"#,
    ),
    (
        "templates that are none",
        r#"
pipeline "p" {
  vars = { x = "1" }
  step "a" {
    run = "echo ${} ${x%.*} ${#x} ${var.} ${A:-${B}} ${var.x:-y} ${prompt:-y} $${fine} ${open"
  }
}
"#,
        r#"
[pipeline.p]
vars = { x = "1" }
[[pipeline.p.step]]
name = "a"
run = "echo ${} ${x%.*} ${#x} ${var.} ${A:-${B}} ${var.x:-y} ${prompt:-y} $${fine} ${open"
"#,
    ),
    (
        "values where the shell takes none",
        r#"
pipeline "p" {
  vars = { x = "1" }
  step "a" {
    run = <<-END
      echo \${var.x} `echo ${var.x}` $((${var.x} + 1))
      cat <<'STOP'
      ${var.x}
      STOP
      cat <<${var.x}
    END
  }
}
"#,
        r#"
[pipeline.p]
vars = { x = "1" }
[[pipeline.p.step]]
name = "a"
run = '''
echo \${var.x} `echo ${var.x}` $((${var.x} + 1))
cat <<'STOP'
${var.x}
STOP
cat <<${var.x}
'''
"#,
    ),
    (
        "reactions",
        r#"
pipeline "p" {
  step "a" {
    run = { agent = "x" }
  }
}
agent "x" {
  run       = "claude"
  on_idle   = { action = "nudge", attempts = 0 }
  on_prompt = "nudge"
  on_dead   = { action = "gate" }
  on_error  = [{ match = "rate_limit", action = "fail" }, { action = "recover", cooldwn = "5m" }]
  on_stop   = { action = "signal", run = "x" }
}
agent "y" {
  run       = "claude"
  on_idle   = { message = "x" }
  on_prompt = "escalte"
  on_dead   = { action = "recover", cooldown = 5 }
  on_error  = { action = "fail", append = true }
  on_stop   = 5
}
"#,
        r#"
[[pipeline.p.step]]
name = "a"
run = { agent = "x" }
[agent.x]
run = "claude"
on_idle = { action = "nudge", attempts = 0 }
on_prompt = "nudge"
on_dead = { action = "gate" }
on_error = [{ match = "rate_limit", action = "fail" }, { action = "recover", cooldwn = "5m" }]
on_stop = { action = "signal", run = "x" }
[agent.y]
run = "claude"
on_idle = { message = "x" }
on_prompt = "escalte"
on_dead = { action = "recover", cooldown = 5 }
on_error = { action = "fail", append = true }
on_stop = 5
"#,
    ),
    (
        "many mistakes in one action, in a list and in nested blocks",
        r#"
pipeline "p" {
  vars = {
    x = { defalt = 1, required = "no", description = [] }
  }
  workspace {
    kind  = "tree"
    path  = 1
    keep  = "yes"
    depth = 2
  }
  step "a" {
    run     = { agent = "x", agnt = "y" }
    timeout = 5
    on_done = { step = 1, stp = "b" }
  }
  step "b" {
    timeout = "soon"
    on_fail = ["a"]
  }
}
agent "x" {
  run       = "claude ${prompt}"
  prompt    = 5
  env       = { "1A" = 1, ANYHOOK_X = "${var.no:-y} ${a.b:-y}" }
  on_idle   = { action = "nudge", attempts = 0, foo = 1, cooldown = 5, append = true, bar = 2 }
  on_prompt = { action = "gate", run = " ", timeout = "0s", message = 7 }
  on_dead   = { action = "revive", run = "`${var.no}`", timeout = "soon", append = "yes", "a.b" = 1 }
  on_error  = [
    { match = "rate_limit", action = "fail", run = "x" },
    "fail",
    7,
    { match = 7, attempts = "often" },
    { action = "gate", macth = "other", message = "${open" },
  ]
  on_stop   = { cooldown = "soon", attempts = -1 }
}
"#,
        r#"
[pipeline.p]
vars = { x = { defalt = 1, required = "no", description = [] } }
workspace = { kind = "tree", path = 1, keep = "yes", depth = 2 }
[[pipeline.p.step]]
name = "a"
run = { agent = "x", agnt = "y" }
timeout = 5
on_done = { step = 1, stp = "b" }
[[pipeline.p.step]]
name = "b"
timeout = "soon"
on_fail = ["a"]
[agent.x]
run = "claude ${prompt}"
prompt = 5
env = { 1A = 1, ANYHOOK_X = "${var.no:-y} ${a.b:-y}" }
on_idle = { action = "nudge", attempts = 0, foo = 1, cooldown = 5, append = true, bar = 2 }
on_prompt = { action = "gate", run = " ", timeout = "0s", message = 7 }
on_dead = { action = "revive", run = "`${var.no}`", timeout = "soon", append = "yes", "a.b" = 1 }
on_error = [
  { match = "rate_limit", action = "fail", run = "x" },
  "fail",
  7,
  { match = 7, attempts = "often" },
  { action = "gate", macth = "other", message = "${open" },
]
on_stop = { cooldown = "soon", attempts = -1 }
"#,
    ),
    (
        "mistakes beside what cannot be read",
        r#"
pipeline {
  stps = 1
  step {
    timeout = "soon"
  }
}
pipeline "p" "q" {
  on_done = "nowhere"
  step "a" "b" {
    rn = "true"
  }
  vars "x" {
    y = 5
  }
}
agent {
  run     = 5
  on_idle = { action = nudge, attempts = 0, cooldown = null }
}
agent "x" {
  run       = "claude"
  on_prompt = word
  on_dead   = { action = "gate", run = file("x"), attempts = 0 }
  on_error  = [word, { match = word, action = "fial" }]
}
agnt = [word]
"#,
        r#"
agnt = [1979-05-27]
pipeline.q = 1979-05-27
[pipeline.p]
step = [1979-05-27, { name = 1979-05-27, timeout = [1979-05-27] }]
[agent.x]
run = "claude"
on_prompt = 1979-05-27
on_dead = { action = "gate", run = inf, attempts = 0 }
on_error = [1979-05-27, { match = inf, action = "fial" }]
"#,
    ),
    (
        "mistakes beside what is given twice",
        r#"
pipeline "p" {
  on_done = "a"
  on_done = "b"
  vars    = { x = 5, x = 6, "y" = "1", "y" = 7 }
  step "a" {
    run = "true"
    run = "false"
    foo = 1
    foo = 2
  }
  step "a" {
    rn      = "true"
    on_done = "nowhere"
  }
}
pipeline "p" {
  on_fail = "nowhere"
}
agent "x" {
  rn = "claude"
}
agent "x" {
  run     = "claude"
  on_idle = { action = "nudge", action = "done", attempts = 0 }
}
"#,
        r#"
[pipeline.p]
on_done = "a"
on_done = "b"
vars = { x = 5, x = 6, "y" = "1", "y" = 7 }
[[pipeline.p.step]]
name = "a"
run = "true"
run = "false"
foo = 1
[pipeline.p]
on_fail = "b"
on_done = "nowhere"
[[pipeline.p.step]]
name = "b"
rn = "true"
[agent.x]
rn = "claude"
[agent.x]
run = "claude"
on_idle = { action = "nudge", action = "done", attempts = 0 }
"#,
    ),
    (
        "what is given twice before what cannot be read at all",
        "pipeline \"p\" {\n  on_done = \"a\"\n  on_done = \"b\"\n  on_fail = \n}\n# \u{91} \u{92}\n",
        "[pipeline.p]\non_done = \"a\"\non_done = \"b\"\non_fail =\n",
    ),
    (
        "words",
        "pipeline \"p\" {\n  workspace = \"worktre\"\n  step \"a\" {\n    run = { agent = \"x\" }\n  }\n}\nagent \"x\" {\n  run     = \"claude\"\n  session = \"screen\"\n  host    = \"emacs\"\n}\n",
        "[pipeline.p]\nworkspace = \"worktre\"\n[[pipeline.p.step]]\nname = \"a\"\nrun = { agent = \"x\" }\n[agent.x]\nrun = \"claude\"\nsession = \"screen\"\nhost = \"emacs\"\n",
    ),
    (
        "a prompt's file that is not there",
        "pipeline \"p\" {\n  step \"a\" {\n    run = { agent = \"x\" }\n  }\n}\nagent \"x\" {\n  run         = \"claude\"\n  prompt_file = \"no.md\"\n}\n",
        "[[pipeline.p.step]]\nname = \"a\"\nrun = { agent = \"x\" }\n[agent.x]\nrun = \"claude\"\nprompt_file = \"no.md\"\n",
    ),
    (
        "what comes later",
        "queue \"jobs\" {\n}\nworker \"x\" \"y\" {\n}\ncron = \"daily\"\n",
        "cron = \"daily\"\n[queue.jobs]\n[worker.x]\n",
    ),
    (
        "expressions",
        r#"
pipeline "p" {
  vars   = { a = null, b = word, c = var.x, d = upper("x"), e = 1 + 2, f = true ? "a" : "b", (g) = "x" }
  locals = { a = [for x in ["a"] : x], b = "a" == "b", c = ("x"), d = -x }
  step "a" {
    run = file("x")
  }
}
"#,
        "[pipeline.p]\nvars = { a = 1979-05-27, b = inf }\n[[pipeline.p.step]]\nname = \"a\"\nrun = \"true\"\n",
    ),
    ("a character of our own", "# \u{91}\n", ""),
    (
        "an escape for a character of our own",
        "pipeline \"p\" {\n  step \"a\" {\n    run = \"echo \\u0091var.x}\"\n  }\n}\n",
        "",
    ),
    (
        "an escape that is none",
        "pipeline \"p\" {\n  step \"a\" {\n    run = \"\\d\"\n  }\n}\n",
        "[[pipeline.p.step]]\nname = \"a\"\nrun = \"\\d\"\n",
    ),
    (
        "a heredoc without its end",
        "pipeline \"p\" {\n  step \"a\" {\n    run = <<END\n  }\n}\n",
        "[[pipeline.p.step]]\nname = \"a\"\nrun = '''\n",
    ),
    (
        "letters of more than one byte",
        "pipeline \"p\" {\n  step \"a\" {\n    run = \"echo äöü ${var.ä} ${var.no} 拦截 ${local.no}\"\n  }\n}\n",
        "[[pipeline.p.step]]\nname = \"a\"\nrun = \"echo äöü ${var.ä} ${var.no} 拦截 ${local.no}\"\n",
    ),
];

/// Says what `check` makes of every mistake.
fn told(
    environment: &TestEnv,
    extension: &str,
    of: impl Fn(&(&str, &str, &'static str)) -> String,
) -> String {
    let mut told = String::new();
    for case in BAD {
        let text = of(case);
        if text.is_empty() {
            continue;
        }
        let file = format!("bad.{extension}");
        write(&environment.project().join(&file), text, 0o644);
        let ran = environment.run(&["runbook", "check", &file]);
        told.push_str(&format!("===== {}\n{}\n", case.0, snapshot::text(environment, &ran)));
    }
    told
}

#[test]
fn in_hcl() {
    let environment = environment();
    insta::assert_snapshot!(told(&environment, "hcl", |case| case.1.to_owned()));
}

#[test]
fn in_toml() {
    let environment = environment();
    insta::assert_snapshot!(told(&environment, "toml", |case| case.2.to_owned()));
}
