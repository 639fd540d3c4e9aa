/**
 * Messages that wait for a person: what each would do, why it waits, and the two answers.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { call } from "../data/api.ts";
import { changeText, destination, type Message } from "../data/messages.ts";
import { Action } from "./action.tsx";
import { Chip } from "./chip.tsx";
import { Diff } from "./diff.tsx";
import { Link } from "./link.tsx";
import { Text } from "./text.tsx";
import { Until } from "./time.tsx";

/** A list of held messages. */
export function HeldMessages({ messages }: { readonly messages: readonly Message[] }) {
  return (
    <ul class="held">
      {messages.map((message) => (
        <li key={message.id}>
          <Held message={message} />
        </li>
      ))}
    </ul>
  );
}

function Held({ message }: { readonly message: Message }) {
  const { id, kind, reason, body, held_until } = message;
  const change = changeText(message);
  const open = useSignal(false);
  return (
    <>
      <p>
        <Chip word="held" />{" "}
        <Link to={["outbox", id]}>
          <Text value={`${kind} to ${destination(message)}`} cell />
        </Link>{" "}
        {typeof body["title"] === "string" && <Text value={body["title"]} cell />}{" "}
        {change !== "" && <span class="faint">{change}</span>}
      </p>
      <p class="faint">
        <Text value={reason} cell />
        {held_until !== null && (
          <>
            {" "}· dropped <Until at={held_until} />
          </>
        )}
      </p>
      {change !== "" && (
        <details onToggle={({ currentTarget }) => open.value = currentTarget.open}>
          <summary>What it changes</summary>
          {open.value && <Diff id={id} />}
        </details>
      )}
      <div class="actions">
        <SendHeld id={id} />
        <DropMessage id={id} />
      </div>
    </>
  );
}

/** The button that sends a held message. */
export function SendHeld({ id }: { readonly id: string }) {
  return (
    <Action
      label="Send"
      primary
      question="Sends this message to the platform, as it is."
      command={`svc outbox send ${id}`}
      act={async () => {
        await call("outbox.send", { id });
        return "It is being sent";
      }}
    />
  );
}

/** The button that drops a message. */
export function DropMessage({ id, why }: {
  readonly id: string;
  /** The reason why it cannot be dropped now. */
  readonly why?: string | undefined;
}) {
  return (
    <Action
      label="Drop"
      question="Drops this message: svc does not send it any more."
      command={`svc outbox drop ${id}`}
      act={async () => {
        await call("outbox.drop", { id });
        return "It was dropped";
      }}
      why={why}
    />
  );
}
