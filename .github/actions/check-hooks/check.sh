#!/usr/bin/env bash
# Checks and tests hooks: ANYHOOK_HOOKS, one per line. Findings go to the file ANYHOOK_SARIF, what a
# person reads to the job's summary; exits 1 if there is a problem.
set -uo pipefail
cd "$GITHUB_WORKSPACE" || exit 2

hooks=()
while IFS= read -r hook; do
    # Spaces around it are of the YAML.
    hook=${hook#"${hook%%[![:space:]]*}"}
    hook=${hook%"${hook##*[![:space:]]}"}
    if [ -n "$hook" ]; then
        hooks+=("$hook")
    fi
done <<< "$ANYHOOK_HOOKS"

sarif=${ANYHOOK_SARIF:-anyhook.sarif}
mkdir -p "$(dirname -- "$sarif")" || exit 2

# 0 and 1 are results of a check; anything else means that it could not be made.
anyhook check --format sarif -- "${hooks[@]}" > "$sarif"
checked=$?
found=$(NO_COLOR=1 anyhook check -- "${hooks[@]}" 2>&1)
printf '%s\n' "$found"
if [ "$checked" -gt 1 ]; then
    echo "::error::the hooks cannot be checked"
    exit "$checked"
fi
problems=$(printf '%s\n' "$found" | sed -n 's/^\([0-9][0-9]*\) problems\{0,1\} in .*/\1/p' | tail -n 1)

tested=0
results=
if [ "${ANYHOOK_TEST:-true}" = true ]; then
    results=$(NO_COLOR=1 anyhook test -- "${hooks[@]}" 2>&1)
    tested=$?
    printf '%s\n' "$results"
    if [ "$tested" -gt 1 ]; then
        echo "::error::the hooks cannot be tested"
        exit "$tested"
    fi
fi

{
    echo "problems=${problems:-0}"
    if [ "$tested" = 0 ]; then echo "failed-tests=false"; else echo "failed-tests=true"; fi
    echo "sarif=$sarif"
} >> "$GITHUB_OUTPUT"

# A fence that the output does not contain.
fence='```'
while printf '%s\n%s\n' "$found" "$results" | grep -qF -- "$fence"; do
    fence=$fence'`'
done
{
    echo "## anyhook"
    echo
    printf '%s\n' "$fence" "$found" "$fence"
    if [ -n "$results" ]; then
        echo
        printf '%s\n' "$fence" "$results" "$fence"
    fi
} >> "$GITHUB_STEP_SUMMARY"

if [ "$checked" -ne 0 ] || [ "$tested" -ne 0 ]; then
    exit 1
fi
