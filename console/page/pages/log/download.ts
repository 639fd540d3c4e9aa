/**
 * The whole output of a task as a file of text, exactly as it was printed.
 *
 * @module
 */

import { defined } from "../../../../src/base/defined.ts";
import { stream } from "../../data/api.ts";

/** Bytes that are gathered before they are handed over to the browser, which keeps them. */
const PART_BYTES = 4 * 1024 * 1024;

const LINE_BREAK = new Uint8Array([10]);

/** Downloads the log of a task, or of one step of it; tells the bytes so far. */
export async function downloadLog(
  id: string,
  step: string,
  { progress, signal }: {
    readonly progress: (bytes: number) => void;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const input = { id, follow: false, ...defined({ step: step || undefined }) };
  const parts: Blob[] = [];
  let gathered: Uint8Array<ArrayBuffer>[] = [];
  let [bytes, total, inLine] = [0, 0, false];
  const hand = () => {
    parts.push(new Blob(gathered));
    [gathered, bytes] = [[], 0];
  };
  for await (const line of stream("task.logs", input, signal)) {
    if (!("data" in line)) continue;
    const data = Uint8Array.fromBase64(line.data);
    // What svc says of a step begins a line of its own.
    if (line.stream === "svc" && inLine) gathered.push(LINE_BREAK);
    inLine = data.at(-1) !== LINE_BREAK[0];
    gathered.push(data);
    [bytes, total] = [bytes + data.length, total + data.length];
    if (bytes < PART_BYTES) continue;
    hand();
    progress(total);
  }
  hand();
  if (signal.aborted) return;
  const address = URL.createObjectURL(new Blob(parts, { type: "text/plain" }));
  const link = document.createElement("a");
  // Ids of tasks are letters and digits, those of steps are words.
  link.download = `${id}${step === "" ? "" : `-${step}`}.log`;
  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
