/**
 * The text in place of an empty list: it says that the list is empty, and how its first entry is
 * made. Pure.
 *
 * @module
 */

import type { GetInput } from "../api/resource_operations.ts";
import { LISTED_NAMES } from "./listed_names.ts";

/**
 * How the first entry is made, by the plural of the list; for all other lists it is `svc apply`.
 */
const FIRST: Readonly<Record<string, string>> = {
  tasks: "A trigger starts them; by hand: svc trigger fire TRIGGER",
  deliveries: "Send one: svc trigger send TRIGGER -f FILE",
  triggers: "Apply one: svc apply -f FILE; or install a package: svc integration list",
  connections:
    "Make one: svc connect github OWNER/REPO; or svc connect gitlab, svc connect slack, svc connect line",
  secretstores: "Make one: svc secret set STORE KEY",
  outbox: "Answers to tasks and messages of Notifications wait here until they are sent",
  nodes: "A node is a daemon that shares a database with others",
  "source-events": "They come from Slack to triggers with the native source",
  bindings: "A task that starts from a chat thread makes one",
  conversations: "An event of a trigger with conversation begins one",
  audits: "One is written whenever a plugin is applied or run",
  budgets: "Add one to an Agent, a Trigger or a Project, such as budget: [{runs: 40, per: day}]",
  waits: "A step with waitFor or approval makes one",
  approvals: "A step with approval asks people",
  tokens: "Create one: svc token create",
  "control-audits": "One is written for what is done with secrets, tokens and definitions",
};

/** The entries of lists whose names are not the plural of their entries. */
const SHOWN: Readonly<Record<string, string>> = {
  outbox: "messages in the outbox",
  audits: "rows in the audit",
  "control-audits": "rows in the control audit",
};

/** Options that leave out some of the entries. */
const FILTERS = [
  "trigger",
  "outcome",
  "state",
  "workflow",
  "selector",
  "since_secs",
  "since",
  "until",
  "before",
  "after",
  "reason",
  "status",
  "remote",
  "key",
  "min_duration_ms",
  "delivery",
  "parent",
  "retry_of",
  "session",
  "thread",
  "caller",
] as const;

/** One or two sentences in place of an empty list. */
export function nothingFound(input: GetInput): string {
  if (input.unknown === true) {
    return "No request came to a path without a trigger since the daemon started";
  }
  const wanted = input.what.toLowerCase();
  const plural = LISTED_NAMES.find(({ names }) => names.includes(wanted))?.plural ?? wanted;
  const shown = SHOWN[plural] ?? plural;
  const where = input.project === undefined ? "" : ` in project "${input.project}"`;
  if (FILTERS.some((filter) => input[filter] !== undefined)) {
    return `No ${shown}${where} match these filters`;
  }
  return `No ${shown}${where} yet. ${FIRST[plural] ?? "Apply one: svc apply -f FILE"}`;
}
