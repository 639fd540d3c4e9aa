/**
 * A button for a change: it asks for confirmation, says how many records it changes, and gives the
 * reason if the change is not possible.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Role } from "../../../src/base/roles.ts";
import { toRefusal } from "../data/answer.ts";
import type { Refusal } from "../data/api.ts";
import { Button } from "./button.tsx";
import { Command } from "./command.tsx";
import { Problem } from "./problem.tsx";
import { whyNot } from "./rights.ts";

/** A button that asks for confirmation in a dialog, and then acts. */
export function Action(
  { label, question, command, act, needs = "operator", why, note, primary = false, terse = false }:
    {
      readonly label: string;
      /**
       * The text of the dialog: the effect and the number of records. A function is called when the
       * dialog opens.
       */
      readonly question: string | ((signal: AbortSignal) => Promise<string>);
      /** The `svc` command for the same change. */
      readonly command: string;
      /**
       * Makes the change and resolves to the text of the result; `progress` takes a text meanwhile.
       */
      readonly act: (progress: (text: string) => void) => Promise<string>;
      readonly needs?: Role;
      /** The reason why the change is not possible now, for any role. */
      readonly why?: string | undefined;
      /** A note beside the button, shown unless there is a reason against the change. */
      readonly note?: string | undefined;
      /** Whether the button is the likeliest next action. */
      readonly primary?: boolean;
      /** Whether to leave out the reason, because another action on the screen shows it. */
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
      if (!signal.aborted) asked.value = answer; // not for a dialog that has been closed
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
