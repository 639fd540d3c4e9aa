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

/**
 * Clears the references of `request` to its headers and to the parts of its body. To be called when
 * the headers have been read and the body has been read to its end.
 */
export function releaseRequest(request: Request): void {
  const inside = request as unknown as WithSymbols;
  const symbols = Object.getOwnPropertySymbols(request);
  const isKeptAlive = symbols.some((symbol) => typeof inside[symbol] === "function");
  if (!isKeptAlive) return;
  const { headers, body } = request;
  // The property `headers` stays usable: its getter makes new headers where there are none.
  for (const symbol of symbols) if (inside[symbol] === headers) inside[symbol] = undefined;
  if (body !== null) clearObjects(body as unknown as WithSymbols);
}

/** Clears the reader and the controller of a stream at its end; the stream's state is no object. */
function clearObjects(stream: WithSymbols): void {
  for (const symbol of Object.getOwnPropertySymbols(stream)) {
    if (typeof stream[symbol] === "object") stream[symbol] = undefined;
  }
}
