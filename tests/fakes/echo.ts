/**
 * A server whose answers the test makes from the request: some platforms repeat a request in their
 * errors.
 *
 * @module
 */

/** A request that arrived. */
export interface EchoRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The `Authorization` header without `Bearer`. */
  readonly token: string;
  readonly body: string;
}

/** A stand-in for any platform. */
export interface Echo extends AsyncDisposable {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** Every request so far. */
  readonly sent: readonly EchoRequest[];
  /** Makes the answer to a request: a `Response`, or its JSON. */
  answer: (sent: EchoRequest) => unknown;
}

export function echo(answer: Echo["answer"]): Echo {
  const ended = new AbortController();
  const all: EchoRequest[] = [];
  const one = { answer };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const sent = {
        method: request.method,
        path: `${pathname}${search}`,
        token: (request.headers.get("authorization") ?? "").replace(/^Bearer /, ""),
        body: await request.text(),
      };
      all.push(sent);
      const given = one.answer(sent);
      return given instanceof Response ? given : Response.json(given);
    },
  );
  return Object.assign(one, {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    sent: all,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  });
}
