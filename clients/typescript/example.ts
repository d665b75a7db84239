/** An agent that asks before it runs a shell command: node example.js "ls" "rm -rf /". */
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { Anyhook, beforeTool } from "./anyhook.js";

const person = createInterface({ input: process.stdin, output: process.stderr });
const hooks = new Anyhook();
// Your agent asks its model for the next command here.
for (const command of process.argv.slice(2)) {
  const verdict = await hooks.decide(beforeTool("Shell", { command }, { session_id: "example" }));
  for (const message of verdict.messages) console.error(`note: ${message}`);
  if (verdict.blocked) {
    console.log(`blocked: ${verdict.reason}`); // Tell the model why.
  } else if (verdict.decision === "ask" && (await person.question(`run ${command}? `)) !== "y") {
    console.log(`not run: ${command}`);
  } else {
    const changed = verdict.modifiedInput?.command;
    spawnSync(typeof changed === "string" ? changed : command, { shell: true, stdio: "inherit" });
  }
}
await hooks.close();
person.close();
