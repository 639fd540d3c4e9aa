/**
 * Several lists as one answer of `svc get`: finds the lists that a command line names, and joins
 * them. Pure.
 *
 * @module
 */

import type { Listing } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";

/** A whole list, or its entry of this name. */
export interface Selection {
  readonly what: string;
  /** Empty for a list. */
  readonly name: string;
}

/**
 * The lists and entries of `KIND[,KIND...] [NAME...]` or `KIND/NAME [KIND/NAME...]`.
 *
 * @throws {AppError} `usage` when the two are mixed.
 */
export function toSelection(first: string, rest: readonly string[]): readonly Selection[] {
  if (first.includes("/")) {
    return [first, ...rest].map((text) => {
      const at = text.indexOf("/");
      if (at > 0 && at < text.length - 1) {
        return { what: text.slice(0, at), name: text.slice(at + 1) };
      }
      throw new AppError(
        "usage",
        `"${text}" is not KIND/NAME: use KIND/NAME for each, or KIND NAME...`,
      );
    });
  }
  const slash = rest.find((name) => name.includes("/"));
  if (slash !== undefined) {
    throw new AppError("usage", `Give the kind only once: ${first} NAME, or ${slash}`);
  }
  const kinds = first.split(",").map((kind) => kind.trim()).filter((kind) => kind !== "");
  if (kinds.length === 0) throw new AppError("usage", "KIND is missing: svc get KIND [NAME...]");
  return kinds.flatMap((what) =>
    rest.length === 0 ? [{ what, name: "" }] : rest.map((name) => ({ what, name }))
  );
}

/** The lists of one kind as one, in their order. */
export function joinListings(listings: readonly Listing[]): Listing {
  const [first] = listings;
  return {
    columns: first?.columns ?? [],
    items: listings.flatMap(({ items }) => items),
    names: listings.flatMap(({ names }) => names),
    rows: listings.flatMap(({ rows }) => rows),
  };
}

/** The list with `kind/name` in its first column, so that lists of several kinds can be told apart. */
export function withKinds(listing: Listing): Listing {
  const { columns: [first, ...columns], items, names, rows } = listing;
  if (first === undefined) return listing;
  return {
    items,
    names,
    columns: [{ header: first.header, wide: first.wide, fit: "name" }, ...columns],
    rows: rows.map(([, ...cells], at) => [names[at] ?? "", ...cells]),
  };
}
