/**
 * The whole output of a task as a text file, exactly as it was printed.
 *
 * @module
 */

import { defined } from "../../../../src/base/defined.ts";
import { stream } from "../../data/api.ts";
import type { LogPart } from "./control.ts";

/** Bytes that are gathered before the page hands them to the browser as a blob. */
const PART_BYTES = 4 * 1024 * 1024;

const LINE_BREAK = new Uint8Array([10]);

/** Downloads the log of a task, or a part of it; `progress` is called with the bytes so far. */
export async function downloadLog(
  id: string,
  { step, raw }: LogPart,
  { progress, signal }: {
    readonly progress: (bytes: number) => void;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const input = { id, follow: false, ...defined({ step, raw }) };
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
    // A message of svc about a step begins on a new line.
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
  // Ids of tasks and steps have only characters that are safe in the name of a file.
  link.download = `${[id, step, raw && "raw"].filter((one) => one !== undefined).join("-")}.log`;
  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
