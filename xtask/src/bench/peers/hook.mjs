// A hook as people write it for Node: reads the event, looks for a pattern in the command.

import { readFileSync } from "node:fs";

const event = JSON.parse(readFileSync(0, "utf8"));
if (/rm\s+-rf\s+\//.test(event.tool_input.command)) {
  console.error("not the whole disk");
  process.exit(2);
}
