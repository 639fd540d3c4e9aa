/**
 * Fence around a fault of the runtime: Deno 2.7 assigns a function to each Request, which keeps
 * headers and body alive until the next full collection of garbage (4 KB for each request, and all
 * requests wait for that collection). `docs/decisions/0002-old-garbage.md` has the reason and the
 * figures.
 *
 * Checked with Deno 2.7.11, which needs it, and with 2.9.6, which assigns no such function, so that
 * nothing is done. `tests/http/garbage_test.ts` measures what stays of a request.
 *
 * @module
 */

/** An object whose private symbols are read and cleared. No symbol is known by its name. */
type WithSymbols = Record<symbol, unknown>;

/** The symbols of Deno's that hold what is cleared. */
interface Symbols {
  /** The function that keeps the others alive. */
  readonly getHeaders: symbol;
  readonly headers: symbol;
  /** Of a body: all that can hold objects. */
  readonly ofBody: readonly symbol[];
}

/** Found once: to look for them takes 1.5 µs. */
let found: Symbols | undefined;

/**
 * Clears the references of `request` to its headers and to the parts of its body. To be called when
 * the headers have been read and the body has been read to its end.
 */
export function releaseRequest(request: Request): void {
  const inside = request as unknown as WithSymbols;
  found ??= findSymbols(request);
  if (found === undefined || typeof inside[found.getHeaders] !== "function") return;
  const { body } = request;
  inside[found.headers] = undefined; // the getter of `headers` makes new ones where there are none
  if (body === null) return;
  const stream = body as unknown as WithSymbols;
  for (const symbol of found.ofBody) stream[symbol] = undefined;
}

/** The symbols, as a request with a body shows them; `undefined` where it has no such function. */
function findSymbols(request: Request): Symbols | undefined {
  const inside = request as unknown as WithSymbols;
  const { headers: made, body } = request;
  if (body === null) return undefined;
  const symbols = Object.getOwnPropertySymbols(request);
  const getHeaders = symbols.find((symbol) => typeof inside[symbol] === "function");
  const headers = symbols.find((symbol) => inside[symbol] === made);
  if (getHeaders === undefined || headers === undefined) return undefined;
  const stream = body as unknown as WithSymbols;
  const ofBody = Object.getOwnPropertySymbols(body)
    .filter((symbol) => typeof stream[symbol] === "object" || stream[symbol] === undefined);
  return { getHeaders, headers, ofBody };
}
