// anyhook for OpenCode: hands what happens to `anyhook hook opencode` and does what it answers.
// Made by `cargo xtask generate`; changes here are lost.
import { marker, program } from "./find.js";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

const BINARY = program;
const ARGUMENTS = ["hook","opencode","--deadline-ms","540000","--plugin"];
// Is there while a guard that blocks on failure is installed.
const MARKER = marker;
// OpenCode has no time limit of its own; a hook that hangs must not hang the agent.
const LIMIT_MS = 600000;
// Somebody may answer a dialog much later, or nobody does.
const DIALOG_ARGUMENTS = ["hook","opencode","--deadline-ms","77760000","--plugin"];
const DIALOG_LIMIT_MS = 86400000;

// Sends one event; resolves to the answer, or to {failed} if there is none.
function call(payload, { words = ARGUMENTS, limit = LIMIT_MS, started } = {}) {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    let child;
    try {
      child = spawn(BINARY, words, {
        stdio: ["pipe", "pipe", "pipe"],
      });
    } catch (error) {
      resolve({ failed: String(error) });
      return;
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      resolve({ failed: `no answer within ${limit} ms` });
    }, limit);
    started?.(child);
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve({ failed: String(error) });
    });
    child.stdout.on("data", (data) => (stdout += data));
    child.stderr.on("data", (data) => (stderr += data));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code !== 0) {
        resolve({ failed: stderr.trim() || (signal ? `killed by ${signal}` : `exit ${code}`) });
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

// `opencode run` ends at the first idle and waits for nothing but its plugins' dispose. What is sent
// to the session then runs in a new instance of us, so this belongs to all instances.
const run = (globalThis[Symbol.for("anyhook")] ??= {
  // Whether nobody is there to go on after the first idle.
  isHeadless: process.argv.slice(2).find((word) => !word.startsWith("-")) === "run",
  // Events that are being answered.
  open: new Set(),
  // Sessions that were sent back to work, and how to say that they are done.
  sentBack: new Map(),
  leaving: Promise.withResolvers(),
});
// Dialogs that wait for an answer from elsewhere, and the process that waits. The user's plugin and
// the project's are both told of a dialog: one of them asks.
const dialogs = (run.dialogs ??= new Map());
// The calls that dialogs are about, so that the answer to one is not taken for that to another.
const asking = (run.asking ??= new Map());
const MOST_ASKING = 1000;

function sendBack(session) {
  if (!run.sentBack.has(session)) run.sentBack.set(session, Promise.withResolvers());
}

function isDone(session) {
  run.sentBack.get(session)?.resolve();
  run.sentBack.delete(session);
}

// Says why a call is refused that nobody has answered for; nothing if no guard needs it answered.
function refusal(failed) {
  if (MARKER && !existsSync(MARKER)) return undefined;
  return (
    `anyhook did not answer (${failed}), and a guard that blocks on failure is installed, so this call is refused. ` +
    "The way out, for a person in a terminal: anyhook doctor says what is wrong, anyhook install puts the program back" +
    (MARKER ? `; without anyhook, rm -r ${MARKER}` : "")
  );
}

export const Anyhook = async ({ directory, worktree, client }) => {
  // Sessions that belong to a subagent, and the session that started each.
  const parents = new Map();
  // Calls that were denied: to the host they have failed, but nothing has run.
  const denied = new Set();
  // Calls that are under way, so that a dialog can be told with its call.
  const calls = new Map();
  // The MCP servers, by what the names of their tools begin with.
  const servers = new Map();
  let isDisposed = false;
  // The server and the tool that a call is of: its name alone does not say where the one ends.
  const mcp = (name = "") => {
    const starts = [...servers.keys()].filter((start) => name.startsWith(start));
    const start = starts.sort((one, other) => other.length - one.length)[0];
    return start && { server: servers.get(start), tool: name.slice(start.length) };
  };
  const ask = (hook, more, options) => {
    const properties = more.event?.properties;
    const session = more.input?.sessionID ?? properties?.sessionID;
    const of = mcp(more.input?.tool ?? properties?.part?.tool);
    return call({ hook, directory, worktree, parent: parents.get(session), mcp: of, ...more }, options);
  };

  const happened = async (event) => {
    const properties = event.properties ?? {};
    const session = properties.sessionID;
    if (event.type === "session.created" && properties.info?.parentID) {
      parents.set(properties.info.id, properties.info.parentID);
    }
    const part = event.type === "message.part.updated" ? properties.part : undefined;
    if (part?.state?.status === "error") calls.delete(part.callID);
    const failedTool = part?.state?.status === "error" && !denied.has(part.callID);
    const answered = ["permission.replied", "question.replied", "question.rejected"];
    const watched = [...answered, "session.created", "session.idle", "session.deleted", "session.compacted", "session.error", "permission.asked"];
    if (!failedTool && !watched.includes(event.type)) return;
    // Nobody is left who could answer.
    if (event.type === "permission.asked") isDone(session);
    if (answered.includes(event.type)) {
      const waiting = dialogs.get(properties.requestID);
      dialogs.delete(properties.requestID);
      waiting?.kill();
    }
    const input = asking.get(properties.requestID);
    const answer = await ask(event.type, { event, input, headless: run.isHeadless });
    if (event.type !== "session.idle") return;
    if (answer.follow_up) await followUp(session, answer.follow_up);
    else isDone(session);
  };

  // Has a dialog answered from elsewhere. It is on the screen meanwhile, and the first answer counts.
  const asked = async (event) => {
    const { id, tool } = event.properties;
    if (dialogs.has(id)) return;
    const input = calls.get(tool?.callID);
    if (asking.size >= MOST_ASKING) asking.delete(asking.keys().next().value);
    if (input) asking.set(id, input);
    const waits = { words: DIALOG_ARGUMENTS, limit: DIALOG_LIMIT_MS, started: (child) => dialogs.set(id, child) };
    const answer = await ask(event.type, { event, input }, waits);
    if (!dialogs.delete(id)) return;
    if (answer.reply === "reject") denied.add(tool?.callID);
    if (answer.answers) await reply("question", id, { answers: answer.answers });
    else if (answer.reply) await reply("permission", id, { reply: answer.reply, message: answer.message });
  };

  // What the plugins' client has no names for.
  const reply = (what, requestID, body) =>
    client._client.post({
      url: `/${what}/{requestID}/reply`,
      path: { requestID },
      body,
      headers: { "Content-Type": "application/json" },
    });

  // A stop cannot be held back, but the agent can be sent to work again.
  const followUp = async (session, text) => {
    if (run.isHeadless) {
      sendBack(session);
      // What is sent before that would be cut off.
      await run.leaving.promise;
    }
    try {
      const body = { parts: [{ type: "text", text }] };
      const sent = await client.session.promptAsync({ path: { id: session }, body });
      if (sent.error) isDone(session);
    } catch (error) {
      isDone(session);
      throw error;
    }
  };

  return {
    config: async (settings) => {
      for (const name of Object.keys(settings.mcp ?? {})) {
        servers.set(`${name.replace(/[^a-zA-Z0-9_-]/g, "_")}_`, name);
      }
    },

    "chat.message": async (input, output) => {
      const answer = await ask("chat.message", { input, output });
      if (answer.deny) throw new Error(answer.deny);
      const text = output.parts.find((part) => part.type === "text");
      if (answer.context && text) text.text += `\n\n${answer.context}`;
    },

    "tool.execute.before": async (input, output) => {
      const answer = await ask("tool.execute.before", { input, output }, { words: [...ARGUMENTS, "--tool-event"] });
      const reason = answer.failed ? refusal(answer.failed) : answer.deny;
      if (reason) {
        denied.add(input.callID);
        throw new Error(reason);
      }
      if (answer.args) {
        for (const key of Object.keys(output.args)) delete output.args[key];
        Object.assign(output.args, answer.args);
      }
      calls.set(input.callID, { ...input, args: output.args });
    },

    "tool.execute.after": async (input, output) => {
      calls.delete(input.callID);
      const answer = await ask("tool.execute.after", { input, output });
      if (answer.deny) output.output += `\n\n${answer.deny}`;
      if (answer.context) output.output += `\n\n${answer.context}`;
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("experimental.session.compacting", { input, output });
      if (answer.context) output.context.push(answer.context);
    },

    event: ({ event }) => {
      // The next instance is told, too.
      if (isDisposed) return;
      // Without a screen OpenCode itself answers at once.
      if (!run.isHeadless && ["permission.asked", "question.asked"].includes(event.type)) {
        // Nothing waits for it: other events come meanwhile.
        asked(event).catch(() => {});
        return;
      }
      const work = happened(event).finally(() => run.open.delete(work));
      run.open.add(work);
      return work;
    },

    dispose: async () => {
      if (!run.isHeadless) return;
      isDisposed = true;
      run.leaving.resolve();
      while (run.open.size || run.sentBack.size) {
        const sentBack = [...run.sentBack.values()].map((session) => session.promise);
        await Promise.allSettled([...run.open, ...sentBack]);
      }
    },
  };
};
