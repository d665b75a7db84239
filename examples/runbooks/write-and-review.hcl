# Two agents: one writes, the other reviews the draft and sends it back if it is not good enough.
pipeline "write-and-review" {
  vars = {
    topic = { description = "what to write about" }
    words = "800"
  }
  workspace = "folder"

  step "write" {
    run     = { agent = "writer" }
    on_done = { step = "review" }
  }

  step "review" {
    run     = { agent = "reviewer" }
    on_done = { step = "accept" }
  }

  step "accept" {
    run     = "! test -s remarks.md"
    on_done = { step = "publish" }
    on_fail = { step = "write" }
  }

  step "publish" {
    run = <<-END
      title=$(head -n 1 draft.md)
      printf '%s\n' "$title" "${var.topic}" >published.txt
    END
  }
}

agent "writer" {
  run         = "codex ${prompt}"
  prompt_file = "prompts/writer.md"
  env = {
    TOPIC = "${var.topic}"
  }
  on_idle = { action = "nudge", message = "Continue until draft.md has ${var.words} words.", attempts = 3, cooldown = "1m" }
  on_error = [
    { match = "rate_limited", action = "recover", attempts = "forever", cooldown = "5m" },
    { action = "escalate", message = "The writer failed in ${workspace.root}." },
  ]
}

agent "reviewer" {
  run     = "gemini"
  prompt  = "Read draft.md. Write what must change to remarks.md; leave that file empty if nothing needs to change."
  on_stop = { action = "signal", message = "Report whether you are done: anyhook emit agent:signal complete" }
}
