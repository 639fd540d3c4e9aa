/**
 * Who asks for an operation, and what they may do (contract 5): a run token carries the rights of its
 * run, and everybody else on the socket has the highest role the access policy leaves them.
 *
 * @module
 */

import Type from "typebox";
import { type Role, ROLES } from "../api/operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import { findOtherWriter } from "../base/private_files.ts";
import type { Grant, RunTokens } from "./run_tokens.ts";
import { parseManifest } from "../resources/manifest.ts";
import { compileSchema } from "../resources/validate.ts";
import type { Store } from "../store/store.ts";
import { findToken, type TokenHost } from "./tokens.ts";

/** Who asks. */
export interface Caller {
  /** What they may do at most. */
  readonly role: Role;
  /** `socket`, or what their token was given for. */
  readonly name: string;
  /** Rights of a run, where a run asks. */
  readonly grant?: Grant;
}

/** Whether `role` is at least `needed`. */
export function hasRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Spec 2.7. */
const UdsPolicy = compileSchema(
  Type.Object({ max_role: Type.Enum([...ROLES]) }, { additionalProperties: false }),
);

/** The file is a few bytes; anything longer is something else. */
const MAX_POLICY_BYTES = 16 * 1024;

/** The highest role on the socket, and what is wrong with the file that says so, if anything. */
export interface SocketRole {
  /** The role. */
  readonly role: Role;
  /** Why it is `read_only` although nobody said so. */
  readonly fault?: string;
}

/** Reads the access policy: without one the owner is admin; one that is not understood is closed. */
export async function socketRole(dirs: DataDir): Promise<SocketRole> {
  const path = dirs.udsPolicy;
  const closed = (why: string): SocketRole => ({
    role: "read_only",
    fault: `${path} is not usable (${why}): everybody on the socket may only read`,
  });
  let text: string;
  try {
    const writer = findOtherWriter(await Deno.stat(path), dirs.root);
    if (writer !== undefined) return closed(`it ${writer}`);
    const bytes = await Deno.readFile(path);
    if (bytes.length > MAX_POLICY_BYTES) return closed("it is too long");
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    // Only a file that is not there is no policy; a dangling link is there and cannot be read.
    if (!(error instanceof Deno.errors.NotFound)) return closed("it cannot be read");
    return await isAbsent(path) ? { role: "admin" } : closed("it cannot be read");
  }
  const { documents, errors } = parseManifest(path, text);
  const [fault] = errors;
  if (fault !== undefined) return closed(fault);
  const [document] = documents;
  if (document === undefined || documents.length !== 1) return closed("it is not one document");
  const [finding] = UdsPolicy.check(document.value);
  if (finding !== undefined) return closed(finding.message);
  return { role: (document.value as { max_role: Role }).max_role };
}

async function isAbsent(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Finds out who sent a request on the socket; a token that is not known gives nothing. */
export async function identify(
  request: Request,
  host: TokenHost & { readonly dirs: DataDir; readonly tokens: RunTokens },
): Promise<Caller | undefined> {
  const header = request.headers.get("authorization");
  if (header === null) return { name: "socket", role: (await socketRole(host.dirs)).role };
  const grant = host.tokens.find(/^Bearer (\S+)$/.exec(header)?.[1] ?? "");
  if (grant === undefined) return await identifyByToken(request, host);
  return { name: grant.kind, role: "read_only", grant };
}

/** Finds out who sent a request from elsewhere: only a bearer token says. */
export async function identifyByToken(
  request: Request,
  host: TokenHost,
): Promise<Caller | undefined> {
  const text = /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const token = await findToken(text, host);
  return token === undefined ? undefined : { name: `token ${token.name}`, role: token.role };
}

/** Whether the caller may see the values of a project's secrets. */
export function maySeeSecrets(caller: Caller, project: string): boolean {
  if (caller.grant === undefined) return caller.role === "admin";
  return caller.grant.kind !== "step" && caller.grant.project === project;
}

/** Whether the caller may cancel a task or write to its inbox: a step may, of its own task alone. */
export function mayActOnTask(caller: Caller, taskId: string): boolean {
  if (caller.grant === undefined) return hasRole(caller.role, "operator");
  return caller.grant.kind === "step" && caller.grant.taskId === taskId;
}

/** Whether the caller may read the inbox of a task: of runs, only its own steps. */
export function mayReadInbox(caller: Caller, taskId: string): boolean {
  return caller.grant === undefined || mayActOnTask(caller, taskId);
}

/** Whether the caller may read what a delivery holds: of runs, only the steps of the task it started. */
export async function mayReadDelivery(
  { role, grant }: Caller,
  deliveryId: string,
  store: Store,
): Promise<boolean> {
  if (grant === undefined) return hasRole(role, "operator");
  if (grant.kind !== "step" || grant.taskId === undefined) return false;
  const [task] = await store.findTasks(grant.taskId);
  return task?.id === grant.taskId && task.deliveryId === deliveryId;
}

/** Whether a run may do more than read: a cron plugin rotates the secrets of its project. */
export function mayRotate(caller: Caller, project: string): boolean {
  if (caller.grant === undefined) return hasRole(caller.role, "operator");
  return caller.grant.kind === "cron" && caller.grant.project === project;
}
