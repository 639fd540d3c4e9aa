/**
 * `--with` of `svc integration install` and `svc connect`: a workflow in which an agent answers, and the
 * agent itself where it is not there yet.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import type { Client } from "../api/client.ts";
import type { ApplyOutcome, ManifestFile } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";
import { isRepository } from "../base/github_names.ts";
import {
  AGENT_NAMES,
  agentManifests,
  type AgentWorkflow,
  isCloneOf,
} from "../integrations/agent_workflow.ts";
import { type IntegrationPackage, manifestsOf, packageNamed } from "../integrations/packages.ts";
import type { AgentSpec } from "../resources/agent.ts";
import { DEFAULT_WORKSPACE } from "../resources/names.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import type { WorkspaceSpec } from "../resources/workspace.ts";
import type { CommandContext, CONNECTION, Context, PROJECT } from "./command.ts";
import { findSpec } from "./find_spec.ts";
import type { Io } from "./io.ts";
import type { OptionDefinition, OptionValues } from "./option.ts";
import { fillSecrets } from "./package_secrets.ts";
import { readFile } from "./read_file.ts";
import { readSetSecrets, SET_SECRET } from "./set_secret.ts";

/** The options of every command that can add an agent. */
export const WITH_AGENT = [
  {
    flags: "--with <agent>",
    help:
      "also answer by an agent: a package such as claude-code, which is installed if it is not " +
      "there, or an Agent that is applied already",
    complete: AGENT_NAMES,
  },
  {
    flags: "--clone <dir>",
    help: "the git clone of which the agent gets a worktree for each task",
  },
] as const satisfies readonly OptionDefinition[];

/** The users whom an agent answers. */
export const AGENT_USERS = {
  flags: "--user <id...>",
  help: "with --with, at LINE: the users whom the agent answers",
} as const satisfies OptionDefinition;

/** The context of a command with these options. */
type AgentContext = CommandContext<
  OptionValues<[...typeof WITH_AGENT, typeof PROJECT, ...typeof CONNECTION]>
>;

/** What the packages of platforms ask for beside `--with`. */
export type AgentPlace = Partial<Pick<AgentWorkflow, "repository" | "connection" | "users">>;

/** What to apply for an agent. */
export interface AgentFiles {
  readonly files: readonly ManifestFile[];
  /** SecretStores that stay as they are. */
  readonly kept: readonly string[];
  /** How to ask the agent, in one sentence. */
  readonly next: string;
}

/** The package of the agent that `--with` names; `undefined` without one, or for an Agent of the user's. */
export function agentPackage(name: string | undefined): IntegrationPackage | undefined {
  return name !== undefined && AGENT_NAMES.includes(name) ? packageNamed(name) : undefined;
}

/**
 * The manifests of the agent that `--with` names, and of the workflow in which it answers.
 *
 * @param secrets The secrets that were given, by key.
 * @throws {AppError} `usage`, `not_found` or `refused` with what is missing; nothing has changed then.
 */
export async function readAgentFiles(
  pack: IntegrationPackage,
  name: string,
  { place, secrets, context, client }: {
    readonly place: AgentPlace;
    readonly secrets: ReadonlyMap<string, string>;
    readonly context: AgentContext;
    readonly client: Client;
  },
): Promise<AgentFiles> {
  const { repository, connection, users = [] } = place;
  const own = agentPackage(name);
  const known = await findSpec<AgentSpec>({ what: "agent", name, ...context.project() }, client);
  if (known === undefined && own === undefined) {
    throw new AppError(
      "not_found",
      `No Agent "${name}" in project "${
        context.project().project ?? DEFAULT_PROJECT
      }": apply one, ` +
        `or take a package: ${AGENT_NAMES.join(", ")}`,
    );
  }
  const workflow: Omit<AgentWorkflow, "directory"> = {
    agent: name,
    hasOutput: known === undefined || (known.output ?? "text") !== "text",
    repository,
    connection,
    users,
  };
  // First with any directory: what the package lacks or does not know is said before the clone is looked at.
  agentManifests(pack, { ...workflow, directory: { path: ".", isolation: "copy" } });
  const directory = await directoryOf(repository, context, client);
  const agent = own === undefined
    ? { files: [], kept: [] }
    : await filesOfAgent(own, known === undefined, { secrets, context, client });
  return {
    files: [
      ...agent.files,
      ...toManifests(pack, agentManifests(pack, { ...workflow, directory })),
    ],
    kept: agent.kept,
    next: NEXT[pack.name]?.(repository) ?? "",
  };
}

/** How to ask the agent of a platform. */
const NEXT: Readonly<Record<string, (repository: string | undefined) => string>> = {
  github: (repository) =>
    `write a comment on an issue or a pull request of ${repository}: /svc What is this for?`,
  slack: () => "write to the app, or /invite it and mention it: the agent answers in the thread",
  line: () => "write to the account: the agent answers",
};

/** Manifests as an apply takes them. */
export function toManifests(
  { name }: IntegrationPackage,
  files: readonly { readonly path: string; readonly text: string }[],
): ManifestFile[] {
  return files.map(({ path, text }) => ({ name: `${name}/${path}`, text }));
}

