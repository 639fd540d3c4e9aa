/**
 * The Connection through which a task is answered, or its sender checked. Pure over the catalog.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { isRepository } from "../base/github_names.ts";
import { isProject } from "../base/gitlab_names.ts";
import { isJsonObject } from "../base/json.ts";
import type { Catalog } from "../resources/catalog.ts";
import {
  type ConnectedPlatform,
  connectedTo,
  type ConnectionSpec,
  platformOfConnection,
} from "../resources/connection.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";

/** The conditions of a search for a Connection. */
export interface ConnectionQuery {
  readonly project: string;
  readonly platform: ConnectedPlatform;
  /** `event.webhook.connection` of the trigger; absent if it names none. */
  readonly named?: string;
  /**
   * Repository, as its forge names it, that the Connection has to cover; absent if the platform has no
   * repositories.
   */
  readonly repository?: string;
}

/** A Connection as it is stored. */
export type Connection = Resource<ConnectionSpec>;

/**
 * The Connection that the trigger names, else the only one of the platform that covers the
 * repository.
 *
 * @throws {AppError} `refused` with what was found and what to write.
 */
export function findConnection(query: ConnectionQuery, catalog: Catalog): Connection {
  const { project, platform, named, repository } = query;
  if (named !== undefined) return namedConnection(named, query, catalog);
  const all = (catalog.list("Connection", project) as Connection[])
    .filter(({ spec }) => platformOfConnection(spec) === platform);
  const some = all.filter(({ spec }) =>
    repository === undefined || coversRepository(spec, repository)
  );
  // A Connection that names the repository or its owner comes before an app that names none.
  const naming = some.filter(({ spec }) => !coversAll(spec));
  const covering = repository === undefined || naming.length === 0 ? some : naming;
  const [only, ...more] = covering;
  if (only !== undefined && more.length === 0) return only;
  const what = repository === undefined ? platform : `${platform} covers ${repository}`;
  const names = covering.map(({ name }) => `"${name}"`).join(" and ");
  const message = only === undefined
    ? `No Connection to ${what} in project "${project}": ${remedy(all, query)}`
    : `More than one Connection to ${what}, ${names}: name one under event.webhook.connection`;
  throw new AppError("refused", message);
}

function remedy(all: readonly Connection[], query: ConnectionQuery): string {
  const command = connectCommand(query);
  if (all.length === 0) return `make one with ${command}`;
  const others = all.map(({ name, spec }) => `"${name}" is to ${connectedTo(spec)}`).join(", ");
  return `${others}; make another with ${command}`;
}

/** The command that makes the missing Connection. */
function connectCommand({ project, platform, repository = "" }: ConnectionQuery): string {
  // A payload may name anything, and a person types this command into a shell.
  const to = platform === "github"
    ? ` ${isRepository(repository) ? repository : "OWNER/REPOSITORY"}`
    : platform === "gitlab"
    ? ` ${isProject(repository) ? repository : "GROUP/PROJECT"}`
    : "";
  const of = project === DEFAULT_PROJECT ? "" : ` --project ${project}`;
  return `svc connect ${platform}${to}${of}`;
}

function namedConnection(
  name: string,
  { project, platform, repository }: ConnectionQuery,
  catalog: Catalog,
): Connection {
  const found = catalog.find<ConnectionSpec>("Connection", project, name);
  if (found === undefined) {
    const command = connectCommand({ project, platform, ...defined({ repository }) });
    const message = `No Connection "${name}" in project "${project}", which the trigger names: ` +
      `apply it, or make it with ${command} --name ${name}`;
    throw new AppError("refused", message);
  }
  const { spec } = found;
  if (platformOfConnection(spec) !== platform) {
    const message = `Connection "${name}" is to ${platformOfConnection(spec)}, not to ${platform}`;
    throw new AppError("refused", message);
  }
  if (repository !== undefined && !mayAnswerTo(spec, repository)) {
    const message = `Connection "${name}" is to ${connectedTo(spec)} and not to ${repository}: ` +
      "add that to its allow.targets if answers may go there";
    throw new AppError("refused", message);
  }
  return found;
}

/** Whether a Connection is to everything that an App is installed on. */
function coversAll({ github }: ConnectionSpec): boolean {
  return github?.app !== undefined && github.organization === undefined &&
    github.repositories === undefined;
}

/**
 * Whether a Connection is to a repository or its owner; names have no case. Of an app that names
 * neither, GitHub says where it is installed once a token is asked for.
 */
export function coversRepository(
  { github, gitlab }: ConnectionSpec,
  repository: string,
): boolean {
  const name = repository.toLowerCase();
  if (gitlab?.project !== undefined) return gitlab.project.toLowerCase() === name;
  if (gitlab?.group !== undefined) return name.startsWith(`${gitlab.group.toLowerCase()}/`);
  if (github === undefined) return false;
  if (coversAll({ github })) return true;
  if (github.repositories !== undefined) {
    return github.repositories.some((one) => one.toLowerCase() === name);
  }
  if (github.repository !== undefined) return github.repository.toLowerCase() === name;
  const owner = github.organization?.toLowerCase();
  return owner !== undefined && name.startsWith(`${owner}/`);
}

/** Whether answers may go to a repository: the Connection covers it, or an admin has allowed it. */
export function mayAnswerTo(spec: ConnectionSpec, repository: string): boolean {
  const name = repository.toLowerCase();
  return coversRepository(spec, repository) ||
    (spec.allow?.targets ?? []).some((target) => target.toLowerCase() === name);
}

/** `repository.full_name` of a payload; `undefined` if it has none. */
export function repositoryOf(payload: unknown): string | undefined {
  const repository = isJsonObject(payload) ? payload["repository"] : undefined;
  const name = isJsonObject(repository) ? repository["full_name"] : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** A header can hold all characters of a token; an error of `fetch` would show any others. */
const TOKEN = /^[!-~]+$/;

/** Whether a text can be a token. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** A field whose value is in a SecretStore. */
interface SecretRef {
  readonly fromSecret: { readonly store: string; readonly key: string };
}

/**
 * The current value of a token of a Connection.
 *
 * @throws {AppError} `refused` if the SecretStore or its key does not exist, or holds no token.
 */
export function readToken(
  { name, project }: Pick<Connection, "name" | "project">,
  { fromSecret: { store, key } }: SecretRef,
  catalog: Catalog,
): string {
  const found = catalog.find<SecretStoreSpec>("SecretStore", project, store);
  const data = found?.spec.data ?? {};
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  const set = `svc secret set ${store} ${key}`;
  if (value === undefined) {
    const message = `SecretStore "${store}" has no key "${key}", the token of Connection "${name}"`;
    throw new AppError("refused", `${message}: set it with ${set}`);
  }
  if (isToken(value)) return value;
  const message = `The token of Connection "${name}" has characters that tokens cannot have`;
  throw new AppError("refused", `${message}: set it again with ${set}`);
}

/** The name of a Connection's health condition. */
export function conditionOf({ project, name }: { project: string; name: string }): string {
  return `connection ${project}/${name}`;
}
