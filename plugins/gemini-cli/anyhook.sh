#!/bin/sh
# What the hooks of this package run: finds anyhook on this machine and hands the event to it.
# Made by `cargo xtask generate`; changes here are lost.
#
# The first argument says what becomes of a call that nobody answers: `other` for one that goes on,
# `tool:N` for a tool call, which is refused while a guard is installed and otherwise ends with N.
# The rest is the call.

unanswered=$1
shift
data=${XDG_DATA_HOME:-$HOME/.local/share}
config=${XDG_CONFIG_HOME:-$HOME/.config}/agents
guarded=${XDG_STATE_HOME:-$HOME/.local/state}/anyhook/guarded

# Where `anyhook install` and packages put it comes first: a project may add to PATH.
find_program() {
    for folder in "$data/anyhook/bin" "$HOME/.local/bin" /usr/local/bin /usr/bin; do
        for name in anyhook-hook anyhook; do
            if [ -x "$folder/$name" ]; then
                printf '%s\n' "$folder/$name"
                return
            fi
        done
    done
    command -v anyhook-hook || command -v anyhook
}

has_guard() {
    [ -e "$guarded" ] ||
        grep -qsE '^on_failure: *["'\'']?block' "$config"/hooks/*/HOOK.md /etc/agents/hooks/*/HOOK.md
}

program=$(find_program)
if [ -n "$program" ]; then
    case $unanswered in
        tool:0) exec /bin/sh -c '"$@"; set -- $?; case $1 in 0|2) exit $1;; esac; if [ -e "$0" ]; then echo "anyhook did not answer (exit $1), and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program; without anyhook, rm -r $0" >&2; exit 2; fi; echo "anyhook did not answer (exit $1); no guard that blocks on failure is installed, so the call is allowed" >&2; exit 0' "$guarded" "$program" "$@" ;;
        tool:*) exec /bin/sh -c '"$@"; set -- $?; case $1 in 0|2) exit $1;; esac; if [ -e "$0" ]; then echo "anyhook did not answer (exit $1), and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program; without anyhook, rm -r $0" >&2; exit 2; fi; echo "anyhook did not answer (exit $1); no guard that blocks on failure is installed, so the call is allowed" >&2; exit 1' "$guarded" "$program" "$@" ;;
        *) exec /bin/sh -c '"$@"; set -- $?; case $1 in 0|2) exit $1;; esac; exit 1' anyhook "$program" "$@" ;;
    esac
fi

event=$(cat)
case $unanswered in
    tool:*)
        if has_guard; then
            echo "anyhook is not installed: guards do not run. To install it: npm install -g anyhook, or see https://github.com/anyhook/anyhook. A guard that blocks on failure is installed, so this call is refused." >&2
            exit 2
        fi
        ;;
    *)
        case $event in
            *'"SessionStart"'*) printf '%s\n' '{"systemMessage": "anyhook is not installed: guards do not run. To install it: npm install -g anyhook, or see https://github.com/anyhook/anyhook."}' ;;
        esac
        ;;
esac
