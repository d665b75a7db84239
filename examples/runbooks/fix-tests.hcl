# A loop: as long as the tests fail, an agent mends them, five times at most.
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
    on_fail = { step = "mend" }
  }

  step "mend" {
    run     = { agent = "mender" }
    on_done = { step = "test" }
  }
}

agent "mender" {
  run       = "claude --model ${MODEL:-sonnet}"
  prompt    = "`${var.command}` fails; test.log has what it says. Mend the code, not the tests."
  on_idle   = { action = "gate", run = "sh -c ${var.command}", timeout = "20m" }
  on_prompt = "escalate"
  on_dead   = { action = "recover", attempts = 2 }
}
