/**
 * The workflow of a platform's package in which an agent answers: its manifests in the folder `agent`
 * of the package, with the values of the user filled in. Pure.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type IntegrationPackage, listPackages, type PackageFile } from "./packages.ts";

const FOLDER = "agent/";

/** Names of the packages that bring an agent. */
export const AGENT_NAMES: readonly string[] = listPackages()
  .filter(({ files }) => files.some(({ path }) => path === "agent.yaml"))
  .map(({ name }) => name);

/** What a user decides about the workflow of an agent. */
export interface AgentWorkflow {
  /** Name of the Agent. */
  readonly agent: string;
  /** Whether svc reads the events of the Agent: if not, its answer is all that it prints. */
  readonly hasOutput: boolean;
  /** Where it works: a clone of which it gets worktrees, or a directory of which it gets copies. */
  readonly directory: { readonly path: string; readonly isolation: "worktree" | "copy" };
  /** `OWNER/NAME` of the repository in which it answers. */
  readonly repository?: string | undefined;
  /** Name of the Connection whose bot answers at Slack, if it is not `slack`. */
  readonly connection?: string | undefined;
  /** Ids of the users whom it answers. */
  readonly users: readonly string[];
}

/**
 * The manifests, filled in. Those of a repository have its name in theirs, so that each repository has
 * its own agent.
 *
 * @throws {AppError} `usage` if a value is missing, is none, or has no place in this package.
 */
export function agentManifests(
  pack: IntegrationPackage,
  { agent, hasOutput, directory, repository, connection, users }: AgentWorkflow,
): readonly PackageFile[] {
  const files = pack.files.filter(({ path }) => path.startsWith(FOLDER));
  if (files.length === 0) {
    const names = listPackages().filter(({ files }) => files.some(isOfAgent)).map((one) =>
      one.name
    );
    throw new AppError("usage", `--with is for the packages ${names.join(", ")}`);
  }
  const takes = (key: string) => files.some(({ text }) => text.includes(`"<your-${key}>"`));
  checkGiven("--repository", repository !== undefined, takes("repository"), pack);
  checkGiven("--user", users.length > 0, takes("user-id"), pack);
  if (users.some((user) => !USER.test(user))) {
    throw new AppError("usage", `--user takes ids such as ${EXAMPLE_USER}`);
  }
  const values: Readonly<Record<string, string>> = {
    clone: JSON.stringify(directory.path),
    repository: JSON.stringify(repository?.toLowerCase()),
    "user-id": users.map((user) => JSON.stringify(user)).join(", "),
  };
  const suffix = suffixOf(repository);
  return files.map(({ path, text }) => ({
    path,
    text: text.replaceAll(/^( *)agent: "<your-agent>"$/gm, (_, indent) => {
      const line = `${indent}agent: ${JSON.stringify(agent)}`;
      return hasOutput ? line : `${line}\n${indent}stdout: result`;
    }).replaceAll(/"<your-([a-z-]+)>"/g, (_, key) => values[key] ?? "")
      .replaceAll(new RegExp(`(: ${pack.name}-(?:agent|fix|fix-ci|checks))$`, "gm"), `$1${suffix}`)
      .replace(
        /^( +connection: ).*$/m,
        (line, field) => connection === undefined ? line : field + connection,
      )
      .replace(
        /isolation: worktree\n +fetch: true$/m,
        (worktree) => directory.isolation === "worktree" ? worktree : "isolation: copy",
      ),
  }));
}

/** What the names of the resources of a repository end with. */
function suffixOf(repository: string | undefined): string {
  if (repository === undefined) return "";
  return `-${repository.toLowerCase().replace("/", "-")}`.replace(/[^a-z0-9]+$/, "");
}

/** Whether the configuration of a git repository names `OWNER/NAME` as the address of a remote. */
export function isCloneOf(repository: string, config: string): boolean {
  const address = new RegExp(`[/:]${RegExp.escape(repository)}(\\.git)?/?$`, "i");
  return [...config.matchAll(/^\s*url\s*=\s*(\S+)\s*$/gm)].some(([, url = ""]) =>
    address.test(url)
  );
}

const EXAMPLE_USER = `U${"0123456789abcdef".repeat(2)}`;
/** The id of a user at LINE. */
const USER = /^U[0-9a-f]{32}$/;

function isOfAgent({ path }: PackageFile): boolean {
  return path.startsWith(FOLDER);
}

/** What a package asks for with an option. */
const MISSING: Readonly<Record<string, string>> = {
  "--repository": "Name the repository in which the agent answers with --repository OWNER/NAME",
  "--user":
    "Anyone can write to a LINE account: name the users whom the agent answers with --user " +
    `${EXAMPLE_USER}. Yours is in the LINE Developers Console, tab Basic settings, Your user ID`,
};

function checkGiven(
  flag: string,
  isGiven: boolean,
  isTaken: boolean,
  { name }: IntegrationPackage,
): void {
  if (isTaken && !isGiven) throw new AppError("usage", MISSING[flag] ?? `${flag} is missing`);
  if (isGiven && !isTaken) {
    throw new AppError("usage", `${flag} has no use in the package ${name}`);
  }
}
