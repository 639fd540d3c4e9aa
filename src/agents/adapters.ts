/**
 * The programs whose output svc can read, by the name that the `output` of an Agent gives. A new one is
 * added here.
 *
 * @module
 */

import type { AdapterDefinition } from "./adapter.ts";
import { CLAUDE } from "./claude.ts";
import { CODEX } from "./codex.ts";
import { COPILOT } from "./copilot.ts";
import { GEMINI } from "./gemini.ts";
import { OPENCODE } from "./opencode.ts";

const ADAPTERS = {
  claude: CLAUDE,
  codex: CODEX,
  gemini: GEMINI,
  opencode: OPENCODE,
  copilot: COPILOT,
} as const satisfies Record<string, AdapterDefinition>;

/** The name of an adapter. */
export type AdapterName = keyof typeof ADAPTERS;

/** The `output` of an Agent whose lines are shown as they are. */
export const PLAIN_OUTPUT = "text";

/** What the `output` of an Agent can be. */
export const AGENT_OUTPUTS = [PLAIN_OUTPUT, ...Object.keys(ADAPTERS)] as readonly (
  | typeof PLAIN_OUTPUT
  | AdapterName
)[];

/** The adapter of this name. */
export function findAdapter(name: AdapterName): AdapterDefinition {
  return ADAPTERS[name];
}
