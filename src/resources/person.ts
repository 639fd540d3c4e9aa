/**
 * Kind `Person`: somebody whose answers count, with a role, groups, and the identities by which
 * platforms know them. An identity belongs to one Person at most.
 *
 * @module
 */

import Type from "typebox";
import { ROLES } from "../base/roles.ts";
import { type AnyKind, defineKind } from "./kind.ts";
import { Name } from "./metadata.ts";
import { errorAt, type FieldPath, type Finding, type Resource } from "./resource.ts";

/** The kind, where only its name counts. */
export const PERSON_KIND = "Person";

const PersonSpec = Type.Object({
  role: Type.Enum([...ROLES]),
  groups: Type.Optional(Type.Array(Name, { maxItems: 100, title: "a list of names of groups" })),
  is: Type.Optional(Type.Array(Type.String(), {
    maxItems: 100,
    title: 'a list of identities, such as ["github:583231", "slack:T01/U02"]',
  })),
}, { additionalProperties: false });

/** `spec` of a Person. */
export type PersonSpec = Type.Static<typeof PersonSpec>;

/** One way in which something outside knows a person. */
interface IdentityForm {
  /** What follows the name and the colon. */
  readonly pattern: RegExp;
  /** How it is written, for errors. */
  readonly example: string;
  /** Why it is written like that, as the end of a sentence. */
  readonly because: string;
}

/** The id of a user at a forge, after its host where that is not the platform's own. */
const FORGE_USER = /^([a-z0-9.-]+(:\d{1,5})?\/)?[1-9]\d{0,15}$/;
const BY_NUMBER = "the number of the user, because another person can take over a login";

/**
 * Every form of an identity, by what stands before its colon. Each names its issuer and what that
 * never gives to anybody else; a name or a mail address can change hands.
 */
const IDENTITIES: Readonly<Record<string, IdentityForm>> = {
  github: { pattern: FORGE_USER, example: "github:583231", because: BY_NUMBER },
  gitlab: {
    pattern: FORGE_USER,
    example: "gitlab:42 or gitlab:git.example.com/42",
    because: BY_NUMBER,
  },
  gitea: { pattern: FORGE_USER, example: "gitea:git.example.com/42", because: BY_NUMBER },
  slack: {
    pattern: /^[TE][A-Z0-9]{2,20}\/[UW][A-Z0-9]{2,20}$/,
    example: "slack:T01ABCDEF/U02GHIJKL",
    because: "the ids of the team and the user, because a user id is one only within its team",
  },
  oidc: {
    pattern: /^https:\/\/[^\s#?]+#[^\s]{1,255}$/,
    example: "oidc:https://accounts.google.com#1155",
    because: "the issuer and the subject, because a mail address can change hands",
  },
  header: {
    pattern: /^[^\s\p{Cc}\p{Cf}]{1,255}$/u,
    example: "header:ada",
    because: "the name that the proxy gives",
  },
};

/** Hosts that an identity leaves out: there is one such platform for everybody. */
const OWN_HOSTS: Readonly<Record<string, string>> = { github: "github.com", gitlab: "gitlab.com" };

/**
 * The identity of a user of a forge, by its number: `github:583231`, or with the host of an instance
 * of one's own `gitlab:git.example.com/42`. A login is no identity.
 */
export function forgeIdentity(platform: string, id: number | string, host?: string): string {
  const where = host === undefined || host === OWN_HOSTS[platform] ? "" : `${host}/`;
  return `${platform}:${where}${id}`;
}

/** The identity of a user of Slack. */
export function slackIdentity(team: string, user: string): string {
  return `slack:${team}/${user}`;
}

/** Names of callers that are no person; the audit would show both as one. */
const NOBODIES: ReadonlySet<string> = new Set(["socket", "step", "plugin", "cron", "files"]);

/** The kind `Person`. */
export const person: AnyKind = defineKind<PersonSpec>(PERSON_KIND, {
  summary: "Somebody who answers approvals and holds tokens: a role, groups, and identities.",
  spec: PersonSpec,
  checks: [({ is = [] }) => checkIdentities(is)],
  checkName: (name) =>
    NOBODIES.has(name)
      ? [errorAt(["metadata", "name"], `"${name}" names a caller that is nobody: choose another`)]
      : [],
  columns: [
    { header: "ROLE", cell: ({ spec }) => spec.role },
    { header: "GROUPS", fit: "text", cell: ({ spec }) => (spec.groups ?? []).join(",") },
    { header: "IS", fit: "text", cell: ({ spec }) => (spec.is ?? []).join(",") },
  ],
});

function checkIdentities(identities: readonly string[]): Finding[] {
  const at = (index: number): FieldPath => ["spec", "is", index];
  return identities.flatMap((identity, index) => {
    if (identities.indexOf(identity) < index) return [errorAt(at(index), "Stands here twice")];
    const fault = identityFault(identity);
    return fault === undefined ? [] : [errorAt(at(index), fault)];
  });
}

/** What is wrong with an identity; `undefined` if nothing is. */
export function identityFault(identity: string): string | undefined {
  const colon = identity.indexOf(":");
  const name = identity.slice(0, Math.max(colon, 0));
  const form = Object.hasOwn(IDENTITIES, name) ? IDENTITIES[name] : undefined;
  if (form === undefined) {
    const known = Object.keys(IDENTITIES).map((one) => `${one}:`).join(", ");
    return `Expected an identity that begins with one of ${known}`;
  }
  if (form.pattern.test(identity.slice(colon + 1))) return undefined;
  return `Expected an identity such as ${form.example}: ${form.because}`;
}

/** An identity of a Person of an apply, and its place in the input. */
export interface PlacedIdentity {
  readonly name: string;
  readonly identity: string;
  /** Beginning of an error: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/**
 * The errors of `applied` identities that another of `persons`, all that exist after the apply, has
 * as well: nobody could tell which of the two comes with it.
 */
export function identityErrors(
  applied: readonly PlacedIdentity[],
  persons: readonly Resource<PersonSpec>[],
): string[] {
  if (applied.length === 0) return [];
  const owners = new Map<string, string[]>();
  for (const { name, spec: { is = [] } } of persons) {
    for (const identity of is) owners.set(identity, [...owners.get(identity) ?? [], name]);
  }
  return applied.flatMap(({ name, identity, place }) => {
    const other = owners.get(identity)?.find((one) => one !== name);
    if (other === undefined) return [];
    return [
      `${place}"${identity}" is person/${other} already: take it away there first, or in the same ` +
      "apply",
    ];
  });
}
