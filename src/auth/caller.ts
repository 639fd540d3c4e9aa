/**
 * The caller of a request to the control plane: a run, by its run token; the holder of a bearer
 * token; or a user who can open the socket, with the highest role that the access policy allows.
 *
 * @module
 */

import Type from "typebox";
import { decodePerson, PERSON_HEADER } from "../api/named_person.ts";
import type { AskedBy } from "../base/asked_by.ts";
import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { findOtherWriter } from "../base/private_files.ts";
import { RegularFile } from "../base/regular_file.ts";
import { lowerRole, type Role, ROLES } from "../base/roles.ts";
import type { Grant, RunTokens } from "./run_tokens.ts";
import type { Catalog } from "../resources/catalog.ts";
import { parseManifest } from "../resources/manifest.ts";
import { compileSchema } from "../resources/validate.ts";
import { findPerson, type FoundPerson, personNamed } from "./persons.ts";
import { findToken, personOf, type StoredTokens } from "./tokens.ts";

/** The sender of a request. */
export interface Caller {
  /** A run has `read_only`; beyond that it may only do what the `grants` of an operation allow. */
  readonly role: Role;
  /** `socket`, the name of the Person or of the token, or the kind of run. */
  readonly name: string;
  /** Name of the Person, where the caller is one. Nobody else may answer for it. */
  readonly person?: string;
  /**
   * The program that sent the request, as it names itself; it has no influence on the rights. Of a
   * gateway, the name of its token.
   */
  readonly client?: string;
  /** Whether the request came through a gateway, which says who the caller is. */
  readonly viaGateway?: true;
  readonly grant?: Grant;
}

/** The stored tokens, and the Persons that they are for. */
export interface TokenHost extends StoredTokens {
  readonly catalog: Catalog;
}

/** Header in which a program names itself. */
const CLIENT_HEADER = "svc-client";
const CLIENT_NAME = /^[a-z-]{1,32}$/;

/**
 * The program that sent a request; absent if it does not name itself.
 *
 * @throws {AppError} `invalid` for a value that is not a name.
 */
function clientOf({ headers }: Request): Pick<Caller, "client"> {
  const client = headers.get(CLIENT_HEADER);
  if (client === null) return {};
  if (CLIENT_NAME.test(client)) return { client };
  throw new AppError(
    "invalid",
    `The header ${CLIENT_HEADER} takes 1 to 32 letters from a to z, and -`,
  );
}

/**
 * Refuses a caller that may not act for others, and says that it does.
 *
 * @throws {AppError} `forbidden`.
 */
function actsForItself({ headers }: Request): void {
  if (!headers.has(PERSON_HEADER)) return;
  throw new AppError(
    "forbidden",
    `Only a gateway token acts for others: leave the header ${PERSON_HEADER} out`,
  );
}

/**
 * The Person for whom a gateway asks.
 *
 * @throws {AppError} `forbidden` if it names nobody; `unauthorized` if there is no such Person.
 */
function namedPerson({ headers }: Request, catalog: Catalog): FoundPerson {
  const value = headers.get(PERSON_HEADER);
  if (value === null) {
    throw new AppError(
      "forbidden",
      `A gateway token acts for a Person, never for itself: name one in the header ${PERSON_HEADER}`,
    );
  }
  const named = decodePerson(value) ?? "";
  const person = named.includes(":") ? findPerson(catalog, named) : personNamed(catalog, named);
  if (person !== undefined) return person;
  throw new AppError("unauthorized", "No Person has this name or identity");
}

/** The name of a caller together with its program: `socket (console)`. */
export function withClient(name: string, client = ""): string {
  return client === "" ? name : `${name} (${client})`;
}

/** Whether a caller is anybody who can open the socket: nobody in particular. */
export function isBareSocket({ name, person }: Pick<Caller, "name" | "person">): boolean {
  return name === "socket" && person === undefined;
}

/** A caller, as records name who asked for something. */
export function askedBy(caller: Caller): AskedBy {
  const { name, client, person } = caller;
  const called = withClient(isBareSocket(caller) ? "an operator" : name, client);
  return { called, ...defined({ person }) };
}

const UdsPolicy = compileSchema(
  Type.Object({ max_role: Type.Enum([...ROLES]) }, { additionalProperties: false }),
);

/** Largest policy file; a real one has a few bytes. */
const MAX_POLICY_BYTES = 16 * 1024;

/** The highest role on the socket, and the fault of the policy file, if it has one. */
export interface SocketRole {
  readonly role: Role;
  /** Whether there is no access policy, so that the role is `admin`. */
  readonly isOpen: boolean;
  /** Why the policy file is not usable; the role is then `read_only`. */
  readonly fault?: string;
}

/**
 * The warning while there is no access policy for the socket; `undefined` when there is one. Steps
 * outside a sandbox run as the daemon's user, who can open the socket.
 */
