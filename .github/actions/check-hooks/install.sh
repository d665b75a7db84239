#!/usr/bin/env bash
# Installs anyhook for the job: ANYHOOK_VERSION from npm, or the version of this action.
set -euo pipefail

version=${ANYHOOK_VERSION:-}
if [ "$version" = none ]; then
    anyhook --version
    exit
fi
if [ -z "$version" ]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml" | head -n 1)
fi
case $version in
    *[!0-9A-Za-z.+-]* | -* | "")
        echo "::error::\`$version\` is not a version of anyhook"
        exit 2
        ;;
esac

folder=$RUNNER_TEMP/anyhook
npm install --global --prefix "$folder" --ignore-scripts --no-fund --no-audit "anyhook@$version"
echo "$folder/bin" >> "$GITHUB_PATH"
"$folder/bin/anyhook" --version
