/**
 * What can be read, written and reached in a sandbox, in words.
 *
 * @module
 */

import type { SandboxPath, SandboxView } from "../api/sandbox_operations.ts";
import { sizeText } from "../base/size.ts";
import { printable } from "./terminal_text.ts";

/** A name, empty on the lines below its first one, and a text. */
type Line = readonly [name: string, text: string];

/** The text of `svc sandbox show`. */
export function sandboxText(view: SandboxView): string {
  const lines: readonly Line[] = [
    ["sandbox", view.name ?? "the one that steps of agents have by default"],
    ...faultLines(view),
    ...below("reads", [
      `programs and settings of the machine${
        view.machine.length === 0 ? "" : `, ${view.machine.length} paths (-o json lists them)`
      }`,
      ...pathTexts(view.paths, "read"),
    ]),
    ...below("writes", [
      "the workspace of the task, but its .git only in a worktree that svc has made",
      ...pathTexts(view.paths, "write"),
    ]),
    ...below("in memory", [
      `${[view.home, ...view.scratch].join(", ")}`,
      `empty when the step starts, gone when it ends, at most ${sizeText(view.scratch_bytes)} each`,
    ]),
    ...below("network", networkTexts(view.network)),
    ...below("limits", limitTexts(view.limits)),
    [
      "svc",
      view.control ? "can be called, with the rights of the step's run token" : "cannot be called",
    ],
    ...view.nested ? [["nested", "programs in it may make sandboxes"] as const] : [],
    ...below("not there", absentTexts(view)),
  ];
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  return lines.map(([name, text]) =>
    `${(name === "" ? "" : `${name}:`).padEnd(width)}${printable(text)}\n`
  ).join("");
}

function below(name: string, texts: readonly string[]): Line[] {
  return texts.map((text, at) => [at === 0 ? name : "", text]);
}

function faultLines({ fault, name, paths, limits }: SandboxView): Line[] {
  if (fault !== null) {
    const meanwhile = name === null
      ? "until then steps run without it, or not at all if the daemon requires one"
      : "until then steps in it fail";
    return below("works", [`no, ${fault.why}`, `to have it: ${fault.cure}`, meanwhile]);
  }
  const refuses = paths.some(({ refused }) => refused !== null) || limits.fault !== null;
  if (!refuses) return [["works", "yes"]];
  return [["works", "no, steps in it fail: see below"]];
}

function pathTexts(paths: readonly SandboxPath[], access: SandboxPath["access"]): string[] {
  return paths.filter((one) => one.access === access).map(({ written, path, exists, refused }) => {
    const where = written === path ? path : `${written} (${path})`;
    if (refused !== null) return `${where}: refused, ${refused}`;
    return exists ? where : `${where}: left out, it does not exist`;
  });
}

function networkTexts({ mode, allow, inject }: SandboxView["network"]): string[] {
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

function limitTexts({ memory, pids, cpu, fault }: SandboxView["limits"]): string[] {
  const set = [
    ...memory === null ? [] : [`memory ${memory}`],
    ...pids === null ? [] : [`${pids} processes`],
    ...cpu === null ? [] : [`${cpu} CPUs`],
  ];
  if (set.length === 0) return ["none but those of the machine"];
  return [
    set.join(", "),
    ...fault === null
      ? []
      : [`cannot be enforced here, ${fault.why}`, `to have them: ${fault.cure}`],
  ];
}

function absentTexts({ absent: { data_dir, socket, home } }: SandboxView): string[] {
  return [
    ...home === "" ? [] : [`what ${home} holds on the machine`],
    `the data directory (${data_dir}) and the control socket (${socket})`,
    "all other processes of the machine",
    "whatever is not named here",
  ];
}
