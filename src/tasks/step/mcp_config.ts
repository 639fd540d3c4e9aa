/**
 * The file with which an agent in a step starts `svc mcp` (`$SVC_MCP_CONFIG`), in the form of `claude
 * --mcp-config`. Clients pass only a few variables on to a server, so it names those that svc needs.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";

/** Variable with the path of the file. */
export const MCP_CONFIG = "SVC_MCP_CONFIG";

/** Variable with the path of a file that has the goal of the task, text from outside marked. */
export const GOAL_FILE = "SVC_GOAL_FILE";

/** The variables of a step that `svc mcp`, and git for it, need. */
const PASSED = new Set([
  "HOME",
  "PATH",
  "TMPDIR",
  "SVC_ATTEMPT",
  "SVC_DATA_DIR",
  "SVC_OUTPUT",
  "SVC_PAYLOAD_FILE",
  "SVC_PROJECT",
  "SVC_RUN_TOKEN",
  "SVC_STEP",
  "SVC_TASK_ID",
  GOAL_FILE,
]);

/** The file for a step with these variables; `svc` is the path of the program. */
export function mcpConfig(svc: string, variables: Readonly<Record<string, string>>): Uint8Array {
  const env = Object.fromEntries(
    Object.entries(variables).filter(([name]) => PASSED.has(name) || name.startsWith("GIT_")),
  );
  return utf8(JSON.stringify({ mcpServers: { svc: { command: svc, args: ["mcp"], env } } }));
}
