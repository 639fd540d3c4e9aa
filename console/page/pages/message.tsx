/**
 * One message of the outbox: where it goes, what it says, why it has not arrived.
 *
 * @module
 */

import { call } from "../data/api.ts";
import { destination, type Message } from "../data/messages.ts";
import { Action } from "../parts/action.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";

/** The screen. */
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
      <dl class="facts">
        <dt>Kind</dt>
        <dd>{kind}</dd>
        <dt>Connection</dt>
        <dd>{connection === null ? "—" : <Text value={connection} />}</dd>
        <dt>Task</dt>
        <dd>{task_id === null ? "—" : <Link to={["task", task_id]}>{task_id}</Link>}</dd>
        <dt>Tries</dt>
        <dd>{tries}</dd>
        {next_at !== null && (
          <>
            <dt>Next try</dt>
            <dd>{next_at}</dd>
          </>
        )}
        {uncertain_since !== null && state !== "sent" && (
          <>
            <dt>May have arrived</dt>
            <dd>
              <Ago at={uncertain_since} />
            </dd>
          </>
        )}
        {external_id !== null && (
          <>
            <dt>There</dt>
            <dd>
              <Text value={external_id} />
            </dd>
          </>
        )}
      </dl>
      <h2>What it says</h2>
      {typeof body["text"] === "string"
        ? <TextBlock value={body["text"]} label="Text of the message" />
        : <TextBlock value={JSON.stringify(body, undefined, 2)} label="Body of the message" />}
      <div class="actions">
        <Action
          label="Send now"
          question="Sends this one message now."
          command={`svc outbox retry ${id}`}
          act={async () => {
            await call("outbox.retry", { id });
            return "It is being sent";
          }}
          why={state === "sent" ? "It was sent" : undefined}
        />
        <Action
          label="Drop"
          question="Drops this one message: it is not sent any more."
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
