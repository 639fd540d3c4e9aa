/**
 * The signature doctor: why a request was refused. Tries the usual mistakes one by one, and where
 * none explains it two at a time, and names those without which the request would pass. For the
 * operator only: an answer is as good as an oracle. Decides nothing, and never shows a secret or an
 * expected signature.
 *
 * @module
 */

import { otherBody, otherTime, otherUrl } from "./body_mistakes.ts";
import {
  otherDigest,
  otherHeader,
  otherScheme,
  otherSignedText,
  wrappedHeader,
} from "./header_mistakes.ts";
import { encodedSecret, otherStoreKey, wrappedSecret } from "./key_mistakes.ts";
import {
  type Attempt,
  type Cause,
  headerOf,
  type Mistake,
  type StoreKeys,
  type Surroundings,
  type Suspicion,
} from "./mistake.ts";
import { type Scheme, type SchemeOptions, type SignedRequest, signsUrl } from "./scheme.ts";

export type { Cause, StoreKeys };

/** What would make a refused request pass. */
export interface Diagnosis {
  /** The mistake; of two together the first. */
  readonly cause: Cause;
  /** What the operator has to change. */
  readonly message: string;
}

/** A refused request; its `url` is the one that was checked, empty where it is not known. */
export type RefusedRequest = Omit<SignedRequest, "header"> & {
  /** URL as it arrived, which `publicUrl` may have replaced; empty where it is not known. */
  readonly arrivedUrl: string;
  /** All headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
};

/** What the doctor may try in place of what the trigger asks for. */
export interface Candidates {
  /** The stores of the project; the trigger's own is the one that {@linkcode Expected} names. */
  readonly stores: readonly StoreKeys[];
  /** Every scheme that a manifest can name. */
  readonly schemes: readonly Scheme[];
}

/** What the trigger asks for. */
export interface Expected {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
  /** Its SecretStore, by the name it has among the {@linkcode Candidates}. */
  readonly store?: string;
}

/** Likeliest first; of two together the one that stands first is tried first. */
const MISTAKES: readonly Mistake[] = [
  otherHeader,
  wrappedHeader,
  otherDigest,
  otherScheme,
  otherTime,
  wrappedSecret,
  otherStoreKey,
  encodedSecret,
  otherUrl,
  otherBody,
  otherSignedText,
];

/** A request costs at most about a second, however many headers, keys and stores there are. */
const MAX_ATTEMPTS = 3000;
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_STORES = 50;
const MAX_KEYS = 100;
const MAX_PAIRS = 3;

/**
 * Which changes would make a refused request pass, likeliest first; empty when none that is known
 * does. One sentence of each sort of mistake.
 */
export async function diagnose(
  request: RefusedRequest,
  { stores, schemes }: Candidates,
  expected: Expected,
): Promise<readonly Diagnosis[]> {
  const isOwn = ({ store }: StoreKeys) => store === expected.store;
  const around: Surroundings = {
    store: expected.store,
    arrivedUrl: request.arrivedUrl,
    others: stores.filter((one) => !isOwn(one)).slice(0, MAX_STORES)
      .map(({ store, keys }) => ({ store, keys: keys.slice(0, MAX_KEYS) })),
    schemes,
  };
  const { body, headers, url, now } = request;
  const { scheme, options } = expected;
  const keys = stores.find(isOwn)?.keys.slice(0, MAX_KEYS) ?? [];
  const asItIs: Attempt = { body, headers, url, now, keys, scheme, options };

  const budget = new Budget();
  const key = await budget.findKey(asItIs);
  if (key !== undefined) {
    const message =
      `With the trigger and the secrets as they are now the request passes (key "${key}"): have it sent again`;
    return [{ cause: "passes_now", message }];
  }
  const alone = await findAlone(asItIs, around, budget);
  return alone.length > 0 ? alone : await findPairs(asItIs, around, budget);
}

/** Mistakes each of which explains it. */
async function findAlone(asItIs: Attempt, around: Surroundings, budget: Budget) {
  const found = new Map<Cause, Diagnosis>();
  for (const mistake of MISTAKES) {
    for (const suspicion of mistake(asItIs, around)) {
      if (found.has(suspicion.cause)) continue;
      const message = await budget.findMessage(suspicion);
      if (message !== undefined) found.set(suspicion.cause, { cause: suspicion.cause, message });
    }
  }
  return [...found.values()];
}

/** Two mistakes that explain it together; in the order of the list, so that no pair comes twice. */
async function findPairs(asItIs: Attempt, around: Surroundings, budget: Budget) {
  const found: Diagnosis[] = [];
  for (const [index, mistake] of MISTAKES.entries()) {
    for (const first of mistake(asItIs, around)) {
      for (const later of MISTAKES.slice(index + 1)) {
        for (const second of later(first.attempt, around)) {
          if (found.length >= MAX_PAIRS || budget.isSpent) return found;
          const key = await budget.findKey(second.attempt);
          if (key === undefined) continue;
          const message = `${first.message(key)}. And: ${second.message(key)}`;
          found.push({ cause: first.cause, message });
        }
      }
    }
  }
  return found;
}

/** Tries attempts until enough has been tried. */
class Budget {
  #attempts = MAX_ATTEMPTS;
  #bytes = MAX_BYTES;

  get isSpent(): boolean {
    return this.#attempts <= 0 || this.#bytes <= 0;
  }

  /** The key with which an attempt passes. */
  async findKey(attempt: Attempt): Promise<string | undefined> {
    const { scheme, keys, options } = attempt;
    if (this.isSpent || keys.length === 0) return undefined;
    // Over a URL that is not known, what signs URL and body looks like what signs the body alone.
    if (attempt.url === "" && signsUrl(scheme, options)) return undefined;
    this.#attempts--;
    this.#bytes -= attempt.body.length * keys.length;
    const header = (name: string) => headerOf(attempt, name);
    const verdict = await scheme.verify({ ...attempt, header }, keys, options);
    return verdict.ok ? verdict.keyName : undefined;
  }

  /** What an attempt means if it passes. */
  async findMessage({ attempt, message }: Suspicion): Promise<string | undefined> {
    const key = await this.findKey(attempt);
    return key === undefined ? undefined : message(key);
  }
}
