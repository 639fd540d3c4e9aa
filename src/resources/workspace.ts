/**
 * Kind `Workspace`: the directory in which a task's steps run.
 *
 * @module
 */

import Type from "typebox";
import { defined } from "../base/defined.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { type AnyKind, defineKind } from "./kind.ts";
import { Name } from "./metadata.ts";
import { errorAt, type Finding } from "./resource.ts";
import { checkSandbox, SandboxField, sandboxNeeds, sandboxReferences } from "./sandbox.ts";

const WorkspaceSpec = Type.Object({
  path: Type.String({
    minLength: 1,
    title: "a path: absolute, below ~/, or relative to the data directory",
  }),
  isolation: Type.Optional(Type.Enum(["shared", "worktree", "copy"])),
  fetch: Type.Optional(Type.Boolean()),
  env: Type.Optional(Env),
  sandbox: Type.Optional(SandboxField),
  maxParallel: Type.Optional(Type.Integer({ minimum: 1, title: "how many tasks at once, from 1" })),
  nodes: Type.Optional(Type.Array(Name, {
    minItems: 1,
    uniqueItems: true,
    title: "a list of names or labels of nodes",
  })),
}, { additionalProperties: false });

/** `spec` of a Workspace. */
export type WorkspaceSpec = Type.Static<typeof WorkspaceSpec>;

/** A workspace, or what a plan has kept of one. */
type Isolated = Pick<WorkspaceSpec, "isolation"> | undefined;

/** How the tasks of a workspace are kept apart. */
export const isolationOf = (workspace: Isolated) => workspace?.isolation ?? "shared";

/** Whether its tasks run in its directory itself. */
export const isShared = (workspace: Isolated): boolean => isolationOf(workspace) === "shared";

const PATH = ["spec", "path"];

export const workspace: AnyKind = defineKind<WorkspaceSpec>("Workspace", {
  summary: "A directory in which the steps of a task run.",
  spec: WorkspaceSpec,
  checks: [
    ({ path }) => checkPath(path),
    ({ fetch, isolation }) =>
      fetch === true && isolation !== "worktree"
        ? [
          errorAt(
            ["spec", "fetch"],
            'fetch is only for worktrees: set "isolation: worktree" too',
          ),
        ]
        : [],
    ({ env }) => checkEnv(env, ["spec", "env"]),
    ({ sandbox }) => checkSandbox(sandbox, ["spec", "sandbox"]),
  ],
  expressions: (spec) => envExpressions(spec.env, ["spec", "env"]),
  references: (spec) => [
    ...envReferences(spec.env, ["spec", "env"]),
    ...sandboxReferences(spec.sandbox, ["spec", "sandbox"]),
  ],
  machine: ({ path, isolation, nodes, sandbox }) => [
    {
      needs: "directory",
      path,
      at: PATH,
      repository: isolation === "worktree",
      ...defined({ nodes }),
    },
    ...sandboxNeeds(sandbox, ["spec", "sandbox"]),
    ...(nodes === undefined ? [] : [{ needs: "nodes", nodes, at: ["spec", "nodes"] } as const]),
  ],
  columns: [
    { header: "PATH", fit: "text", cell: ({ spec }) => spec.path },
    { header: "ISOLATION", cell: ({ spec }) => isolationOf(spec) },
    { header: "PARALLEL", wide: true, cell: ({ spec }) => String(spec.maxParallel ?? "") },
    { header: "NODES", wide: true, cell: ({ spec }) => spec.nodes?.join(",") ?? "" },
  ],
});

/** Checks the path; of home directories svc knows only that of the daemon's own user. */
function checkPath(path: string): Finding[] {
  if (path.includes("\0")) return [errorAt(PATH, "A path cannot hold a NUL character")];
  const [start = ""] = path.split("/");
  if (!start.startsWith("~") || start === "~") return [];
  return [errorAt(
    PATH,
    `Only "~/" stands for a home directory, that of the daemon's user: write the whole path in ` +
      `place of "${start}", or "./${path}" for a directory of that name`,
  )];
}
