// anyhook for Amp: passes events to `anyhook hook amp` and does what it answers.
// Written by `anyhook install amp`, removed by `anyhook uninstall amp`.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

const BINARY = "@BINARY@";
const ARGUMENTS = "@ARGUMENTS@";
// Exists while a guard that blocks on failure is installed.
const MARKER = "@MARKER@";
// Amp is not known to have a time limit for plugins.
const LIMIT_MS = @LIMIT_MS@;

// Sends one event; resolves to the answer, or to {failed} if there is none.
function call(payload, words = ARGUMENTS) {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    let child;
    try {
      child = spawn(BINARY, words, { stdio: ["pipe", "pipe", "pipe"] });
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

// Returns why a call is refused that was not answered; nothing if no guard requires an answer.
function refusal(failed) {
  if (MARKER && !existsSync(MARKER)) return undefined;
  return (
    `anyhook did not answer (${failed}), and a guard that blocks on failure is installed, so this call is refused. ` +
    "To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program" +
    (MARKER ? `; without anyhook, rm -r ${MARKER}` : "")
  );
}

const rejected = (message) => ({ action: "reject-and-continue", message });

// Returns whether a person says yes; where there is none, nobody does.
async function isConfirmed(event, ctx, reason) {
  try {
    return await ctx.ui.confirm({ title: `Allow ${event.tool}?`, message: reason, confirmButtonText: "Allow" });
  } catch {
    return false;
  }
}

// Returns a result with texts added: it is a text, a list of parts, or something else.
function withTexts(output, texts) {
  if (Array.isArray(output)) return [...output, ...texts.map((text) => ({ type: "text", text }))];
  const whole = typeof output === "string" ? output : JSON.stringify(output ?? "");
  return [whole, ...texts].join("\n\n");
}

function textOf(messages) {
  const last = (messages ?? []).findLast?.((one) => one.role === "assistant");
  const content = last?.content;
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part?.type === "text" ? [part.text] : [])).join("\n");
}

export default function (amp) {
  const ask = (name, event, fields, words) =>
    call({ hook_event_name: name, session_id: event.thread?.id, cwd: process.cwd(), ...fields }, words);

  const callOf = (event) => ({
    tool_name: event.tool,
    tool_input: event.input,
    tool_use_id: event.toolUseID,
  });

  amp.on("session.start", async (event) => {
    await ask("session.start", event, {});
  });

  amp.on("agent.start", async (event) => {
    const answer = await ask("agent.start", event, { prompt: event.message });
    if (answer.context) return { message: { content: answer.context } };
  });

  amp.on("tool.call", async (event, ctx) => {
    const answer = await ask("tool.call", event, callOf(event), [...ARGUMENTS, "--tool-event"]);
    const reason = answer.failed ? refusal(answer.failed) : answer.deny;
    if (reason) return rejected(reason);
    if (answer.ask && !(await isConfirmed(event, ctx, answer.ask))) return rejected(answer.ask);
    // A call has to be answered: there is no other word for no opinion.
    return answer.input ? { action: "modify", input: answer.input } : { action: "allow" };
  });

  amp.on("tool.result", async (event) => {
    // What was cancelled or rejected has not run.
    if (event.status === "cancelled") return;
    const answer = await ask("tool.result", event, {
      ...callOf(event),
      tool_response: event.output,
      is_error: event.status === "error",
      error: event.error,
    });
    const told = [answer.deny, answer.context].filter(Boolean);
    if (!told.length) return;
    return { status: event.status, output: withTexts(event.output, told), error: event.error };
  });

  amp.on("agent.end", async (event) => {
    if (event.status && event.status !== "done") return;
    const answer = await ask("agent.end", event, { last_assistant_message: textOf(event.messages) });
    if (answer.deny) return { action: "continue", userMessage: answer.deny };
  });
}
