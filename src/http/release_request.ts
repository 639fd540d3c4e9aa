/**
 * Makes a request that has been read whole let go of its headers and its body. In Deno 2.7 all that
 * a Request holds stays for the next full collection, for which all requests wait: 4 KB for each
 * request. Why that is so is in `docs/decisions/0002-old-garbage.md`.
 *
 * @module
 */

/** What objects of the runtime keep under symbols of theirs. */
type Kept = Record<symbol, unknown>;

/**
 * To be called when the headers of `request` have been taken and its body has been read to the end.
 * Does nothing where a Request has no function of its own, as in Deno 2.9.
 */
export function releaseRequest(request: Request): void {
  const own = request as unknown as Kept;
  const keys = Object.getOwnPropertySymbols(request);
  if (!keys.some((key) => typeof own[key] === "function")) return;
  const { headers, body } = request;
  for (const key of keys) {
    if (own[key] === headers) own[key] = undefined; // a getter that is called again makes new ones
  }
  if (body !== null) empty(body as unknown as Kept);
}

/** Takes reader and controller from a stream that is at its end; its state stays. */
function empty(stream: Kept): void {
  for (const key of Object.getOwnPropertySymbols(stream)) {
    if (typeof stream[key] === "object") stream[key] = undefined;
  }
}
