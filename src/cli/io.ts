/**
 * The terminal as an argument: standard streams, environment, and what the terminal can show.
 *
 * @module
 */

/** Where a command reads and writes. */
export interface Io {
  /** Writes to standard output; a reader that went away ends the output, not the program. */
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
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error; // as under `| head`
  }
}

function consoleColumns(): number | undefined {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return undefined;
  }
}
