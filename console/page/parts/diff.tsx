/**
 * The change that a message of the outbox brings, line by line in colours. It is bounded: a person reads
 * a longer one in a terminal.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type PatchedFile, type PatchLook, PatchReader } from "../../../src/api/patch_text.ts";
import { toRefusal } from "../data/answer.ts";
import { type Refusal, stream } from "../data/api.ts";
import { Command } from "./command.tsx";
import { Problem } from "./problem.tsx";
import { Text } from "./text.tsx";

/** Most characters that are read, and most lines that are shown. */
const MOST_CHARACTERS = 512 * 1024;
const MOST_LINES = 3000;

interface Patch {
  readonly lines: readonly (readonly [line: string, look: PatchLook])[];
  readonly files: readonly PatchedFile[];
  readonly isCut: boolean;
}

/** The changed files and lines of message `id`. */
export function Diff({ id }: { readonly id: string }) {
  const patch = useSignal<Patch | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  useEffect(() => {
    const reading = new AbortController();
    [patch.value, error.value] = [undefined, undefined];
    readPatch(id, reading.signal).then(
      (found) => {
        if (!reading.signal.aborted) patch.value = found;
      },
      (thrown) => {
        if (!reading.signal.aborted) error.value = toRefusal(thrown);
      },
    );
    return () => reading.abort();
  }, [id]);
  if (error.value !== undefined) return <Problem error={error.value} />;
  if (patch.value === undefined) return <p class="empty">…</p>;
  const { lines, files, isCut } = patch.value;
  return (
    <>
      <ul class="changed-files" aria-label="Changed files">
        {files.map(({ path, added, removed, isBinary }, index) => (
          <li key={index}>
            <code>
              <Text value={path} cell />
            </code>{" "}
            {isBinary ? <span class="faint">binary</span> : (
              <>
                <ins>+{added}</ins> <del>−{removed}</del>
              </>
            )}
          </li>
        ))}
      </ul>
      <pre class="diff" tabindex={0} role="group" aria-label="Changed lines">
        {lines.map(([line, look], index) => (
          <span key={index} class={look}>
            <Text value={line} />
            {"\n"}
          </span>
        ))}
      </pre>
      {isCut && (
        <>
          <p>The change is longer than what is shown here. In a terminal you see all of it:</p>
          <Command line={`svc outbox show ${id} --diff`} />
        </>
      )}
    </>
  );
}

async function readPatch(id: string, signal: AbortSignal): Promise<Patch> {
  const reading = new AbortController();
  const parts: string[] = [];
  let length = 0;
  for await (
    const { text } of stream("outbox.diff", { id }, AbortSignal.any([signal, reading.signal]))
  ) {
    parts.push(text);
    length += text.length;
    if (length > MOST_CHARACTERS) break;
  }
  reading.abort();
  const all = parts.join("").replace(/\n$/, "").split("\n");
  const reader = new PatchReader();
  const lines = all.slice(0, MOST_LINES).map((line) => [line, reader.look(line)] as const);
  const isCut = length > MOST_CHARACTERS || all.length > MOST_LINES;
  return { lines, files: reader.files, isCut };
}
