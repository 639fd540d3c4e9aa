/**
 * What can be read, written and reached in a sandbox, in words.
 *
 * @module
 */

import type { SandboxPath, SandboxView } from "../api/sandbox_operations.ts";
import { EVERYWHERE, ruleFacts } from "../api/sandbox_words.ts";
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
      `${EVERYWHERE.read}${
        view.machine.length === 0 ? "" : `, ${view.machine.length} paths (-o json lists them)`
      }`,
      ...pathTexts(view.paths, "read"),
    ]),
    ...below("writes", [
      EVERYWHERE.write,
      ...pathTexts(view.paths, "write"),
    ]),
    ...below("in memory", [
      `${[view.home, ...view.scratch].join(", ")}`,
      `empty when the step starts, gone when it ends, at most ${sizeText(view.scratch_bytes)} each`,
    ]),
    ...ruleFacts(view).flatMap(([name, texts]) =>
      below(name, name === "limits" ? [...texts, ...limitFaults(view.limits)] : texts)
    ),
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

function limitFaults({ fault }: SandboxView["limits"]): string[] {
  if (fault === null) return [];
  return [`cannot be enforced here, ${fault.why}`, `to have them: ${fault.cure}`];
}

function absentTexts({ absent: { data_dir, socket, home } }: SandboxView): string[] {
  return [
    ...home === "" ? [] : [`what ${home} holds on the machine`],
    `the data directory (${data_dir}) and the control socket (${socket})`,
    "all other processes of the machine",
    "whatever is not named here",
  ];
}
