/**
 * The signature doctor finds out why a request was refused: it tries the usual mistakes one by one,
 * then in pairs, and reports those that would explain the refusal. Its answers could serve an
 * attacker as an oracle, so only operators get them. It decides nothing, and never shows a secret
 * or an expected signature.
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

/** A change that would make a refused request valid. */
export interface Diagnosis {
  /** The mistake; for a pair, the first of the two. */
  readonly cause: Cause;
  readonly message: string;
}

/** A refused request; `url` is the URL that was checked, empty if unknown. */
export type RefusedRequest = Omit<SignedRequest, "header"> & {
  /** URL as it arrived, which `publicUrl` may have replaced; empty if unknown. */
  readonly arrivedUrl: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** The stores and schemes that the doctor may try. */
export interface Candidates {
  /** The stores of the project, with the trigger's own. */
  readonly stores: readonly StoreKeys[];
  /** Every scheme that a manifest can name. */
  readonly schemes: readonly Scheme[];
}

/** The settings of the trigger. */
export interface Expected {
  readonly scheme: Scheme;
  readonly options: SchemeOptions;
  /** Name of its SecretStore. */
  readonly store?: string;
}

/** Mistakes, the likeliest first, also in pairs. */
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

/**
 * Most attempts, so that a diagnosis takes at most about a second, however many headers, keys and
 * stores exist.
 */
const MAX_ATTEMPTS = 3000;
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_STORES = 50;
const MAX_KEYS = 100;
const MAX_PAIRS = 3;

/**
 * Finds changes that would make a refused request valid, the likeliest first and at most one for
 * each type of mistake; none when no known mistake explains the refusal.
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
  const { body, headers, url, arrivedUrl, now } = request;
  const { scheme, options } = expected;
  const keys = stores.find(isOwn)?.keys.slice(0, MAX_KEYS) ?? [];
  const asItIs: Attempt = { body, headers, url, arrivedUrl, now, keys, scheme, options };

  const budget = new Budget();
  const key = await budget.findKey(asItIs);
  if (key !== undefined) {
    const message =
      `With the current trigger and secrets the request passes (key "${key}"): send it again`;
    return [{ cause: "passes_now", message }];
  }
  const alone = await findAlone(asItIs, around, budget);
  return alone.length > 0 ? alone : await findPairs(asItIs, around, budget);
}

/** Finds single mistakes that explain the refusal. */
async function findAlone(asItIs: Attempt, around: Surroundings, budget: Budget) {
  const diagnoses = new Map<Cause, Diagnosis>();
  for (const mistake of MISTAKES) {
    for (const suspicion of mistake(asItIs, around)) {
      if (diagnoses.has(suspicion.cause)) continue;
      const message = await budget.findMessage(suspicion);
      if (message !== undefined) {
        diagnoses.set(suspicion.cause, { cause: suspicion.cause, message });
      }
    }
  }
  return [...diagnoses.values()];
}

/**
 * Finds pairs of mistakes that explain the refusal together; ordered, so that no pair occurs twice.
 */
async function findPairs(asItIs: Attempt, around: Surroundings, budget: Budget) {
  const diagnoses: Diagnosis[] = [];
  for (const [index, mistake] of MISTAKES.entries()) {
    for (const first of mistake(asItIs, around)) {
      for (const later of MISTAKES.slice(index + 1)) {
        for (const second of later(first.attempt, around)) {
          if (diagnoses.length >= MAX_PAIRS || budget.isSpent) return diagnoses;
          const key = await budget.findKey(second.attempt);
          if (key === undefined) continue;
          const message = `${first.message(key)}. And: ${second.message(key)}`;
          diagnoses.push({ cause: first.cause, message });
        }
      }
    }
  }
  return diagnoses;
}

/** Tries attempts until the limits are reached. */
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
    // Without a URL, a scheme over URL and body looks like one over the body alone.
    if (attempt.url === "" && signsUrl(scheme, options)) return undefined;
    this.#attempts--;
    this.#bytes -= attempt.body.length * keys.length;
    const header = (name: string) => headerOf(attempt, name);
    const verdict = await scheme.verify({ ...attempt, header }, keys, options);
    return verdict.ok ? verdict.keyName : undefined;
  }

  /** The message of a suspicion whose attempt is valid. */
  async findMessage({ attempt, message }: Suspicion): Promise<string | undefined> {
    const key = await this.findKey(attempt);
    return key === undefined ? undefined : message(key);
  }
}
