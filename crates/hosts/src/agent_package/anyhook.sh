#!/bin/sh
# What the hooks of this package run: finds anyhook on this machine and hands the event to it.
# Made by `cargo xtask generate`; changes here are lost.
#
# The first argument says what becomes of a call that nobody answers: `other` for one that goes on,
# `tool:N` for a tool call, which is refused while a guard is installed and otherwise ends with N.
# The rest is the call.

unanswered=$1
shift
@RUNNERS@
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
        tool:0) exec /bin/sh -c '@REFUSED@0' "$guarded" "$program" "$@" ;;
        tool:*) exec /bin/sh -c '@REFUSED@1' "$guarded" "$program" "$@" ;;
        *) exec /bin/sh -c '@SOFTENED@' anyhook "$program" "$@" ;;
    esac
fi

event=$(cat)
case $unanswered in
    tool:*)
        if has_guard; then
            echo "@REFUSAL@" >&2
@REPLY@
            exit 2
        fi
        ;;
    *)
        case $event in
            *'"SessionStart"'*) printf '%s\n' '{"systemMessage": "@MISSING@."}' ;;
        esac
        ;;
esac
