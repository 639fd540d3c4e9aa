/**
 * Decides what an answer to a question of an approval means. Whatever is not known counts as "no": who
 * cannot be told from those who started the task does not approve it.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  AnswerResult,
  AskedAnswer,
  AskedApproval,
  AskedField,
  Somebody,
  Starter,
  StoredAnswer,
} from "../approval_records.ts";
import type { AnsweredEnd, EndedWait } from "../wait_records.ts";

/** Digits of a digest that people read and type. */
export const SHORT_DIGEST = 8;

/** The beginning of a digest, which people read and type. */
export function shortDigest(digest: string): string {
  return digest.slice(0, SHORT_DIGEST);
}

/** How people have decided, on one line: `rejected by ada: not today`. */
export function howDecided({ answer, who, comment, forced }: AnsweredEnd): string {
  const why = forced === undefined ? comment : `forced: ${forced}`;
  const said = why.trim().replace(/\s+/g, " ");
  return `${answer} by ${who.join(" and ")}${said === "" ? "" : `: ${said}`}`;
}

/**
 * A text of a question or an answer as every database keeps it, so that what is shown, sealed and handed on
 * is the same: NUL as its sign, half a surrogate pair as U+FFFD.
 */
export function keptText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\u2400");
}

/** The facts about a question and an answer to it. */
export interface AnswerFacts {
  readonly asked: AskedApproval;
  /** The answers that count already. */
  readonly answers: readonly StoredAnswer[];
  /** How the question ended; absent while it is open. */
  readonly end?: EndedWait;
  readonly answer: AskedAnswer;
}

/** What is done with an answer: what its giver is told, and what is stored. */
export interface AnswerDecision {
  readonly result: AnswerResult;
  /** Absent if the answer changes nothing. */
  readonly stored?: StoredAnswer;
}

/**
 * Those of the answers that count: a Person who was deleted may be there again under another name, and
 * would count as two.
 */
export function answersThatCount(
  answers: readonly StoredAnswer[],
  { gone }: Pick<AskedAnswer, "gone">,
): StoredAnswer[] {
  return answers.filter(({ key }) => !gone.includes(key));
}

/** Decides about an answer; the first reason against it is told. */
export function decideAnswer({ asked, answers, end, answer }: AnswerFacts): AnswerDecision {
  const approvals = answers.filter((one) => one.answer === "approved");
  const counts = { given: approvals.length, need: asked.need };
  const same = answers.find((one) => isSame(one, answer));
  if (same?.answer === answer.answer && (end !== undefined || repeats(answer.fields, same))) {
    return { result: { is: "repeated", answer: same.answer, ...counts, ...defined({ end }) } };
  }
  if (end !== undefined) return { result: { is: "was over", end } };
  const why = answer.forced === undefined ? whyNotAllowed(asked, answers, answer) : undefined;
  if (why !== undefined) return { result: { is: "not allowed", why } };
  if (!isDigest(answer.digest, asked.digest)) {
    return { result: { is: "other digest", digest: asked.digest } };
  }
  const fields = fill(asked.fields, answer);
  if (typeof fields === "string") return { result: { is: "wrong fields", why: fields } };
  const stored = toStored(answer, fields);
  if (answer.answer === "rejected") return { result: { is: "over", answer: "rejected" }, stored };
  const other = approvals.find((one) => otherField(one.fields, fields) !== undefined);
  if (other !== undefined && answer.forced === undefined) {
    const name = otherField(other.fields, fields);
    const what = `${other.called} has approved with another value of "${name}"`;
    return { result: { is: "wrong fields", why: `${what}: give the same one, or reject` } };
  }
  const given = counts.given + 1;
  return given >= asked.need || answer.forced !== undefined
    ? { result: { is: "over", answer: "approved" }, stored }
    : { result: { is: "counted", given, need: asked.need }, stored };
}

const repeats = (fields: AskedAnswer["fields"], { fields: before }: StoredAnswer) =>
  Object.entries(fields).every(([name, value]) => before[name] === value);

/** Whether a text is a digest, or enough of its beginning that nobody finds another one for it. */
export function isDigest(given: string, digest: string): boolean {
  return given.length >= SHORT_DIGEST && digest.startsWith(given.toLowerCase());
}

