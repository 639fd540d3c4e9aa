/**
 * A message of the outbox: its target, its text, and why it has not been delivered.
 *
 * @module
 */

import { call } from "../data/api.ts";
import { destination, type Message } from "../data/messages.ts";
import { Action } from "../parts/action.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
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
  failed: "was not sent",
  pending: "waits to be sent",
  sent: "was sent",
  dropped: "was dropped",
};

function Shown({ message }: { readonly message: Message }) {
  const { id, state, kind, connection, task_id, tries, next_at, reason, body } = message;
  const { uncertain_since, external_id, created_at } = message;
  const isOver = state === "sent" || state === "dropped";
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
      <div class="actions">
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
        <Action
          label="Drop"
          question="Drops this message: svc does not send it any more."
          command={`svc outbox drop ${id}`}
          act={async () => {
            await call("outbox.drop", { id });
            return "It was dropped";
          }}
          why={isOver ? `It was ${state}` : undefined}
        />
      </div>
      <Command line={`svc describe outbox ${id}`} />
    </>
  );
}
