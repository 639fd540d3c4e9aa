/**
 * The only place that knows Deno's internal entry point for serving HTTP on one connection. It is
 * tried out on a connection of its own before anything relies on it; why it is used at all is in
 * `docs/decisions/0001-accept-loop.md`.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";

/** What Deno tells of a request beside the request. */
export interface RequestInfo {
  /** Settles when the answer is with Deno to its end, or cannot get there any more. */
  readonly completed: Promise<void>;
}

/** Answers one request. */
export type Answer = (request: Request, info: RequestInfo) => Response | Promise<Response>;

/** Turns what an {@linkcode Answer} threw into an answer. */
export type AnswerError = (error: unknown) => Response;

/** One connection that HTTP is spoken on. */
export interface ServedConnection {
  /** Settles when the connection is over, by whichever side; never rejects. */
  readonly closed: Promise<void>;
  /** Closes it now, whatever is under way; may come late, and more than once. */
  cut(): void;
}

/**
 * Speaks HTTP on a connection, which belongs to it from then on.
 *
 * @throws {Error} when the connection is gone already.
 */
export type ServeConnection = (
  connection: Deno.Conn,
  answer: Answer,
  onError: AnswerError,
) => ServedConnection;

/** Deno's function, which has no declared type. */
type Entry = (
  connection: Deno.Conn,
  signal: AbortSignal,
  answer: Answer,
  onError: AnswerError,
  onListen: () => void,
) => { readonly finished: Promise<void> };

/** Longest time the trial may take. */
const TRIAL_MS = 5000;

/**
 * What Deno offers for a single connection, or why this Deno cannot be used that way. A function of
 * that name is not enough: it has to answer a request and to close a connection when told to.
 */
export async function findConnectionServer(): Promise<ServeConnection | { readonly lack: string }> {
  const internals: unknown = Reflect.get(Deno, Reflect.get(Deno, "internal") ?? "internal");
  const entry: unknown = typeof internals === "object" && internals !== null
    ? Reflect.get(internals, "serveHttpOnConnection")
    : undefined;
  if (typeof entry !== "function") return { lack: "serveHttpOnConnection is missing" };
  const serveConnection = through(entry as Entry);
  try {
    await tryOut(serveConnection);
    return serveConnection;
  } catch (error) {
    return { lack: messageOf(error) };
  }
}

function through(entry: Entry): ServeConnection {
  return (connection, answer, onError) => {
    const stop = new StopSignal();
    const { finished } = entry(connection, stop.signal, answer, onError, () => {});
    return { closed: finished.catch(() => {}), cut: () => stop.fire() };
  };
}

/**
 * Stands in for an AbortSignal. Aborting a real one after the socket has closed throws out of an
 * event listener, where nothing can catch it, and ends the process. Here the listener is called by
 * us, and what it throws then can be caught.
 */
export class StopSignal {
  #listener: ((event: object) => void) | undefined;

  /** To be handed to Deno's server. */
  get signal(): AbortSignal {
    const stand = {
      aborted: false,
      addEventListener: (_type: string, listener: (event: object) => void) => {
        this.#listener = listener;
      },
      removeEventListener() {},
    };
    return stand as unknown as AbortSignal;
  }

  /** Stops the server at once; does nothing when it has ended already. */
  fire(): void {
    try {
      this.#listener?.({});
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }
}

/** One request answered and one connection cut, over loopback. */
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

/** Closes a connection that was not taken over; it would stay open. */
function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // taken over, as it should be
  }
}
