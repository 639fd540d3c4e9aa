/**
 * `svc get deliveries --unknown`: the paths of requests for which there is no trigger.
 *
 * @module
 */

import type { Listing } from "../../api/resource_operations.ts";
import type { Status } from "../../api/status_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { UnknownPath } from "../../intake/unknown_paths.ts";
import type { Column } from "../../resources/kind.ts";
import { table } from "./views.ts";

/** The listing of `svc get`. */
export function unknownPathsListing(paths: readonly UnknownPath[], now: number): Listing {
  const columns: Column<UnknownPath>[] = [
    { header: "METHOD", cell: ({ method }) => method },
    { header: "PATH", fit: "name", cell: ({ path }) => path },
    { header: "COUNT", cell: ({ count }) => String(count) },
    { header: "LAST", cell: ({ lastAt }) => shortDuration(now - lastAt) },
    { header: "FROM", secondary: true, cell: ({ remote }) => remote },
    {
      header: "DID YOU MEAN",
      fit: "name",
      cell: ({ meant }) => meant === undefined ? "" : `POST ${meant}`,
    },
    { header: "FIRST", wide: true, cell: ({ firstAt }) => shortDuration(now - firstAt) },
  ];
  return {
    items: paths.map(view),
    names: paths.map(({ path }) => path),
    ...table(paths, columns, undefined),
  };
}

/** The unknown paths in `svc status`, without their senders. */
export function unknownPathsSummary(paths: readonly UnknownPath[]): Status["unknown_paths"] {
  return paths.map(({ method, path, count, lastAt, meant }) => (
    { method, path, count, last_at: rfc3339(lastAt), did_you_mean: meant ?? null }
  ));
}

function view(one: UnknownPath): Record<string, unknown> {
  return {
    method: one.method,
    path: one.path,
    count: one.count,
    first_at: rfc3339(one.firstAt),
    last_at: rfc3339(one.lastAt),
    remote: one.remote,
    did_you_mean: one.meant ?? null,
  };
}
