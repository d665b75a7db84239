/** Tests of the TypeScript client against the program that ANYHOOK_BIN names, in a home of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Anyhook, AnyhookError, beforeTool } from "./anyhook.js";

// Each is what a hook does with a command that contains its name.
const HOOKS = {
  deny: "echo 'not here' >&2; exit 2",
  change: `echo '{"modified_input": {"command": "echo changed"}, "additional_context": "so\u2028so"}'`,
  slow: "sleep 4",
  kill: 'kill -9 "$PPID"; exit 0',
};
const home = mkdtempSync(join(tmpdir(), "anyhook-"));
process.env.HOME = home;
for (const [name, script] of Object.entries(HOOKS)) {
  const folder = join(home, ".config/agents/hooks", name);
  mkdirSync(join(folder, "scripts"), { recursive: true });
  const matter = `name: ${name}\ndescription: d\ntrigger: before_tool\non_failure: block\ntimeout: 600000`;
  writeFileSync(join(folder, "HOOK.md"), `---\n${matter}\nmatcher:\n  pattern: ${name}\n---\n`);
  writeFileSync(join(folder, "scripts/run"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "scripts/run"), 0o755);
}
const hooks = new Anyhook();
after(async () => {
  await hooks.close();
  rmSync(home, { recursive: true });
});

const shell = (command: string) => beforeTool("Shell", { command }, { work_dir: home });
const code = (wanted: string) => (error: unknown) => error instanceof AnyhookError && error.code === wanted;

test("verdicts", async () => {
  const silent = await hooks.decide(shell("ls"));
  assert.deepEqual([silent.blocked, silent.decision, silent.messages], [false, undefined, []]);
  const denied = await hooks.decide(shell("deny"));
  assert.deepEqual([denied.blocked, denied.decision, denied.reason], [true, "deny", "not here"]);
  assert.match(denied.id!, /^\w{8}$/);
  const changed = await hooks.decide(shell("change ü"));
  assert.equal(changed.blocked, false);
  assert.deepEqual(changed.modifiedInput, { command: "echo changed" });
  assert.equal(changed.additionalContext, "so\u2028so");
});

test("many at once", async () => {
  const commands = Array.from({ length: 100 }, (_, index) => (index % 2 ? "deny" : "ls"));
  const verdicts = await Promise.all(commands.map((command) => hooks.decide(shell(command))));
  assert.deepEqual(verdicts.map((one) => one.blocked), commands.map((one) => one === "deny"));
});

test("a hook that is not done in time has failed", async () => {
  assert.equal((await hooks.decide(shell("slow"), { timeout: 200 })).blocked, true);
});

test("whoever gives up is told so", async () => {
  const giveUp = new AbortController();
  const asked = hooks.decide(shell("slow"), { signal: giveUp.signal });
  await hooks.decide(shell("ls"));
  giveUp.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
  await assert.rejects(hooks.decide(shell("ls"), { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal((await hooks.decide(shell("deny"))).blocked, true);
});

test("payloads of agents", async () => {
  const payload = { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command: "ls" } };
  assert.deepEqual(await hooks.forward("claude-code", payload), { exitCode: 0, stdout: "", stderr: "" });
  await assert.rejects(hooks.forward("emacs", "{}"), code("unknown_host"));
});

test("what is no event is an error", async () => {
  await assert.rejects(hooks.decide({}), code("not_an_event"));
});

test("without anyhook", async () => {
  const binary = "/no/such/anyhook";
  await assert.rejects(new Anyhook({ binary }).decide(shell("ls")), code("not_found"));
  await assert.rejects(new Anyhook({ binary: "true" }).decide(shell("ls")), code("protocol"));
  assert.equal((await new Anyhook({ binary, onError: "block" }).decide(shell("ls"))).blocked, true);
  const allowed = await new Anyhook({ binary, onError: "allow" }).decide(shell("ls"));
  assert.deepEqual([allowed.blocked, allowed.decision, allowed.messages.length], [false, undefined, 1]);
});

test("a process that died is started again, once", async () => {
  const own = new Anyhook();
  await assert.rejects(own.decide(shell("kill")), code("died"));
  assert.equal((await own.decide(shell("deny"))).blocked, true);
  await own.close();
  await own.close();
  assert.equal((await own.decide(shell("deny"))).blocked, true);
  await own.close();
});

test("the example", () => {
  const example = fileURLToPath(new URL("./example.js", import.meta.url));
  const ran = spawnSync(process.execPath, [example, "echo one", "echo deny", "echo change"], { encoding: "utf8", input: "" });
  assert.deepEqual(ran.stdout.trim().split("\n"), ["one", "blocked: not here", "changed"], ran.stderr);
});
