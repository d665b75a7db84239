pipeline "p" {
  vars = { x = "1" }
  step "a" {
    run = <<-END
      cat <<STOP
      $(case a in a) echo ${var.x} ;; esac) ${X:-y}
      STOP
    END
    on_done = "b"
  }
}
