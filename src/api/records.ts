/**
 * Records as answers show them: flat, in snake_case, times in RFC 3339.
 *
 * @module
 */

/** A step of a task. */
export type StepRecord = {
  readonly id: string;
  readonly state: string;
  /** Number of the last attempt, from 1. */
  readonly attempt: number;
  /** Number of the round of its `repeat`; absent in the first one, and of a step without. */
  readonly round?: number;
  readonly exit_code: number | null;
  readonly reason: string;
  /** The kind of failure of a step that failed. */
  readonly failure?: "limit" | "auth" | "budget" | "error" | "timeout";
  /** Id of the session in which its agent went on; `get` takes it as a filter of tasks. */
  readonly session?: string;
  /** What it reached from a sandbox whose network has rules, the first host first. */
  readonly network?: readonly ReachedHostView[];
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly started_at: string | null;
  readonly finished_at: string | null;
};

/** What a step in a sandbox did at one host. */
export type ReachedHostView = {
  /** `HOST:PORT`, or scheme and host of an API whose key svc added. */
  readonly host: string;
  readonly requests: number;
  /** Those that its Sandbox does not allow. */
  readonly refused: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
  /** Tokens that the answers counted, if they did. */
  readonly tokens_in?: number;
  readonly tokens_out?: number;
};

/** The reason why a task waits; fields that do not apply are absent. */
export type WaitsForView = {
  /**
   * A worker, a certain node, what the machine is short of, room, the next attempt, a turn of an agent,
   * the end of a pause, or, in a step, a time, an event, a message or an answer of people.
   */
  readonly what:
    | ("worker" | "node" | "machine" | "debounce" | "rate_limit")
    | ("concurrency" | "max_parallel" | "retry" | "agent" | "pause")
    | ("time" | "event" | "message" | "approval" | "task");
  /** RFC 3339. */
  readonly until?: string;
  /** The task that it waits for; of several, the oldest. */
  readonly task_id?: string;
  /** How many places are taken; `limit` is how many there are. */
  readonly used?: number;
  readonly limit?: number;
  /** The nodes that may run it. */
  readonly nodes?: readonly string[];
  /** Id of the step that is to be tried again, or that waits. */
  readonly step?: string;
  /** Name of the agent; with `until` if it is limited until then. */
  readonly agent?: string;
};

/** A task as operations return it. */
export type TaskRecord = {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly workflow: string;
  readonly workspace: string;
  readonly state: string;
  /** Why it ended so; while it waits, what for. */
  readonly reason: string;
  readonly delivery_id: string | null;
  /** The task whose step or end started this one. */
  readonly parent_id: string | null;
  /** The task at the top, if a step of another task started this one, or the one that it retries. */
  readonly root_id?: string;
  readonly retry_of: string | null;
  /** Who had it retried; there if it is a retry. */
  readonly retried_by?: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** How often it was continued after the daemon had ended. */
  readonly restarts: number;
  /** Directory of its own, while there is one. */
  readonly directory?: string;
  readonly cancel_reason?: string;
  /**
   * There while it is pending: `ready` for a worker, `queued` for room, or `delayed` until a time.
   */
  readonly readiness?: "ready" | "queued" | "delayed";
  /** There while it waits. */
  readonly waits_for?: WaitsForView;
  /**
   * RFC 3339: when its steps last printed something, or one of them started. Only while they run; a
   * list leaves it out if another daemon runs them.
   */
  readonly silent_since?: string;
  /** Name and key of its conversation, `NAME/KEY`; there if it belongs to one. */
  readonly conversation?: string;
  /** How many messages to it no step has read; there if there are any. */
  readonly unread?: number;
  /** Name of the node that runs it or has run it last; there where daemons share a database. */
  readonly node?: string;
  readonly steps: readonly StepRecord[];
};

/** One event of a delivery. */
export type EventRecord = {
  readonly outcome: string;
  readonly reason: string;
  readonly task_id: string | null;
  /** The delivery that brought the same event before. */
  readonly duplicate_of: string | null;
};

/** A delivery as operations return it. */
export type DeliveryRecord = {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly source: string;
  /** The name of the event in a header, which no signature covers; `null` without such a header. */
  readonly event: string | null;
  readonly via: string;
  readonly outcome: string;
  readonly reason: string;
  /** HTTP status of the answer; `null` when it was no request. */
  readonly status: number | null;
  /** Address of the sender. */
  readonly remote: string;
  readonly secret_store: string | null;
  readonly secret_key: string | null;
  readonly task_id: string | null;
  readonly body_bytes: number;
  readonly received_at: string;
  readonly duration_ms: number;
  readonly stages_ms: Readonly<Record<string, number>>;
  readonly header_names: readonly string[];
  /** How many further headers it had; absent if there were none. */
  readonly headers_left_off?: number;
  readonly redelivery_of: string | null;
  /** Who had it fired or redelivered; there if somebody had. */
  readonly by?: string;
  /** When retention deleted its body; absent if it did not delete it. */
  readonly body_deleted_at?: string;
  /** Absent if there was exactly one event. */
  readonly events?: readonly EventRecord[];
};

/** One run of a plugin. */
export type AuditRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly action: string;
  readonly crd_kind: string;
  readonly plugin_name: string;
  readonly plugin_type: string;
  readonly phase: string;
  readonly command: string;
  readonly result: string;
  readonly trigger: string | null;
  readonly delivery_id: string | null;
  readonly exit_code: number | null;
  readonly duration_ms: number | null;
  readonly stderr: string;
  readonly role: string;
  readonly policy_mode: string;
};

/** One thing that was done over the control plane. */
export type ControlAuditRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly operation: string;
  readonly target: string;
  readonly caller: string;
  /** The client program, by the name that it gives itself. */
  readonly client: string | null;
  readonly role: string;
  readonly result: string;
  readonly reason: string | null;
};

/** An event of a chat platform. */
export type SourceEventRecord = {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly provider: string;
  readonly installation_id: string;
  readonly external_event_id: string;
  readonly kind: string;
  readonly actor: string;
  readonly conversation_id: string;
  readonly thread_id: string;
  readonly top_level: boolean;
  readonly text: string;
  readonly occurred_at: string;
  readonly received_at: string;
  readonly state: string;
  readonly reason: string;
  readonly task_id: string | null;
  readonly delivery_id: string;
  readonly attempts: number;
};

/** A thread that belongs to a task. */
export type BindingRecord = {
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly installation_id: string;
  readonly conversation_id: string;
  readonly thread_id: string;
  readonly task_id: string;
  readonly created_at: string;
  readonly updated_at: string;
};

/** A conversation, and the task that it goes on with. */
export type ConversationRecord = {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly key: string;
  readonly task_id: string;
  readonly task_state: string;
  /** How many messages to that task no step has read. */
  readonly unread: number;
  /** When that task got its last message; `null` if it got none. */
  readonly last_message_at: string | null;
  readonly created_at: string;
  /** When it last began to go on with another task. */
  readonly updated_at: string;
};
