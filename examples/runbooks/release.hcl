# Commands only: check, build, tag. A failure undoes what was started.
pipeline "release" {
  vars = {
    version = { required = true, description = "such as 1.4.0" }
    remote  = "origin"
  }
  locals = {
    tag = "v${var.version}"
  }
  notify = {
    on_done = "${local.tag} is released"
    on_fail = "${local.tag} could not be released"
  }
  on_cancel = { step = "undo" }

  step "look" {
    run     = "git diff --quiet && git diff --cached --quiet"
    timeout = "30s"
    on_done = { step = "build" }
  }

  step "build" {
    run     = "make dist VERSION=${var.version}"
    timeout = "30m"
    on_done = { step = "tag" }
  }

  step "tag" {
    run     = "git tag ${local.tag} && git push ${var.remote} ${local.tag}"
    on_fail = { step = "undo" }
  }

  step "undo" {
    run = "git tag --delete ${local.tag} || true"
  }
}
