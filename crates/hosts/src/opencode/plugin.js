// anyhook for OpenCode: hands what happens to `anyhook hook opencode` and does what it answers.
// Written by `anyhook install opencode`, taken away by `anyhook uninstall opencode`.
import { spawn } from "node:child_process";

const BINARY = "@BINARY@";
// OpenCode has no time limit of its own; a hook that hangs must not hang the agent.
const LIMIT_MS = @LIMIT_MS@;

// Sends one event; resolves to the answer, or to {failed} if there is none.
function call(payload) {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    let child;
    try {
      child = spawn(BINARY, ["hook", "opencode", "--deadline-ms", String(Math.floor(LIMIT_MS * 0.9))], {
        stdio: ["pipe", "pipe", "pipe"],
      });
    } catch (error) {
      resolve({ failed: String(error) });
      return;
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      resolve({ failed: `no answer within ${LIMIT_MS} ms` });
    }, LIMIT_MS);
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve({ failed: String(error) });
    });
    child.stdout.on("data", (data) => (stdout += data));
    child.stderr.on("data", (data) => (stderr += data));
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code !== 0) {
        resolve({ failed: stderr.trim() || `exit ${code}` });
        return;
      }
      try {
        resolve(stdout.trim() ? JSON.parse(stdout) : {});
      } catch (error) {
        resolve({ failed: String(error) });
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

export const Anyhook = async ({ directory, worktree, client }) => {
  // Sessions that belong to a subagent, and the session that started each.
  const parents = new Map();
  const ask = (hook, more) => {
    const session = more.input?.sessionID ?? more.event?.properties?.sessionID;
    return call({ hook, directory, worktree, parent: parents.get(session), ...more });
  };

  return {
    "chat.message": async (input, output) => {
      const answer = await ask("chat.message", { input, output });
      if (answer.deny) throw new Error(answer.deny);
      const text = output.parts.find((part) => part.type === "text");
      if (answer.context && text) text.text += `\n\n${answer.context}`;
    },

    "tool.execute.before": async (input, output) => {
      const answer = await ask("tool.execute.before", { input, output });
      // Without an answer nobody has guarded the call.
      if (answer.failed) throw new Error(`anyhook did not answer: ${answer.failed}`);
      if (answer.deny) throw new Error(answer.deny);
      if (answer.args) {
        for (const key of Object.keys(output.args)) delete output.args[key];
        Object.assign(output.args, answer.args);
      }
    },

    "tool.execute.after": async (input, output) => {
      const answer = await ask("tool.execute.after", { input, output });
      if (answer.deny) output.output += `\n\n${answer.deny}`;
      if (answer.context) output.output += `\n\n${answer.context}`;
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("experimental.session.compacting", { input, output });
      if (answer.context) output.context.push(answer.context);
    },

    event: async ({ event }) => {
      const properties = event.properties ?? {};
      if (event.type === "session.created" && properties.info?.parentID) {
        parents.set(properties.info.id, properties.info.parentID);
      }
      const failedTool = event.type === "message.part.updated" && properties.part?.state?.status === "error";
      const watched = ["session.created", "session.idle", "session.deleted", "session.compacted", "permission.asked"];
      if (!failedTool && !watched.includes(event.type)) return;
      const answer = await ask(event.type, { event });
      // A stop cannot be held back, but the agent can be sent to work again.
      if (answer.follow_up && properties.sessionID) {
        await client.session.promptAsync({
          path: { id: properties.sessionID },
          body: { parts: [{ type: "text", text: answer.follow_up }] },
        });
      }
    },
  };
};
