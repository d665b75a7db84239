# A loop: while the tests fail, an agent fixes the code, at most five times.
pipeline "fix-tests" {
  vars = {
    command = "make test"
  }
  workspace = {
    kind = "worktree"
    base = "main"
  }
  notify = {
    on_done = "the tests pass: ${workspace.root}"
    on_fail = "the tests still fail: ${workspace.root}"
  }

  step "test" {
    run     = "sh -c ${var.command} >test.log 2>&1"
    timeout = "20m"
    on_fail = { step = "fix" }
  }

  step "fix" {
    run     = { agent = "fixer" }
    on_done = { step = "test" }
  }
}

agent "fixer" {
  run       = "claude --model ${MODEL:-sonnet}"
  prompt    = "`${var.command}` fails; see test.log for its output. Fix the code, not the tests."
  on_idle   = { action = "gate", run = "sh -c ${var.command}", timeout = "20m" }
  on_prompt = "escalate"
  on_dead   = { action = "recover", attempts = 2 }
}
