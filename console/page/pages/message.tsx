/**
 * A message of the outbox: its target, its text, and why it has not been delivered.
 *
 * @module
 */

import { call } from "../data/api.ts";
import { changeText, destination, type Message } from "../data/messages.ts";
import { Action } from "../parts/action.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Diff } from "../parts/diff.tsx";
import { Facts } from "../parts/facts.tsx";
import { DropMessage, SendHeld } from "../parts/held.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";

/** The screen of a message of the outbox. */
export function MessagePage({ id }: { readonly id: string }) {
  const { items: [message], error, loading } = useRecords<Message>({ what: "outbox", name: id });
  return (
    <>
      {message === undefined && <h1>Message</h1>}
      {error !== undefined && <Problem error={error} />}
      {loading && <p class="empty">…</p>}
      {message !== undefined && <Shown message={message} />}
    </>
  );
}

const BECAME: Readonly<Record<string, string>> = {
  held: "waits for a person",
  failed: "was not sent",
  pending: "waits to be sent",
  sent: "was sent",
  dropped: "was dropped",
};

function Shown({ message }: { readonly message: Message }) {
  const { id, state, kind, connection, task_id, tries, next_at, reason, body } = message;
  const { uncertain_since, external_id, created_at, held_until } = message;
  const isOver = state === "sent" || state === "dropped";
  const change = changeText(message);
  return (
    <>
      <Title
        text={`Message to ${destination(message) || kind} ${BECAME[state] ?? state}`}
        back={["connections", "Connections"]}
      >
        <Chip word={state} />
        <Ago at={created_at} />
        <code>{id}</code>
      </Title>
      {reason !== "" && (
        <p class={state === "failed" ? "verdict bad" : "verdict"}>
          <Text value={reason} />
        </p>
      )}
      <Facts
        of={{
          "Kind": kind,
          "Changes": change || undefined,
          "Dropped": held_until === null ? undefined : <Until at={held_until} />,
          "Connection": connection === null ? undefined : <Text value={connection} />,
          "Task": task_id === null ? undefined : <Link to={["task", task_id]}>{task_id}</Link>,
          "Tries": tries,
          "Next attempt": next_at === null ? undefined : <Until at={next_at} />,
          "May have arrived": uncertain_since === null || state === "sent"
            ? undefined
            : <Ago at={uncertain_since} />,
          "Id at the platform": external_id === null ? undefined : <Text value={external_id} />,
        }}
      />
      <h2>Content</h2>
      {typeof body["text"] === "string"
        ? <TextBlock value={body["text"]} label="Text of the message" />
        : <TextBlock value={JSON.stringify(body, undefined, 2)} label="Body of the message" />}
      {change !== "" && !isOver && (
        <section aria-labelledby="change-title">
          <h2 id="change-title">Change</h2>
          <Diff id={id} />
        </section>
      )}
      <div class="actions">
        {state === "held" ? <SendHeld id={id} /> : (
          <Action
            label="Send now"
            question="Sends this message now."
            command={`svc outbox retry ${id}`}
            act={async () => {
              await call("outbox.retry", { id });
              return "It is being sent";
            }}
            why={state === "sent" ? "It was sent" : undefined}
          />
        )}
        <DropMessage id={id} why={isOver ? `It was ${state}` : undefined} />
      </div>
      <Command line={`svc outbox show ${id}`} />
    </>
  );
}