/** The package of an agent, or no more than its secrets where the Agent is there. */
async function filesOfAgent(
  pack: IntegrationPackage,
  isNew: boolean,
  { secrets, context, client }: {
    readonly secrets: ReadonlyMap<string, string>;
    readonly context: AgentContext;
    readonly client: Client;
  },
): Promise<{ files: readonly ManifestFile[]; kept: readonly string[] }> {
  const { secretTemplatesOf } = await import("../integrations/package_resources.ts");
  const templates = secretTemplatesOf(pack);
  const keys = templates.flatMap((store) => store.keys);
  if (!isNew && !keys.some((key) => secrets.has(key))) return { files: [], kept: [] };
  const given = new Map(secrets);
  for (const { name, keys } of templates) {
    const at = { what: "secretstore", name, ...context.project() } as const;
    if (!context.io.inIsTerminal || await findSpec(at, client) !== undefined) continue;
    for (const key of keys) {
      if (!given.has(key)) given.set(key, typedSecret(`${key} of ${pack.title}`, context.io));
    }
  }
  const filled = await fillSecrets({ name: pack.name, templates }, given, { client, context });
  const manifests = isNew ? toManifests(pack, manifestsOf(pack)) : [];
  return { files: [...filled.files, ...manifests], kept: filled.kept };
}

function typedSecret(what: string, io: Io): string {
  const typed = io.hiddenLine(`${what} (not shown): `);
  if (typed !== undefined && typed !== "") return typed;
  throw new AppError("refused", `Nothing was changed: the ${what} was not entered`);
}

/**
 * The directory of the workspace: worktrees of the clone that is named, or is the current directory; where
 * there is no repository, copies of the workspace `default`.
 */
async function directoryOf(
  repository: string | undefined,
  context: AgentContext,
  client: Client,
): Promise<AgentWorkflow["directory"]> {
  const { clone } = context.options;
  if (clone !== undefined) {
    const path = clone.startsWith("~/") ? clone : resolve(clone);
    return { path, isolation: "worktree" };
  }
  if (repository !== undefined) return await currentClone(repository, context.io);
  const at = { what: "workspace", name: DEFAULT_WORKSPACE, ...context.project() } as const;
  const path = (await findSpec<WorkspaceSpec>(at, client))?.path;
  if (path !== undefined) return { path, isolation: "copy" };
  throw new AppError(
    "usage",
    `Say where the agent works with --clone DIR: the project has no Workspace "${DEFAULT_WORKSPACE}"`,
  );
}

/** The clone of a repository around the current directory. */
async function currentClone(
  repository: string,
  io: Io,
): Promise<AgentWorkflow["directory"]> {
  if (!isRepository(repository)) {
    throw new AppError("usage", `A repository is OWNER/NAME, not "${repository}"`);
  }
  for (let path = Deno.cwd();; path = dirname(path)) {
    const config = await readFile(join(path, ".git/config"), io).catch(() => undefined);
    if (config !== undefined) {
      // An agent must not answer in one repository out of the files of another.
      if (isCloneOf(repository, new TextDecoder().decode(config))) {
        return { path, isolation: "worktree" };
      }
      break;
    }
    if (path === dirname(path)) break;
  }
  throw new AppError(
    "usage",
    `The current directory is no clone of ${repository}: go to one, or name it with --clone DIR ` +
      `(git clone makes it)`,
  );
}

/** The result of an agent's manifests. */
export interface AgentApplied extends Pick<AgentFiles, "kept" | "next"> {
  readonly results: readonly ApplyOutcome[];
}

/**
 * Lines about what was applied for an agent and, where events arrive, how to ask it; none without one.
 */
export function agentText(agent: AgentApplied | undefined, areArriving: boolean): string {
  if (agent === undefined) return "";
  const changed = agent.results.filter(({ action }) => action !== "unchanged");
  const lines = changed.map(({ name, action }) => `${name} ${action}`);
  const next = areArriving ? [`Now ${agent.next}`] : [];
  return [...lines, ...next].map((line) => `${line}\n`).join("");
}

/** Reads what `svc connect` needs for its agent, before it changes anything; `undefined` without `--with`. */
export async function readConnectedAgent(
  pack: string,
  place: AgentPlace,
  context: CommandContext<
    OptionValues<
      [...typeof WITH_AGENT, typeof SET_SECRET, typeof PROJECT, ...typeof CONNECTION]
    > & { readonly endpoint: string | undefined }
  >,
): Promise<AgentFiles | undefined> {
  const { with: name, clone, setSecret, endpoint } = context.options;
  if (name === undefined) {
    if (clone === undefined && setSecret.length === 0 && (place.users ?? []).length === 0) {
      return undefined;
    }
    throw new AppError("usage", "--clone, --set-secret and --user are for an agent: add --with");
  }
  if (endpoint !== undefined && endpoint !== pack) {
    const message = `The agent of --with answers at the endpoint "${pack}": leave --endpoint out`;
    throw new AppError("usage", message);
  }
  const { secretTemplatesOf } = await import("../integrations/package_resources.ts");
  const own = agentPackage(name);
  const keys = own === undefined ? [] : secretTemplatesOf(own).flatMap((store) => store.keys);
  const secrets = await readSetSecrets(keys, context);
  if ([...secrets.values()].includes("")) {
    throw new AppError("usage", "A secret is empty: standard input has only one, of token and key");
  }
  using client = context.client();
  return await readAgentFiles(packageNamed(pack), name, { place, secrets, context, client });
}

/** Applies what {@linkcode readConnectedAgent} read. */
export async function applyAgent(
  { files, kept, next }: AgentFiles,
  context: Context<[typeof PROJECT, ...typeof CONNECTION]>,
): Promise<AgentApplied> {
  using client = context.client();
  const applied = await client.call("apply", {
    files: [...files],
    ...context.project(),
    dry_run: false,
  });
  for (const warning of applied.warnings) context.io.err(`warning: ${warning}\n`);
  for (const failure of applied.hook_failures) context.io.err(`hook failed: ${failure}\n`);
  return { results: applied.results, kept, next };
}
