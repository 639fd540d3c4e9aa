/**
 * What a sandbox lets a step read, write and reach, in words: the same in `svc sandbox show`,
 * `svc describe task` and the console. Parts of the text are what manifests say: it is shown as text.
 *
 * ```ts
 * import { sandboxFacts } from "./sandbox_words.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(sandboxFacts("none"), [["sandbox", ["none, the manifest says so"]]]);
 * ```
 *
 * @module
 */

import type { SandboxRules } from "./sandbox_operations.ts";
import type { LogText, PlannedSandboxView, PlannedStepView } from "./task_operations.ts";

/** A name, and the lines about it. */
export type SandboxFact = readonly [name: string, texts: readonly string[]];

/** What every sandbox can read and write. */
export const EVERYWHERE = {
  read: "programs and settings of the machine",
  write: "the workspace of the task; its .git only in a worktree of svc",
} as const;

/** Which sandbox a step has, as tables show it; empty where nothing asks for one. */
export function sandboxName(sandbox: PlannedStepView["sandbox"]): string {
  if (sandbox === null || sandbox === "none") return sandbox ?? "";
  return sandbox.name ?? (sandbox.default ? "default" : "inline");
}

/** The sandboxes of a step: one, or one for each of its agents where they differ. */
export function sandboxesOf(
  { agent, sandbox, fallbacks }: Pick<PlannedStepView, "agent" | "sandbox" | "fallbacks">,
): readonly Pick<PlannedStepView, "agent" | "sandbox">[] {
  const all = [{ agent, sandbox }, ...fallbacks];
  const kinds = new Set(all.map((one) => JSON.stringify(one.sandbox)));
  return kinds.size === 1 ? [{ agent: null, sandbox }] : all;
}

/**
 * The sandbox of a step, and what that lets it read, write and reach. `bare` says why
 * a step runs without its default sandbox.
 */
export function sandboxFacts(
  sandbox: PlannedStepView["sandbox"],
  bare?: string,
): readonly SandboxFact[] {
  if (sandbox === null) return [["sandbox", ["none, nothing asks for one"]]];
  if (sandbox === "none") return [["sandbox", ["none, the manifest says so"]]];
  if (bare !== undefined && isOptional(sandbox)) return [["sandbox", [`none, ${bare}`]]];
  return [
    ["sandbox", [`${sandboxName(sandbox)}${reasonOf(sandbox)}`]],
    ["reads", [EVERYWHERE.read, ...sandbox.read]],
    ["writes", [EVERYWHERE.write, ...sandbox.write]],
    ...ruleFacts(sandbox),
  ];
}

/** Why a step has a sandbox that no manifest names. */
function reasonOf({ default: isDefault, required }: PlannedSandboxView): string {
  if (required) return ", this daemon requires one";
  return isDefault
    ? ", for an agent that may read what comes from outside, or that has a session"
    : "";
}

/** The rules of a sandbox that are the same on every machine. */
export function ruleFacts(
  { network, limits, control, nested }: SandboxRules,
): readonly SandboxFact[] {
  return [
    ["network", networkTexts(network)],
    ["limits", [limitsText(limits)]],
    ["svc", [controlText(control)]],
    ...nested ? [["nested", ["programs in it may make sandboxes"]] as const] : [],
  ];
}

function controlText(control: SandboxRules["control"]): string {
  if (control === "task") return "can be called for the step's own task, and shows no other";
  return control ? "can be called, with the rights of the step's run token" : "cannot be called";
}

function networkTexts({ mode, allow, inject }: SandboxRules["network"]): string[] {
  if (mode === "none") return ["none but its own loopback"];
  if (mode === "all") return ["all that the machine reaches, its loopback included"];
  return [
    ...inject.map(({ url, env, headers, paths }) => {
      const key = headers.length === 0 ? "" : `, key added by svc (${headers.join(", ")})`;
      return `${url} as $${env}${key}, ${paths === null ? "all paths" : paths.join(", ")}`;
    }),
    ...allow,
    "nothing else",
  ];
}

/** Processes that a sandbox has at most if nothing is said. */
export const USUAL_PROCESSES = 4096;

function limitsText({ memory, pids, cpu }: SandboxRules["limits"]): string {
  return [
    ...memory === null ? [] : [`memory ${memory}`],
    pids === null ? `${USUAL_PROCESSES} processes unless svc is root` : `${pids} processes`,
    ...cpu === null ? [] : [`${cpu} CPUs`],
  ].join(", ");
}

/** Whether a step may run without the sandbox that it has, where the machine cannot make one. */
export function mayBeBare(step: Parameters<typeof sandboxesOf>[0]): boolean {
  return sandboxesOf(step).some(({ sandbox }) => isOptional(sandbox));
}

const isOptional = (sandbox: PlannedStepView["sandbox"]) =>
  typeof sandbox === "object" && sandbox?.default === true && !sandbox.required;

/** What `task.log.read` is asked for the first line that svc wrote about a step which started then. */
export function firstNote(startedAt: string) {
  return { stream: "svc", at: startedAt, limit: 1 } as const;
}

/** How svc begins that line if the step runs without its default sandbox; the cause follows. */
export const BARE = "this step runs without a sandbox: ";

/** Why a step runs without its default sandbox, if such a line says that it does. */
export function whyBare({ text }: Pick<LogText, "text">): string | undefined {
  const said = text.replace(/^\[svc: (.*)\]$/, "$1");
  return said.startsWith(BARE) ? said.slice(BARE.length) : undefined;
}
