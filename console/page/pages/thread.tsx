/**
 * A thread as a conversation: the messages of people, the route of each event, and the answers.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { BindingRecord, SourceEventRecord } from "../../../src/api/records.ts";
import { useAnswer } from "../data/answer.ts";
import { call } from "../data/api.ts";
import { useLatest } from "../data/live.ts";
import type { Message } from "../data/messages.ts";
import { Action } from "../parts/action.tsx";
import { Chip } from "../parts/chip.tsx";
import { Command } from "../parts/command.tsx";
import { Field } from "../parts/field.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { ShortId } from "../parts/short_id.tsx";
import { Text, TextBlock } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { Ago, Clock } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { threadKey, threadsOf } from "../data/threads.ts";

/** Number of the newest messages of the outbox that are searched for answers. */
const LOOKED_AT = 500;

/** The screen of the thread of an event. */
export function ThreadPage({ id }: { readonly id: string }) {
  const { value, error } = useAnswer("describe", {
    what: "source-event",
    name: id,
    reveal: false,
  });
  if (error !== undefined) {
    return (
      <>
        <h1>Thread</h1>
        <Problem error={error} />
      </>
    );
  }
  const named = value as SourceEventRecord | undefined;
  return named === undefined
    ? <p class="empty">…</p>
    : <Conversation key={named.id} named={named} />;
}

function Conversation({ named }: { readonly named: SourceEventRecord }) {
  const isThread = named.thread_id !== "";
  const { items, error } = useRecords<SourceEventRecord>({
    what: "source-events",
    project: named.project,
    trigger: named.trigger,
    ...(isThread ? { thread: named.thread_id } : { name: named.id }),
  });
  const bindings = useRecords<BindingRecord>({
    what: "bindings",
    project: named.project,
    trigger: named.trigger,
  });
  const own = items.filter((one) => threadKey(one) === threadKey(named));
  const [thread = threadsOf([named], [])[0]] = threadsOf(own, bindings.items);
  const outbox = useRecords<Message>({
    what: "outbox",
    project: named.project,
    limit: LOOKED_AT,
  });
  if (thread === undefined) return null;
  const answers = outbox.items.filter(({ kind, target }) =>
    kind === "slack-post" && isThread && target["channel"] === named.conversation_id &&
    target["thread"] === named.thread_id
  );
  const posts = [
    ...thread.events.map((event) => ({ id: event.id, event, answer: undefined })),
    ...answers.map((answer) => ({ id: answer.id, event: undefined, answer })),
  ].sort((a, b) => a.id < b.id ? -1 : 1);
  return (
    <>
      <Title
        text={`Thread in ${named.conversation_id || "no channel"}`}
        back={["threads", "Threads"]}
      >
        <span>
          trigger <Link to={["threads"]} filters={{ trigger: named.trigger }}>{named.trigger}</Link>
        </span>
        <span>project {named.project}</span>
        <span>{named.provider}</span>
        {isThread && (
          <code>
            <Text value={named.thread_id} cell />
          </code>
        )}
      </Title>
      {error !== undefined && <Problem error={error} />}
      {thread.task === null
        ? <p class="verdict">This thread belongs to no task.</p>
        : <TaskLine id={thread.task} />}
      <ol class="conversation">
        {posts.map(({ id, event, answer }) => (
          <li key={id} class={event === undefined ? "post answer" : "post"}>
            {event === undefined
              ? answer !== undefined && <Reply message={answer} />
              : <Post event={event} thread={thread.task} />}
          </li>
        ))}
      </ol>
      <Command
        line={isThread && /^[\w.]+$/.test(named.thread_id)
          ? `svc get source-events --thread ${named.thread_id}`
          : `svc describe source-event ${named.id}`}
      />
    </>
  );
}

function TaskLine({ id }: { readonly id: string }) {
  const { value } = useLatest({ task: id }, (update) => "task" in update ? update.task : undefined);
  const state = value?.["state"];
  return (
    <p class="verdict">
      It belongs to <Link to={["task", id]}>task {id}</Link>
      {typeof state === "string" && (
        <>
          {" "}
          <Chip word={state} />
        </>
      )}
    </p>
  );
}

function Post(
  { event, thread }: { readonly event: SourceEventRecord; readonly thread: string | null },
) {
  const { id, actor, kind, text, state, reason, task_id, delivery_id, received_at } = event;
  const routable = ["ignored", "failed", "needs_attention"].includes(state);
  // The action stays after its use, because it shows its result.
  const offered = useRef(false);
  offered.current ||= routable;
  const why = routable ? undefined : `The event is ${state}`;
  return (
    <>
      <p class="post-head">
        <strong>{actor === "" ? kind : <Text value={actor} cell />}</strong>
        {kind !== "message" && actor !== "" && <span class="faint">{kind}</span>}
        <span class="faint">
          <Clock at={event.occurred_at} />, <Ago at={received_at} />
        </span>
        <Chip word={state} />
      </p>
      {text !== "" && <TextBlock value={text} label="Text" />}
      {reason !== "" && (
        <p class="faint">
          {reason === "inbox" ? "It went to the running task." : <Text value={reason} />}
        </p>
      )}
      <div class="post-foot">
        <Link to={["delivery", delivery_id]}>Delivery</Link>
        {task_id !== null && (
          <Link to={["task", task_id]}>
            Task <ShortId id={task_id} />
          </Link>
        )}
        {offered.current && (
          <>
            <Action
              label="Route again"
              question="Routes this event again, as if it had just arrived."
              command={`svc source replay ${id}`}
              act={async () => {
                await call("source.replay", { id });
                return "It is being routed";
              }}
              why={why}
            />
            <Bind id={id} suggested={thread ?? ""} why={why} />
          </>
        )}
      </div>
    </>
  );
}

/** Binds the thread of an event to the task with the entered id. */
function Bind(
  { id, suggested, why }: {
    readonly id: string;
    readonly suggested: string;
    readonly why: string | undefined;
  },
) {
  const task = useSignal(suggested);
  const isId = /^[0-9A-Z]{4,26}$/i.test(task.value);
  return (
    <span class="bind">
      <Field label="Task">
        <input
          type="text"
          size={12}
          value={task.value}
          placeholder="its id"
          onInput={({ currentTarget }) => task.value = currentTarget.value.trim()}
        />
      </Field>
      <Action
        label="Bind the thread"
        question={`Binds this thread to task ${isId ? task.value : "…"}: new messages in it go ` +
          "to that task. svc routes this event again if it started nothing."}
        command={`svc source bind ${id} ${isId ? task.value : "TASK"}`}
        act={async () => {
          const { task_id, replayed } = await call("source.bind", { id, task: task.value });
          return `Bound to task ${task_id}${replayed ? ", and the event is routed again" : ""}`;
        }}
        why={why ?? (isId ? undefined : "Enter the id of the task, or the beginning of it")}
      />
    </span>
  );
}

function Reply({ message }: { readonly message: Message }) {
  const { body, state, reason, created_at, id, task_id } = message;
  return (
    <>
      <p class="post-head">
        <strong>svc</strong>
        <span class="faint">
          <Clock at={created_at} />, <Ago at={created_at} />
        </span>
        <Chip word={state} />
      </p>
      <TextBlock value={String(body["text"] ?? "")} label="Answer" />
      {reason !== "" && (
        <p>
          <Text value={reason} />
        </p>
      )}
      <div class="post-foot">
        <Link to={["outbox", id]}>Message</Link>
        {task_id !== null && (
          <Link to={["task", task_id]}>
            Task <ShortId id={task_id} />
          </Link>
        )}
      </div>
    </>
  );
}
