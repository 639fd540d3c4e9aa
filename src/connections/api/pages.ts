/**
 * The pages of a list, one after the other, with an end whatever the server says: a list that is
 * endless, returns to an earlier page or is too slow must not keep a caller waiting for ever.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";

/** Most pages of a list, and the longest time for all of them. */
const MOST = { pages: 100, withinMs: 60_000 };

/** Thrown for a list without an end, or with more pages than svc reads. */
export class EndlessListError extends AppError {
  constructor(message: string) {
    super("refused", message);
  }
}

/** Reads the pages of a list. */
export interface PageReading<Page> {
  /** Reads a page; its `next` is the path of the page after it, absent on the last one. */
  readonly read: (path: string) => Promise<Page>;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Other bounds than {@linkcode MOST}, for a list that is long by nature. */
  readonly most?: typeof MOST;
}

/**
 * Yields pages until there is no next one.
 *
 * @throws {EndlessListError} if there are too many pages, or a page comes twice.
 * @throws {AppError} `overloaded` if they take too long, and what `read` throws.
 */
export async function* pagesOf<Page>(
  first: string,
  { read, clock, most = MOST }: PageReading<Page>,
): AsyncGenerator<Page> {
  const seen = new Set<string>();
  const started = clock.monotonicMs();
  for (let path: string | undefined = first; path !== undefined;) {
    const [what] = path.split("?");
    if (seen.has(path)) {
      throw new EndlessListError(`The list ${what} returns to an earlier page`);
    }
    if (seen.size >= most.pages) {
      throw new EndlessListError(`The list ${what} has more than ${most.pages} pages`);
    }
    if (clock.monotonicMs() - started >= most.withinMs) {
      const secs = most.withinMs / 1000;
      throw new AppError("overloaded", `The list ${what} took more than ${secs} seconds to read`);
    }
    seen.add(path);
    const page: Page = await read(path);
    yield page;
    path = nextOf(page);
  }
}

function nextOf(page: unknown): string | undefined {
  return typeof page === "object" && page !== null && "next" in page &&
      typeof page.next === "string"
    ? page.next
    : undefined;
}
