/**
 * Fence around an internal function of the runtime: `Deno[Deno.internal].serveHttpOnConnection`, which
 * serves HTTP on a single connection. Deno does not promise to keep it, so each start tries it on a
 * loopback connection first. `docs/decisions/0001-accept-loop.md` says why it is used.
 *
 * Checked with Deno 2.7.11 and 2.9.6. `tests/http/serve_test.ts` runs servers with it and without it.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import { StopSignal } from "./stop_signal.ts";

/** The second argument of Deno's handlers, as far as it is used here. */
export interface RequestInfo {
  /** Settles when Deno has the whole answer, or can no longer get it. */
  readonly completed: Promise<void>;
}

/** Handles one request of a connection. */
export type Answer = (request: Request, info: RequestInfo) => Response | Promise<Response>;

/** Handles a request; `peer` is the sender's address without its port, empty on a Unix socket. */
export type PeerHandler = (request: Request, peer: string) => Response | Promise<Response>;

/** Makes the response to a request whose {@linkcode Answer} threw this error. */
export type AnswerError = (error: unknown) => Response;

/** A connection on which HTTP is served. */
export interface ServedConnection {
  /** Resolves when either side has closed the connection; never rejects. */
  readonly closed: Promise<void>;
  /** Closes the connection at once; does nothing when it is closed. */
  cut(): void;
}

/**
 * Serves HTTP on a connection, which the caller must not use any more.
 *
 * @throws {Error} when the connection is gone already.
 */
export type ServeConnection = (
  connection: Deno.Conn,
  answer: Answer,
  onError: AnswerError,
) => ServedConnection;

/** The type of Deno's function, which Deno does not declare. */
type Entry = (
  connection: Deno.Conn,
  signal: AbortSignal,
  answer: Answer,
  onError: AnswerError,
  onListen: () => void,
) => { readonly finished: Promise<void> };

/** Longest time of the trial. */
const TRIAL_MS = 5000;

/**
 * Deno's server for a single connection, or why this Deno has none that can be used. A function of that
 * name is not enough: in the trial it has to answer a request, and to close a connection on demand.
 */
export async function findConnectionServer(): Promise<ServeConnection | { readonly lack: string }> {
  const internals: unknown = Reflect.get(Deno, Reflect.get(Deno, "internal") ?? "internal");
  const entry: unknown = typeof internals === "object" && internals !== null
    ? Reflect.get(internals, "serveHttpOnConnection")
    : undefined;
  if (typeof entry !== "function") return { lack: "serveHttpOnConnection is missing" };
  const serveConnection = serverOf(entry as Entry);
  try {
    await tryOut(serveConnection);
    return serveConnection;
  } catch (error) {
    return { lack: messageOf(error) };
  }
}

function serverOf(entry: Entry): ServeConnection {
  return (connection, answer, onError) => {
    const stop = new StopSignal();
    const { finished } = entry(connection, stop.signal, answer, onError, () => {});
    return { closed: finished.catch(() => {}), cut: () => stop.fire() };
  };
}

/** The trial, over loopback: one request is answered, and the connection is cut. */
async function tryOut(serveConnection: ServeConnection): Promise<void> {
  const patience = new AbortController();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  const accepted = await listener.accept();
  try {
    const completed = Promise.withResolvers<void>();
    const served = serveConnection(accepted, (request, info) => {
      info.completed.then(completed.resolve);
      return new Response(new URL(request.url).pathname);
    }, () => new Response(null, { status: 500 }));
    const answered = ask(client).then(() => completed.promise).then(() => true);
    const late = systemClock.pause(TRIAL_MS, patience.signal);
    if (await Promise.race([answered, served.closed, late]) !== true) throw new Error("No answer");
    served.cut();
    if (await client.read(new Uint8Array(1)).catch(() => null) !== null) throw new Error("Not cut");
    await Promise.race([served.closed, late]);
  } finally {
    patience.abort();
    close(accepted);
  }
}

/** Asks for `/trial` and reads until the path comes back. */
async function ask(client: Deno.Conn): Promise<void> {
  await client.write(new TextEncoder().encode("GET /trial HTTP/1.1\r\nhost: localhost\r\n\r\n"));
  const buffer = new Uint8Array(1024);
  for (let text = ""; !text.endsWith("/trial");) {
    const read = await client.read(buffer);
    if (read === null) throw new Error("Closed without an answer");
    text += new TextDecoder().decode(buffer.subarray(0, read));
  }
}

/** Closes a connection if Deno's server has not taken it over: it would stay open. */
function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Deno's server has taken it over, as it should.
  }
}
