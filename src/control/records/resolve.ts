/**
 * Finds the whole id of a record from a text that a person typed: the id, a part of it, `task/ID`
 * as it is printed, or `latest`. The control server puts whole ids into every input that names a
 * record, so that operations and checks of rights see nothing else.
 *
 * @module
 */

import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { findLike } from "../../base/similar_names.ts";
import {
  findRecordName,
  isNumbered,
  RECORD_NAMES,
  type RecordName,
} from "../../resources/record_names.ts";
import type { IdSearch } from "../../store/id_search.ts";
import type { RecordStore, RecordType } from "./record_type.ts";

/** The records of a daemon. */
export interface ResolveHost {
  readonly store: RecordStore & IdSearch;
  readonly clock: { readonly now: () => number };
}

/** Names the newest record. */
const LATEST = "latest";

/** Number of the newest ids that are searched for a part other than a beginning. */
const SEARCHED_IDS = 10_000;

/** Most records whose names are compared with a misspelt one. */
const MAX_NAMED = 1000;

/** Most records that the refusal of an ambiguous text lists. */
const MAX_SHOWN = 5;

/**
 * The id that `given` names.
 *
 * @throws {AppError} `not_found`; `usage` when it names several, or a record of another type.
 */
export async function resolveId(
  type: RecordType<unknown>,
  given: string,
  host: ResolveHost,
): Promise<string> {
  const part = withoutType(given, type.name);
  if (!isNumbered(type.name)) return await idOfNamed(type, part, host);
  if (part.toLowerCase() === LATEST) return await latestId(type, host);
  const wanted = part.toUpperCase();
  if (!/^[0-9A-Z]{1,64}$/.test(wanted)) throw notFound(type.name, given);
  const found = await host.store.findIds(type.name, wanted, {
    limit: MAX_SHOWN + 1,
    newest: SEARCHED_IDS,
  });
  const [first, second] = found;
  if (first === undefined) throw notFound(type.name, given);
  if (second === undefined || first === wanted) return first;
  throw await ambiguous(type, { given, ids: found }, host);
}

/**
 * Takes the type from `task/ID`.
 *
 * @throws {AppError} `usage` for a record of another type, `not_found` for any other text before
 * the slash.
 */
function withoutType(given: string, wanted: RecordName): string {
  const at = given.indexOf("/");
  const name = at === -1 ? wanted : findRecordName(given.slice(0, at));
  if (name === undefined) throw notFound(wanted, given);
  if (name === wanted) return given.slice(at + 1);
  throw new AppError(
    "usage",
    `"${given}" does not name a ${wanted}: give its id, a part of it, or ${wanted}/ID`,
  );
}

/** The id of a record that has a name. */
async function idOfNamed(
  type: RecordType<unknown>,
  name: string,
  { store }: ResolveHost,
): Promise<string> {
  const [row] = await type.find(store, name);
  if (row !== undefined) return type.id(row);
  const meant = findLike(name, (await type.list(store, { limit: MAX_NAMED })).map(type.id));
  const remedy = meant === undefined
    ? `"svc get ${RECORD_NAMES[type.name]}" lists them`
    : `did you mean "${meant}"?`;
  throw new AppError("not_found", `No ${type.name} "${name}": ${remedy}`);
}

async function latestId(type: RecordType<unknown>, { store }: ResolveHost): Promise<string> {
  const [row] = await type.list(store, { limit: 1 });
  if (row !== undefined) return type.id(row);
  throw new AppError("not_found", `There is no ${type.name} yet`);
}

function notFound(name: RecordName, given: string): AppError {
  const few = SEARCHED_IDS.toLocaleString("en");
  return new AppError(
    "not_found",
    `No ${name} "${given}": "svc get ${RECORD_NAMES[name]}" lists them; an id is found by its ` +
      `beginning, and among the newest ${few} by 4 or more characters of its end`,
  );
}

async function ambiguous(
  type: RecordType<unknown>,
  { given, ids }: { readonly given: string; readonly ids: readonly string[] },
  { store, clock }: ResolveHost,
): Promise<AppError> {
  const shown = ids.slice(0, MAX_SHOWN);
  const rows = (await Promise.all(shown.map((id) => type.find(store, id)))).flat();
  const count = ids.length > MAX_SHOWN ? `More than ${MAX_SHOWN}` : String(ids.length);
  const message = `${count} ${RECORD_NAMES[type.name]} match "${given}": give more of the id, ` +
    "or its end, which differs most";
  return new AppError("usage", message, {
    details: rows.map((row) => describeRow(type, row, clock.now())),
  });
}

/** `task/ID  github-push  failed  2m ago`. */
function describeRow(type: RecordType<unknown>, row: unknown, now: number): string {
  const view = type.view(row);
  const at = Date.parse(String(view["received_at"] ?? view["created_at"]));
  const about = ["trigger", "name", "state", "outcome", "result"].map((field) => view[field])
    .filter((value) => typeof value === "string" && value !== "");
  const age = Number.isNaN(at) ? [] : [`${shortDuration(now - at)} ago`];
  return [`${type.name}/${type.id(row)}`, ...about, ...age].join("  ");
}
