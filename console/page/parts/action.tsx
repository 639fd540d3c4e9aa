/**
 * What changes something: asks once, says how many, and says why not where it may not.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Role } from "../../../src/api/roles.ts";
import { toRefusal } from "../data/answer.ts";
import type { Refusal } from "../data/api.ts";
import { Button } from "./button.tsx";
import { Command } from "./command.tsx";
import { Problem } from "./problem.tsx";
import { whyNot } from "./rights.ts";

/** A button that asks in a dialog, and then acts. */
export function Action(
  { label, question, command, act, needs = "operator", why, note, primary = false, terse = false }:
    {
      readonly label: string;
      /** What will happen, and to how many; a function is asked when the dialog opens. */
      readonly question: string | ((signal: AbortSignal) => Promise<string>);
      /** The command that does the same. */
      readonly command: string;
      /** Acts; gives what to say when it is done, and meanwhile how far it is. */
      readonly act: (progress: (text: string) => void) => Promise<string>;
      readonly needs?: Role;
      /** Why it cannot be done now, whatever the role. */
      readonly why?: string | undefined;
      /** What is worth knowing before it is pressed. */
      readonly note?: string | undefined;
      /** Whether it is what one would do next. */
      readonly primary?: boolean;
      /** Whether why it cannot be done is written beside another action already. */
      readonly terse?: boolean;
    },
) {
  const dialog = useRef<HTMLDialogElement>(null);
  const busy = useSignal(false);
  const done = useSignal("");
  const error = useSignal<Refusal | undefined>(undefined);
  const asked = useSignal<string | undefined>(undefined);
  const progress = useSignal("");
  const asking = useRef(new AbortController());
  const reason = whyNot(needs) ?? why;
  const open = async () => {
    [done.value, error.value, progress.value] = ["", undefined, ""];
    asked.value = typeof question === "string" ? question : undefined;
    dialog.current?.showModal();
    if (typeof question === "string") return;
    const { signal } = asking.current = new AbortController();
    try {
      const answer = await question(signal);
      if (!signal.aborted) asked.value = answer; // else of a dialog that was closed meanwhile
    } catch (thrown) {
      if (!signal.aborted) error.value = toRefusal(thrown);
    }
  };
  const confirm = async () => {
    busy.value = true;
    error.value = undefined;
    try {
      done.value = await act((text) => progress.value = text);
      dialog.current?.close();
    } catch (thrown) {
      error.value = toRefusal(thrown);
    } finally {
      busy.value = false;
    }
  };
  return (
    <span class="action">
      <Button act={() => void open()} why={reason} primary={primary}>{label}</Button>
      {!terse && (reason ?? note) !== undefined && <span class="why">{reason ?? note}</span>}
      <span role="status" class="done">{done.value}</span>
      <dialog ref={dialog} aria-label={label} onClose={() => asking.current.abort()}>
        <p aria-live="polite">{typeof question === "string" ? question : asked.value ?? "…"}</p>
        <Command line={command} />
        {error.value !== undefined && <Problem error={error.value} />}
        <p class="buttons">
          <Button act={() => void confirm()} busy={busy.value || asked.value === undefined} primary>
            {busy.value ? progress.value || "…" : label}
          </Button>
          <button type="button" onClick={() => dialog.current?.close()}>Keep it as it is</button>
        </p>
      </dialog>
    </span>
  );
}
