// Runs what a test says in a real browser: a line of JSON in, a line of JSON out.
//
//   in   {"script": "…", "args": …}   the body of an async function of (page, args, tools)
//   out  {"value": …} or {"error": "…"}

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const [modules, executablePath, host] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const { chromium } = require("playwright-core");

// Nothing is looked up elsewhere: only what a test serves is there.
const browser = await chromium.launch({
  executablePath,
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    `--host-resolver-rules=MAP rebound.test ${host},MAP *.test 127.0.0.1`,
  ],
});

// Each profile is another person's browser: it shares nothing with the others.
const profiles = new Map();
async function page(name = "first", options = {}) {
  if (!profiles.has(name)) {
    const context = await browser.newContext({ reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(30000);
    const page = await context.newPage();
    page.problems = [];
    page.on("pageerror", (error) => page.problems.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") page.problems.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => { (page.asked ??= []).push(request.url()); });
    profiles.set(name, page);
  }
  return profiles.get(name);
}

const tools = {
  page,
  require,
  axe: async (page) => {
    // The page forbids scripts of others, so it is evaluated from outside.
    await page.evaluate(require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    }));
    return violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map((node) => node.html.slice(0, 200)) }));
  },
};

const AsyncFunction = (async () => {}).constructor;
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const { script, args } = JSON.parse(line);
    const run = new AsyncFunction("page", "args", "tools", script);
    answer = { value: (await run(await page(), args, tools)) ?? null };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
