// anyhook for @TITLE@: passes events to `anyhook hook @HOST@` and does what it answers.
// Written by `anyhook install @HOST@`, removed by `anyhook uninstall @HOST@`.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";

const BINARY = "@BINARY@";
const ARGUMENTS = "@ARGUMENTS@";
// At the end of a session there may be less time.
const END_ARGUMENTS = "@END_ARGUMENTS@";
// Exists while a guard that blocks on failure is installed.
const MARKER = "@MARKER@";
// A little less than the agent waits for an extension.
const LIMIT_MS = @LIMIT_MS@;
const END_LIMIT_MS = @END_LIMIT_MS@;
// Whether prompts given on the command line are reported when the agent starts, not as input.
const PROMPTS_AT_START = @PROMPTS_AT_START@;

const MOST_CALLS = 1000;

// Sends one event; resolves to the answer, or to {failed} if there is none.
function call(payload, words, limit) {
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
      resolve({ failed: `no answer within ${limit} ms` });
    }, limit);
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

// The sessions in this process, by file. A subagent works in the same process, and its session's
// file is in a folder named like the file of the session that started it.
const sessions = (globalThis[Symbol.for("anyhook.sessions")] ??= new Map());

function sessionOf(ctx) {
  const own = ctx.sessionManager?.getSessionId?.();
  const file = ctx.sessionManager?.getSessionFile?.();
  if (!file) return { session_id: own };
  sessions.set(file, own);
  let main;
  for (let parent = `${dirname(file)}.jsonl`; sessions.has(parent); parent = `${dirname(parent)}.jsonl`) {
    main = sessions.get(parent);
  }
  const session = { session_id: main ?? own, transcript_path: file };
  return main ? { ...session, agent_id: own } : session;
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part?.type === "text" ? [part.text] : [])).join("\n");
}

function isBusy(ctx) {
  return ctx.isIdle?.() === false;
}

// Shows a message to the user.
function show(ctx, text) {
  if (ctx.hasUI) ctx.ui.notify(text, "warning");
  else console.error(text);
}

const message = (content) => ({ customType: "anyhook", content, display: false });

export default function (pi) {
  // Calls that were denied: the agent may report them as failed, but nothing has run.
  const denied = new Set();
  // What the model is told with the result of a call, as it can be told nothing before.
  const contexts = new Map();
  // Whether the next start of the agent belongs to an input, and what the model is told with it.
  let wasInput = false;
  let promptContext;

  const ask = async (name, ctx, fields, { words = ARGUMENTS, limit = LIMIT_MS } = {}) => {
    const payload = { hook_event_name: name, ...sessionOf(ctx), cwd: ctx.cwd, mode: ctx.mode, ...fields };
    const answer = await call(payload, words, limit);
    if (answer.message) show(ctx, answer.message);
    return answer;
  };

  const callOf = (event) => ({
    tool_name: event.toolName,
    tool_input: event.input,
    tool_use_id: event.toolCallId,
    parent_tool_use_id: event.parentToolCallId,
  });

  pi.on("session_start", async (event, ctx) => {
    const answer = await ask("session_start", ctx, { source: event.reason, model: ctx.model?.id });
    if (answer.context) pi.sendMessage(message(answer.context));
  });

  pi.on("session_shutdown", async (event, ctx) => {
    const end = { words: END_ARGUMENTS, limit: END_LIMIT_MS };
    await ask("session_shutdown", ctx, { reason: event.reason }, end);
  });

  pi.on("input", async (event, ctx) => {
    // What another extension sends is not a person's prompt.
    if (event.source === "extension" || sessionOf(ctx).agent_id) return;
    const answer = await ask("input", ctx, { prompt: event.text, input_source: event.source });
    if (answer.deny) {
      show(ctx, answer.deny);
      return { action: "handled", handled: true };
    }
    // While the agent works, no start follows that the context could come with.
    if (isBusy(ctx)) {
      if (!answer.context) return;
      return { action: "transform", text: `${event.text}\n\n${answer.context}` };
    }
    wasInput = true;
    promptContext = answer.context;
  });

  pi.on("before_agent_start", async (event, ctx) => {
    let context = promptContext;
    if (PROMPTS_AT_START && !wasInput && !sessionOf(ctx).agent_id) {
      const answer = await ask("before_agent_start", ctx, { prompt: event.prompt });
      if (answer.deny) {
        show(ctx, answer.deny);
        await ctx.abort();
        return;
      }
      context = answer.context;
    }
    wasInput = false;
    promptContext = undefined;
    if (context) return { message: message(context) };
  });

  pi.on("tool_call", async (event, ctx) => {
    const words = [...ARGUMENTS, "--tool-event"];
    const answer = await ask("tool_call", ctx, callOf(event), { words });
    const reason = answer.failed ? refusal(answer.failed) : answer.deny;
    if (reason) {
      if (denied.size >= MOST_CALLS) denied.clear();
      denied.add(event.toolCallId);
      return { block: true, reason };
    }
    if (answer.input) {
      for (const key of Object.keys(event.input)) delete event.input[key];
      Object.assign(event.input, answer.input);
    }
    if (answer.context) {
      // A script sees the results of the calls it makes; the model sees that of the script.
      const id = event.parentToolCallId ?? event.toolCallId;
      if (contexts.size >= MOST_CALLS) contexts.clear();
      contexts.set(id, [...(contexts.get(id) ?? []), answer.context]);
    }
  });

  pi.on("tool_result", async (event, ctx) => {
    const told = contexts.get(event.toolCallId) ?? [];
    contexts.delete(event.toolCallId);
    if (!denied.delete(event.toolCallId)) {
      const answer = await ask("tool_result", ctx, {
        ...callOf(event),
        tool_response: textOf(event.content),
        is_error: event.isError,
        exit_code: event.structuredContent?.exit_code ?? event.details?.exitCode,
      });
      if (answer.deny) told.push(answer.deny);
      if (answer.context) told.push(answer.context);
    }
    if (!told.length) return;
    return { content: [...(event.content ?? []), { type: "text", text: told.join("\n\n") }] };
  });

  // pi's stop gate. One that holds a turn that ended otherwise would never let it end.
  pi.on("agent_before_settle", async (event, ctx) => {
    if (event.outcome !== "completed") return;
    const messages = event.context?.llmMessages ?? [];
    const last = messages.findLast((one) => one.role === "assistant");
    const answer = await ask("agent_before_settle", ctx, { last_assistant_message: textOf(last?.content) });
    if (!answer.deny) return;
    return { entries: [{ type: "custom_message", ...message(answer.deny) }], continue: true };
  });

  // oh-my-pi's.
  pi.on("session_stop", async (event, ctx) => {
    const answer = await ask("session_stop", ctx, {
      last_assistant_message: textOf(event.last_assistant_message?.content),
      stop_hook_active: event.stop_hook_active,
    });
    if (answer.deny) return { decision: "block", reason: answer.deny };
  });

  for (const name of ["session_before_compact", "session_compact"]) {
    pi.on(name, async (event, ctx) => {
      await ask(name, ctx, { trigger: event.reason });
    });
  }

  pi.on("tool_approval_requested", async (event, ctx) => {
    const question = `approve ${event.toolName}?`;
    await ask("tool_approval_requested", ctx, { notification_type: "permission_prompt", message: question });
  });
}
