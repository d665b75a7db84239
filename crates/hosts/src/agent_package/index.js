// anyhook for OpenCode, as a package. Made by `cargo xtask generate`; changes here are lost.
import { Anyhook as plugin } from "./anyhook.js";
import { MISSING, hasGuard, program } from "./find.js";

export const Anyhook = (input) => (program ? plugin(input) : unguarded(input));

// What is left without anyhook: a person is told, and a guard that cannot run refuses.
async function unguarded({ client }) {
  let isTold = false;
  const tell = async () => {
    if (isTold) return;
    isTold = true;
    if (process.argv.slice(2).find((word) => !word.startsWith("-")) === "run") {
      console.error(`anyhook: ${MISSING}`);
      return;
    }
    const body = { title: "anyhook", message: MISSING, variant: "error", duration: 30000 };
    await client.tui.showToast({ body }).catch(() => {});
  };
  return {
    event: async ({ event }) => {
      if (event.type === "session.created") await tell();
    },
    "chat.message": tell,
    "tool.execute.before": async () => {
      if (hasGuard()) {
        throw new Error(`${MISSING} A guard that blocks on failure is installed, so this call is refused.`);
      }
    },
  };
}
