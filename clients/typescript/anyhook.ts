/**
 * Ask anyhook before an agent acts: a client of `anyhook serve --stdio`.
 *
 *     const hooks = new Anyhook();
 *     const verdict = await hooks.decide(beforeTool("Shell", { command: "rm -rf /" }));
 *     if (verdict.blocked) …
 *     await hooks.close();
 *
 * One file, no dependencies, Node 18 or later.
 */
import { type ChildProcess, spawn } from "node:child_process";

const PROTOCOL = 1;
type Json = Record<string, unknown>;

/** What all hooks say together. `decision` is absent when nobody has an opinion: not "allow". */
export interface Verdict {
  /** The operation must not go on. */
  blocked: boolean;
  decision?: "allow" | "ask" | "deny";
  reason?: string;
  /** The tool's whole input after all changes, if there were any. */
  modifiedInput?: Json;
  additionalContext?: string;
  /** `anyhook log show ID` explains it. */
  id?: string;
  /** What a person should know although it decides nothing. */
  messages: string[];
}

/** What an agent's program is to be told, as if it had called `anyhook hook` itself. */
export interface Reply {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** `timeout` is in milliseconds: hooks not done by then have failed. `signal` gives up waiting. */
export interface AskOptions {
  timeout?: number;
  signal?: AbortSignal;
}

export interface AnyhookOptions {
  /** The program; else `ANYHOOK_BIN`, else `anyhook` on PATH. */
  binary?: string;
  /** What becomes of an event if anyhook cannot be asked; "throw" (AnyhookError) if not given. */
  onError?: "throw" | "allow" | "block";
}

/** anyhook could not be asked, or refused the request; `code` says which, for programs. */
export class AnyhookError extends Error {
  constructor(readonly code: string, message: string, readonly hint?: string) {
    super(hint === undefined ? message : `${message} (hint: ${hint})`);
  }
}

/** Makes a `before_tool` event; further fields are such as `session_id` or `work_dir`. */
export function beforeTool(tool: string, input: Json, fields: Json = {}): Json {
  return { event_type: "before_tool", tool_name: tool, tool_input: input, ...fields };
}

/** Asks anyhook; many questions may be under way at once. */
export class Anyhook {
  #server: Promise<Server> | undefined;
  constructor(readonly options: AnyhookOptions = {}) {}

  /** Returns the verdict on an event of the open format. */
  async decide(event: Json, options: AskOptions = {}): Promise<Verdict> {
    try {
      const { verdict, messages = [] } = await this.#ask({ event }, options);
      const { modified_input: modifiedInput, additional_context: additionalContext, ...rest } = verdict;
      return { blocked: rest.decision === "deny", ...rest, modifiedInput, additionalContext, messages };
    } catch (error) {
      const onError = this.options.onError ?? "throw";
      if (onError === "throw" || !(error instanceof AnyhookError)) throw error;
      const words = `anyhook could not be asked: ${error.message}`;
      if (onError === "allow") return { blocked: false, messages: [words] };
      return { blocked: true, decision: "deny", reason: words, messages: [] };
    }
  }

  /** Returns what an agent is to be told that sent its own payload. */
  async forward(host: string, payload: Json | string, options: AskOptions = {}): Promise<Reply> {
    const { reply } = await this.#ask({ host, payload }, options);
    return { exitCode: reply.exit_code, stdout: reply.stdout, stderr: reply.stderr };
  }

  /** Ends anyhook, when everything in flight has been answered. */
  async close(): Promise<void> {
    const server = this.#server?.catch(() => undefined);
    this.#server = undefined;
    await (await server)?.close();
  }

  async #ask(request: Json, options: AskOptions): Promise<any> {
    const ask = async () => (await this.#running()).ask(request, options);
    const answer = await ask().catch((error) => (error.code === "died" ? ask() : Promise.reject(error)));
    const error = answer.error;
    if (error) throw new AnyhookError(error.code, error.message, error.hint);
    return answer;
  }

  async #running(): Promise<Server> {
    const seen = this.#server;
    const is = await seen?.catch(() => undefined);
    // Of several that find nobody there, one starts it.
    if (this.#server === undefined || (this.#server === seen && (!is || is.dead))) {
      this.#server = Server.start(this.options.binary ?? process.env.ANYHOOK_BIN ?? "anyhook");
    }
    return this.#server;
  }
}

/** One running `anyhook serve`, and who waits for which answer. */
class Server {
  dead = false;
  #last = 0;
  #waiting = new Map<number, { resolve(answer: any): void; reject(error: unknown): void }>();
  readonly #ended: Promise<unknown>;

  static start(binary: string): Promise<Server> {
    return new Promise((resolve, reject) => {
      const child = spawn(binary, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
      const server = new Server(child, (hello) => {
        if (hello.includes(`"protocol": ${PROTOCOL}}`)) return resolve(server);
        child.kill();
        reject(new AnyhookError("protocol", `\`${binary}\` does not serve protocol ${PROTOCOL}`));
      });
      child.on("error", (error: NodeJS.ErrnoException) => {
        const code = error.code === "ENOENT" ? "not_found" : "not_started";
        reject(new AnyhookError(code, `\`${binary}\` cannot be started: ${error.message}`, "set ANYHOOK_BIN"));
      });
      child.on("close", () => reject(new AnyhookError("protocol", `\`${binary}\` is not anyhook`)));
    });
  }

  private constructor(readonly child: ChildProcess, greet: (hello: string) => void) {
    let [text, greeted] = ["", false];
    child.stdout!.setEncoding("utf8").on("data", (piece) => {
      const lines: string[] = (text + piece).split("\n");
      text = lines.pop()!;
      for (const line of lines) {
        const answer = greeted ? JSON.parse(line) : greet(line);
        this.#waiting.get(answer?.id)?.resolve(answer);
        greeted = true;
      }
    });
    // Who is gone cannot be written to; its end tells everybody.
    child.stdin!.on("error", () => {});
    this.#ended = new Promise((resolve) => child.on("close", resolve)).then(() => {
      this.dead = true;
      for (const one of this.#waiting.values()) one.reject(new AnyhookError("died", "anyhook has ended"));
    });
  }

  /** Keeps Node from ending, or no longer: an idle anyhook keeps nobody. */
  #hold(): void {
    const holds = this.#waiting.size > 0 ? "ref" : "unref";
    for (const one of [this.child, this.child.stdin, this.child.stdout]) (one as ChildProcess)[holds]();
  }

  ask(request: Json, { timeout, signal }: AskOptions): Promise<any> {
    if (this.dead) return Promise.reject(new AnyhookError("died", "anyhook has ended"));
    const id = ++this.#last;
    let [timer, abort] = [undefined as NodeJS.Timeout | undefined, () => {}];
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#hold();
      const giveUp = (why: unknown) => {
        this.#write({ cancel: id });
        reject(why);
      };
      signal?.throwIfAborted();
      signal?.addEventListener("abort", (abort = () => giveUp(signal.reason)));
      if (timeout !== undefined) {
        // anyhook answers in time itself; a second more shows that it does not.
        const late = new AnyhookError("timeout", `anyhook has not answered within ${timeout} ms`);
        timer = setTimeout(() => giveUp(late), timeout + 1000);
      }
      this.#write({ id, ...request, deadline_ms: timeout });
    }).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      this.#waiting.delete(id);
      this.#hold();
    });
  }

  #write(message: Json): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  close(): Promise<unknown> {
    this.child.ref();
    this.child.stdin!.end();
    return this.#ended;
  }
}
