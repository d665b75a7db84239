// Finds anyhook on this machine. Made by `cargo xtask generate`; changes here are lost.
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const home = process.env.HOME || homedir();
const data = process.env.XDG_DATA_HOME || join(home, ".local/share");
const config = join(process.env.XDG_CONFIG_HOME || join(home, ".config"), "agents");
const state = join(process.env.XDG_STATE_HOME || join(home, ".local/state"), "anyhook");

export const MISSING = "@MISSING@.";

// Is there while a guard that blocks on failure is installed.
export const marker = join(state, "guarded");

// Where `anyhook install` and packages put it comes first: a project may add to PATH.
export const program = findProgram();

function findProgram() {
  const usual = [join(data, "anyhook/bin"), join(home, ".local/bin"), "/usr/local/bin", "/usr/bin"];
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const names = ["anyhook-hook", "anyhook"];
  const inFolder = (folder) => names.map((name) => join(folder, name));
  const onPath = names.flatMap((name) => path.map((folder) => join(folder, name)));
  return [...usual.flatMap(inFolder), ...onPath].find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// Whether a guard is installed that must not be left out.
export function hasGuard() {
  return existsSync(marker) || [join(config, "hooks"), "/etc/agents/hooks"].some(blocks);
}

function blocks(folder) {
  try {
    return readdirSync(folder).some((name) => {
      const file = join(folder, name, "HOOK.md");
      return existsSync(file) && /^on_failure: *["']?block/m.test(readFileSync(file, "utf8"));
    });
  } catch {
    return false;
  }
}
