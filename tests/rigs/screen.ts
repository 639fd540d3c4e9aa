/**
 * An `Io` for commands, with a terminal or without, that keeps the output.
 *
 * @module
 */

import { type Io, terminal, writers } from "../../src/cli/io.ts";

/** The output so far; `bytes` are those of standard output. */
export interface Written {
  out: string;
  err: string;
  bytes: number[];
}

/** Makes an `Io` with these members in place of the usual, and the output that it keeps. */
export function screen(isTerminal: boolean, more: Partial<Io> = {}): { io: Io; text: Written } {
  const text: Written = { out: "", err: "", bytes: [] };
  const [outDecoder, errDecoder] = [new TextDecoder(), new TextDecoder()];
  const io = {
    outIsTerminal: isTerminal,
    errColor: isTerminal,
    columns: isTerminal ? 60 : undefined,
    env: () => undefined,
    openFile: terminal().openFile,
    connect: terminal().connect,
    ...writers({
      outIsTerminal: isTerminal,
      stdout: {
        writeSync(data) {
          text.bytes.push(...data);
          text.out += outDecoder.decode(data, { stream: true });
          return data.length;
        },
      },
      stderr: {
        writeSync(data) {
          text.err += errDecoder.decode(data, { stream: true });
          return data.length;
        },
      },
    }),
    ...more,
  } as unknown as Io;
  return { io, text };
}
