/**
 * Kind `Sandbox`: what a step can read, write and reach; and the field `sandbox` of workflows, agents,
 * workspaces and steps, which names one, is one, or says `none`.
 *
 * @module
 */

import Type from "typebox";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import type { MachineNeed } from "./machine_needs.ts";
import { checkLimits, LIMIT_FIELDS } from "./limits.ts";
import { NAME_PATTERN } from "./names.ts";
import { checkNetwork, Network, networkReferences } from "./network.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

const Paths = Type.Array(Type.String({ minLength: 1 }), {
  maxItems: 100,
  title: "a list of paths, absolute or below ~/",
});

const SandboxSpec = Type.Object({
  network: Type.Optional(Network),
  read: Type.Optional(Paths),
  write: Type.Optional(Paths),
  ...LIMIT_FIELDS,
  nested: Type.Optional(Type.Boolean()),
  control: Type.Optional(
    Type.Union([Type.Boolean(), Type.Literal("task")], { title: "true, false or task" }),
  ),
}, { additionalProperties: false });

/** `spec` of a Sandbox. */
export type SandboxSpec = Type.Static<typeof SandboxSpec>;

/** The `network` of a Sandbox that names none. */
export const DEFAULT_NETWORK = "none";

/** The value of `sandbox` that leaves the sandbox of a workflow. */
export const NO_SANDBOX = "none";

/** `sandbox` as written by the user: a name, `none`, or a spec of its own. */
export type SandboxField = string | SandboxSpec;

/**
 * Schema of `sandbox`. No union, as with `network`: an error has to name the field of the mapping that is
 * wrong.
 */
export const SandboxField = Type.Unsafe<SandboxField>({
  ...SandboxSpec,
  type: ["string", "object"],
  pattern: NAME_PATTERN,
  title: "the name of a Sandbox, none, or a sandbox of its own, such as {network: none}",
});

export const sandbox: AnyKind = defineKind<SandboxSpec>("Sandbox", {
  summary: "What a step can read, write and reach: the walls around an agent.",
  spec: SandboxSpec,
  specOptional: true,
  checks: [(spec) => checkSpec(spec, ["spec"])],
  checkName: (name) =>
    name === NO_SANDBOX
      ? [errorAt(
        ["metadata", "name"],
        'A step leaves its sandbox by "sandbox: none": choose another name',
      )]
      : [],
  references: (spec) => networkReferences(spec.network, ["spec", "network"]),
  machine: (spec) => sandboxNeeds(spec, ["spec"]),
  columns: [
    { header: "NETWORK", fit: "text", cell: ({ spec }) => networkText(spec) },
    { header: "READS", fit: "text", wide: true, cell: ({ spec }) => (spec.read ?? []).join(",") },
    { header: "WRITES", fit: "text", cell: ({ spec }) => (spec.write ?? []).join(",") },
    {
      header: "LIMITS",
      wide: true,
      cell: ({ spec: { memory, pids, cpu } }) =>
        Object.entries({ memory, pids, cpu }).filter(([, value]) => value !== undefined)
          .map(([name, value]) => `${name}=${value}`).join(","),
    },
  ],
});

/** The network of a sandbox in a few words: `none`, `all`, or the hosts. */
export function networkText({ network = DEFAULT_NETWORK }: SandboxSpec): string {
  if (typeof network === "string") return network;
  const injected = (network.inject ?? []).map(({ url }) => URL.parse(url)?.host ?? url);
  return [...new Set([...injected, ...network.allow ?? []])].join(",");
}

/** The checks of a `sandbox` at path `at` that a schema cannot express. */
export function checkSandbox(field: SandboxField | undefined, at: FieldPath): Finding[] {
  return typeof field === "object" ? checkSpec(field, at) : [];
}

function checkSpec(spec: SandboxSpec, at: FieldPath): Finding[] {
  return [
    ...checkNetwork(spec.network, [...at, "network"]),
    ...checkLimits(spec, at),
    ...(["read", "write"] as const).flatMap((field) =>
      (spec[field] ?? []).flatMap((path, index) => checkPath(path, [...at, field, index]))
    ),
  ];
}

function checkPath(path: string, at: FieldPath): Finding[] {
  if (path.includes("\0")) return [errorAt(at, "A path cannot hold a NUL character")];
  if (path === "/" || path === "~" || path === "~/") {
    return [errorAt(at, `"${path}" is too much: name the directories in it that are needed`)];
  }
  if (path.split("/").includes("..")) return [errorAt(at, "A path is written without ..")];
  if (path.startsWith("/") || path.startsWith("~/")) return [];
  return [errorAt(at, `A path is absolute or below ~/, found "${path}"`)];
}

/** What a `sandbox` at path `at` needs on the machine. */
export function sandboxNeeds(field: SandboxField | undefined, at: FieldPath): MachineNeed[] {
  if (typeof field !== "object") return []; // a name: its Sandbox says it
  return [{ needs: "sandbox", rules: typeof field.network === "object", optional: false, at }];
}

/** The references of a `sandbox` at path `at`. */
export function sandboxReferences(field: SandboxField | undefined, at: FieldPath): Reference[] {
  if (field === undefined || field === NO_SANDBOX) return [];
  if (typeof field === "object") return networkReferences(field.network, [...at, "network"]);
  const consequence = "its tasks fail until it is applied";
  return [{ kind: "Sandbox", name: field, path: at, consequence }];
}
