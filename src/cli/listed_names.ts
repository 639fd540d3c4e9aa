/**
 * The names that `svc get` lists, for help and for suggestions: the kinds of
 * `resources/kind_names.ts`, and the types of records. Only the daemon knows the kinds of
 * CustomResourceDefinitions.
 *
 * @module
 */

import { KIND_NAMES as NAMES } from "../resources/kind_names.ts";
import { BUDGETS, RECORD_NAMES } from "../resources/record_names.ts";
import type { ListedName } from "./suggest.ts";

/** Kinds of resources, under every name. */
export const KIND_NAMES: readonly ListedName[] = Object.entries(NAMES)
  .map(([kind, { plural, shortNames }]) => ({
    plural,
    names: [plural, kind.toLowerCase(), ...shortNames],
  }));

/** Types of records, and budgets, under both names. */
export const RECORD_TYPE_NAMES: readonly ListedName[] = [
  ...Object.entries(RECORD_NAMES),
  [BUDGETS.singular, BUDGETS.plural] as const,
].map(([singular, plural]) => ({ plural, names: [plural, singular] }));

/** The plurals of the kinds of resources. */
export const KIND_PLURALS: readonly string[] = KIND_NAMES.map(({ plural }) => plural);

/** The plurals of kinds and of types of records. */
export const PLURALS: readonly string[] = [
  ...RECORD_TYPE_NAMES.map(({ plural }) => plural),
  ...KIND_PLURALS,
];

/** The names of kinds and of types of records. */
export const LISTED_NAMES: readonly ListedName[] = [...KIND_NAMES, ...RECORD_TYPE_NAMES];
