/**
 * The change that a message of the outbox brings: all of its files, and its lines in colours. The lines
 * are bounded: a person reads a longer change in a terminal.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type PatchedFile, type PatchLook, PatchReader } from "../../../src/api/patch_text.ts";
import { toRefusal } from "../data/answer.ts";
import { type Refusal, stream } from "../data/api.ts";
import { Command } from "./command.tsx";
import { Problem } from "./problem.tsx";
import { Text } from "./text.tsx";

/** Most characters and most lines that are shown, and most files that are listed. */
const MOST_CHARACTERS = 512 * 1024;
const MOST_LINES = 3000;
const MOST_FILES = 1000;

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
  return <ShownPatch patch={patch.value} command={`svc outbox show ${id} --diff`} />;
}

/** A patch that is there as a whole, in colours; `command` prints all of it. */
export function PatchText({ text, command }: { readonly text: string; readonly command: string }) {
  return <ShownPatch patch={useMemo(() => toPatch(text), [text])} command={command} />;
}

/** Whether the page shows less of a patch than there is. */
export function isCutHere(text: string): boolean {
  return toPatch(text).isCut;
}

function ShownPatch({ patch, command }: { readonly patch: Patch; readonly command: string }) {
  const { lines, files, isCut } = patch;
  return (
    <>
      <ul class="changed-files" aria-label="Changed files">
        {files.slice(0, MOST_FILES).map(({ path, added, removed, isBinary }, index) => (
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
        {files.length > MOST_FILES && <li>and {files.length - MOST_FILES} more</li>}
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
          <Command line={command} />
        </>
      )}
    </>
  );
}

/** Takes the lines of a patch, and keeps those that are shown. */
class PatchLines {
  readonly #reader = new PatchReader();
  readonly #lines: (readonly [string, PatchLook])[] = [];
  #characters = 0;
  #isCut = false;

  take(line: string): void {
    const look = this.#reader.look(line); // also of a line that is not shown: it may name a file
    this.#characters += line.length;
    this.#isCut ||= this.#lines.length >= MOST_LINES || this.#characters > MOST_CHARACTERS;
    if (!this.#isCut) this.#lines.push([line, look]);
  }

  get patch(): Patch {
    return { lines: this.#lines, files: this.#reader.files, isCut: this.#isCut };
  }
}

function toPatch(text: string): Patch {
  const taken = new PatchLines();
  for (const line of text.replace(/\n$/, "").split("\n")) taken.take(line);
  return taken.patch;
}

async function readPatch(id: string, signal: AbortSignal): Promise<Patch> {
  const taken = new PatchLines();
  let begun = "";
  for await (const { text } of stream("outbox.diff", { id }, signal)) {
    const whole = (begun + text).split("\n");
    begun = whole.pop() ?? "";
    for (const line of whole) taken.take(line);
  }
  if (begun !== "") taken.take(begun);
  return taken.patch;
}
