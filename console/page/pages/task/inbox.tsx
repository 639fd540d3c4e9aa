/**
 * Messages to a task: the sent messages, and a form for a new one.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TaskRecord } from "../../../../src/api/records.ts";
import type { InboxEntry } from "../../../../src/api/task_operations.ts";
import { call, Refusal } from "../../data/api.ts";
import { Button } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Field } from "../../parts/field.tsx";
import { Problem } from "../../parts/problem.tsx";
import { whyNot } from "../../parts/rights.ts";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";

/** The inbox of a task. */
export function Inbox({ task }: { readonly task: TaskRecord }) {
  const messages = useSignal<readonly InboxEntry[] | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const text = useSignal("");
  const busy = useSignal(false);
  const attempt = async (work: () => Promise<void>) => {
    error.value = undefined;
    try {
      await work();
    } catch (thrown) {
      if (thrown instanceof Refusal && thrown.code !== "aborted") error.value = thrown;
    }
  };
  const read = () =>
    attempt(async () => {
      messages.value = (await call("task.inbox", { id: task.id })).messages;
    });
  // No event announces a message that a step sends, so the inbox is read again whenever the task
  // changes.
  useEffect(() => void read(), [task]);
  const send = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    await attempt(async () => {
      await call("task.inbox.send", { id: task.id, text: text.value });
      text.value = "";
    });
    busy.value = false;
    await read();
  };
  const reason = whyNot("operator") ??
    (task.finished_at === null ? undefined : "The task has ended");
  const has = (messages.value?.length ?? 0) > 0;
  if (!has && task.finished_at !== null && error.value === undefined) return null;
  return (
    <section aria-labelledby="inbox-title">
      <h2 id="inbox-title">Inbox</h2>
      {!has && <p class="faint">No message was sent to this task.</p>}
      {has && (
        <ol class="messages">
          {messages.value?.map(({ position, created_at, message }) => (
            <li key={position}>
              <Message message={message} />{" "}
              <span class="faint">
                <Ago at={created_at} />
              </span>
            </li>
          ))}
        </ol>
      )}
      {reason === undefined && (
        <form class="send" onSubmit={(event) => void send(event)}>
          <Field label="Message to the task">
            <textarea
              rows={2}
              value={text.value}
              onInput={({ currentTarget }) => text.value = currentTarget.value}
            />
          </Field>
          <Button busy={busy.value || text.value.trim() === ""}>Send</Button>
        </form>
      )}
      {reason !== undefined && task.finished_at === null && <p class="faint">{reason}</p>}
      {error.value !== undefined && <Problem error={error.value} />}
      <Command line={`svc task inbox ${task.id}`} />
    </section>
  );
}

function Message({ message }: { readonly message: InboxEntry["message"] }) {
  const { text, from, ...more } = message;
  if (typeof text !== "string" || Object.keys(more).some((name) => name !== "at")) {
    return (
      <code>
        <Text value={JSON.stringify(message)} />
      </code>
    );
  }
  return (
    <>
      <Text value={text} />
      {typeof from === "string" && (
        <span class="faint">
          from <Text value={from} />
        </span>
      )}
    </>
  );
}