export async function openSocketWarning(dirs: DataDir): Promise<string | undefined> {
  if (!(await socketRole(dirs)).isOpen) return undefined;
  return 'every step outside a sandbox has the role admin on the control socket: write "max_role: ' +
    `operator" into ${dirs.udsPolicy} (docs/access.md)`;
}

/**
 * Reads the access policy. Without the file, callers on the socket have the role `admin`; with a file
 * that is not usable, `read_only`.
 */
export async function socketRole(dirs: DataDir): Promise<SocketRole> {
  const path = dirs.udsPolicy;
  const closed = (why: string): SocketRole => ({
    role: "read_only",
    isOpen: false,
    fault: `${path} is not usable (${why}): everyone on the socket has the role read_only`,
  });
  let text: string;
  try {
    const home = (await Deno.lstat(path)).isSymlink ? undefined : dirs.root;
    using file = RegularFile.open(path);
    const writer = findOtherWriter(file.facts, home);
    if (writer !== undefined) return closed(`it ${writer}`);
    const buffer = new Uint8Array(MAX_POLICY_BYTES + 1);
    const length = file.readSync(buffer);
    if (length > MAX_POLICY_BYTES) return closed("it is too long");
    text = new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
  } catch (error) {
    // Only an absent file means no policy; a dangling link exists and cannot be read.
    if (!(error instanceof Deno.errors.NotFound)) return closed("it cannot be read");
    return await isAbsent(path) ? { role: "admin", isOpen: true } : closed("it cannot be read");
  }
  const { documents, errors } = parseManifest(path, text);
  const [fault] = errors;
  if (fault !== undefined) return closed(firstLine(fault));
  const [document] = documents;
  if (document === undefined || documents.length !== 1) {
    return closed("it does not hold exactly one document");
  }
  const [finding] = UdsPolicy.check(document.value);
  if (finding !== undefined) return closed(finding.message);
  return { role: (document.value as { max_role: Role }).max_role, isOpen: false };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

async function isAbsent(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/**
 * Identifies the caller of a request on the socket; `undefined` for an unknown token.
 *
 * @throws {AppError} `invalid` when the program names itself with a value that is not a name;
 * `forbidden` when the Person of the token does not exist any more, or the caller acts for another and
 * may not; `unauthorized` when a gateway names nobody who exists.
 */
export async function identify(
  request: Request,
  host: TokenHost & { readonly dirs: DataDir; readonly tokens: RunTokens },
): Promise<Caller | undefined> {
  const header = request.headers.get("authorization");
  const client = clientOf(request);
  if (header === null) {
    actsForItself(request);
    return { name: "socket", role: (await socketRole(host.dirs)).role, ...client };
  }
  const grant = host.tokens.find(/^Bearer (\S+)$/.exec(header)?.[1] ?? "");
  if (grant === undefined) return await identifyByToken(request, host);
  actsForItself(request);
  return { name: grant.kind, role: "read_only", grant, ...client };
}

/**
 * Identifies the caller of a request on the socket of sandboxes, which takes the run tokens of steps and
 * nothing else.
 *
 * @throws {AppError} `invalid` when the program names itself with a value that is not a name; `forbidden`
 * when it acts for another.
 */
export function identifyStep(
  request: Request,
  { tokens }: { readonly tokens: RunTokens },
): Caller | undefined {
  const grant = tokens.find(
    /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "",
  );
  if (grant?.kind !== "step") return undefined;
  actsForItself(request);
  return { name: grant.kind, role: "read_only", grant, ...clientOf(request) };
}

/**
 * Identifies the caller of a request from the network, where a bearer token is required.
 *
 * @throws {AppError} as {@linkcode identify}.
 */
export async function identifyByToken(
  request: Request,
  host: TokenHost,
): Promise<Caller | undefined> {
  const text = /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const token = await findToken(text, host);
  if (token === undefined) return undefined;
  const client = clientOf(request);
  if (token.gateway === true) {
    const { name, role } = namedPerson(request, host.catalog);
    const acts = { name, person: name, role: lowerRole(token.role, role) };
    // However it names itself: the audit shows who vouched for the name.
    return { ...acts, client: token.name, viaGateway: true };
  }
  actsForItself(request);
  const person = personOf(token, host.catalog);
  if (person === undefined) return { name: `token ${token.name}`, role: token.role, ...client };
  const role = lowerRole(token.role, person.role);
  return { name: person.name, person: person.name, role, ...client };
}

/**
 * Whether the caller may see the values of a project's secrets: admins, and plugins of the project.
 */
export function maySeeSecrets(caller: Caller, project: string): boolean {
  if (caller.grant === undefined) return caller.role === "admin";
  return caller.grant.kind !== "step" && caller.grant.project === project;
}
