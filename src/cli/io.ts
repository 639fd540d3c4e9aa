/**
 * The terminal as an argument: standard streams, environment, and what the terminal can show.
 *
 * @module
 */

/** Where a command reads and writes. */
export interface Io {
  /** Writes to standard output; throws {@linkcode OutputClosed} when its reader has gone. */
  out(data: string | Uint8Array): void;
  /** Writes to standard error. */
  err(text: string): void;
  /** Everything on standard input. */
  stdin(): Promise<Uint8Array>;
  /** Reads an environment variable. */
  env(name: string): string | undefined;
  /** Whether standard output is a terminal. */
  readonly outIsTerminal: boolean;
  /** Whether standard error may be coloured. */
  readonly errColor: boolean;
  /** Columns of the terminal; `undefined` when output goes elsewhere. */
  readonly columns: number | undefined;
  /** Runs `handler` on SIGINT and SIGTERM, until disposed. */
  onStop(handler: () => void): Disposable;
}

/** Whoever read the output has gone. */
export class OutputClosed extends Error {
  /** Name of the class, also in a bundle. */
  override readonly name = "OutputClosed";
}

const ENCODER = new TextEncoder();

/** The process's own terminal. */
export function terminal(): Io {
  const outIsTerminal = Deno.stdout.isTerminal();
  const plain = (Deno.env.get("NO_COLOR") ?? "") !== "";
  return {
    out: (data) => writeAll(Deno.stdout, typeof data === "string" ? ENCODER.encode(data) : data),
    err: (text) => writeAll(Deno.stderr, ENCODER.encode(text)),
    async stdin() {
      return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
    },
    env: (name) => Deno.env.get(name),
    outIsTerminal,
    errColor: !plain && Deno.stderr.isTerminal(),
    columns: outIsTerminal ? consoleColumns() : undefined,
    onStop(handler) {
      Deno.addSignalListener("SIGINT", handler);
      Deno.addSignalListener("SIGTERM", handler);
      return {
        [Symbol.dispose]() {
          Deno.removeSignalListener("SIGINT", handler);
          Deno.removeSignalListener("SIGTERM", handler);
        },
      };
    },
  };
}

function writeAll(stream: { writeSync(data: Uint8Array): number }, data: Uint8Array): void {
  try {
    for (let done = 0; done < data.length;) done += stream.writeSync(data.subarray(done));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    throw new OutputClosed(); // as under `| head`: there is nobody to work for
  }
}

function consoleColumns(): number | undefined {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return undefined;
  }
}