/** Why an answer does not count; `undefined` if it does. */
function whyNotAllowed(
  { by, fourEyes, need }: AskedApproval,
  answers: readonly StoredAnswer[],
  answer: AskedAnswer,
): string | undefined {
  const { called, startedBy } = answer;
  if (!answer.mayBy.some((entry) => by.includes(entry))) {
    return `${called} is not among those who may answer: ${by.join(", ")}`;
  }
  const self = fourEyes ? startedBy.find((one) => isSame(one, answer)) : undefined;
  if (self !== undefined) {
    return `${called} has ${self.did} the task, and somebody else has to look at it`;
  }
  const earlier = need > 1 && answer.answer === "approved" ? answers : [];
  const others = [
    ...fourEyes ? startedBy : [],
    ...earlier.map((one) => ({ ...one, did: "approved" as const })),
  ];
  const unclear = others.find((one) => !isSame(one, answer) && !areDistinct(one, answer));
  if (unclear === undefined) return undefined;
  const what = unclear.did === "approved" ? "approved already" : `${unclear.did} the task`;
  return `It cannot be told whether ${called} is somebody else than ${unclear.called}, who has ` +
    `${what}: ${lineToAdd(unclear, answer)}`;
}

/** What to do so that two can be told apart. */
function lineToAdd(
  one: Pick<Starter, "person" | "identity" | "called" | "isGone">,
  answer: AskedAnswer,
): string {
  if (one.isGone === true) {
    return `that Person was deleted since. Reject it, and have the task started anew`;
  }
  const nobody = [one, answer].find((who) =>
    who.person === undefined && who.identity === undefined
  );
  if (nobody !== undefined) {
    return `${nobody.called} is nobody in particular; a Person has a token of her own ` +
      "(svc token create --person NAME)";
  }
  const unknown = one.person === undefined ? one.identity : answer.identity;
  return `apply a Person with is: ["${unknown}"]`;
}

/** Whether both are known to be the same. */
function isSame({ person, identity }: Somebody, answer: AskedAnswer): boolean {
  if (person !== undefined && person === answer.person) return true;
  if (identity === undefined) return false;
  return identity === answer.identity || answer.identities.includes(identity);
}

/**
 * Whether two who are not known to be the same are known to be different: two Persons, or two users of
 * one platform.
 */
function areDistinct(one: Somebody, other: Somebody): boolean {
  if (one.person !== undefined && other.person !== undefined) return true;
  const [a, b] = [one.identity, other.identity];
  return a !== undefined && b !== undefined && platformOf(a) === platformOf(b);
}

/** The part of an identity that says who vouches for it: `github`, `slack:T01`, `gitlab:git.example.com`. */
function platformOf(identity: string): string {
  const slash = identity.lastIndexOf("/");
  return slash === -1 ? identity.slice(0, identity.indexOf(":")) : identity.slice(0, slash);
}

/** The values of all fields; what is wrong with them instead, as the start of a sentence. */
function fill(
  asked: AskedApproval["fields"],
  { answer, fields }: AskedAnswer,
): Readonly<Record<string, string>> | string {
  const known = Object.keys(asked);
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const those = known.length === 0 ? "it has none" : `its fields are ${known.join(", ")}`;
    return `The question has no field "${unknown}": ${those}`;
  }
  const filled: Record<string, string> = {};
  for (const [name, field] of Object.entries(asked)) {
    const value = fields[name] ?? field.default;
    if (value === undefined) {
      if (answer === "approved") {
        return `The field "${name}" has no value: give it ${hint(name, field)}`;
      }
      continue;
    }
    const fault = faultOf(value, field);
    if (fault !== undefined) return `The field "${name}" ${fault}`;
    filled[name] = value;
  }
  return filled;
}

const hint = (name: string, { of = [] }: AskedField) => `with --set ${name}=${of[0] ?? "…"}`;

/** Most bytes of a value. */
export const MAX_FIELD_BYTES = 64 * 1024;

function faultOf(value: string, { of }: AskedField): string | undefined {
  if (of !== undefined && !of.includes(value)) return `takes one of ${of.join(", ")}`;
  const isLong = new TextEncoder().encode(value).length > MAX_FIELD_BYTES;
  return isLong ? "takes at most 64 KiB" : undefined;
}

/** The first field with another value. */
function otherField(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): string | undefined {
  return Object.keys({ ...a, ...b }).find((name) => a[name] !== b[name]);
}

function toStored(
  { key, called, surface, answer, comment, now, personSince = now, ...others }: AskedAnswer,
  fields: StoredAnswer["fields"],
): StoredAnswer {
  const { person, identity, forced } = others;
  const who = defined({ person, identity, forced });
  // If the clock was set back, the answer would be older than its Person, and so of another one.
  const at = Math.max(now, personSince);
  return { key, called, at, surface, answer, comment, fields, ...who };
}
