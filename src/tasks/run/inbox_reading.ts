/**
 * Which messages of its inbox each step of a running task is given and has read, by the rule of
 * `tasks/reading.ts`. What no step has read when the task ends goes on in a follow-up
 * (docs/decisions/0038-conversations.md).
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import type { Piece } from "../../base/outside_marks.ts";
import type { ClaimedTask, InboxMessage, StepRecord } from "../../store/task_records.ts";
import type { PlannedStep } from "../plan.ts";
import { readingOf } from "../reading.ts";
import type { Inboxes } from "../step/inbox.ts";

/** The reading of one task, from its claim on. */
export class InboxReading {
  readonly #taskId: string;
  readonly #inboxes: Inboxes;
  /** Position behind the last message that was read. */
  #upTo: number;

  /** Goes on where earlier runs of the task have stopped. */
  constructor({ task, readUpTo }: ClaimedTask, inboxes: Inboxes) {
    this.#taskId = task.id;
    this.#inboxes = inboxes;
    this.#upTo = readUpTo;
  }

  /** The reading of a step whose record was `before` until now: it is given again what it had. */
  of(before: Pick<StepRecord, "readFrom"> | undefined): StepReading {
    return new StepReading(before?.readFrom, {
      unreadFrom: () => this.#upTo,
      takeBack: (from) => this.takeBack(from),
      list: (from) => this.#inboxes.listFrom(this.#taskId, from),
      written: () => this.#inboxes.written(this.#taskId),
      advance: (upTo) => this.advance(upTo),
    });
  }

  /** Notes that the messages before this position were read. */
  advance(upTo: number): void {
    this.#upTo = Math.max(this.#upTo, upTo);
  }

  /** Notes that no message from this position on counts as read. */
  takeBack(from: number): void {
    this.#upTo = Math.min(this.#upTo, from);
  }

  /**
   * A record of a step as it is to be stored now: since it was made, another step may have turned out not to
   * have read what it was given.
   */
  asItIsNow(record: StepRecord): StepRecord {
    const { readUpTo } = record;
    if (readUpTo === undefined || readUpTo <= this.#upTo) return record;
    return { ...record, readUpTo: this.#upTo };
  }
}

/** The inbox of one task. */
interface TaskInbox {
  readonly unreadFrom: () => number;
  /** Notes that no message from this position on counts as read. */
  readonly takeBack: (from: number) => void;
  readonly list: (from: number) => Promise<readonly InboxMessage[]>;
  readonly written: () => number;
  readonly advance: (upTo: number) => void;
}

/** The reading of one step; each of its attempts is given the messages anew. */
export class StepReading {
  readonly #inbox: TaskInbox;
  #from: number | undefined;
  /** Position behind the messages in the prompt of the attempt that is prepared. */
  #given: number | undefined;
  #upTo: number | undefined;
  /** Position behind the last message that an attempt has read which is over. */
  #known: number | undefined;
  /** Position of the first message that counted as read, until the attempt turned out not to have read it. */
  #unreadFrom: number | undefined;

  constructor(from: number | undefined, inbox: TaskInbox) {
    this.#from = from;
    this.#inbox = inbox;
  }

  /** The messages for the prompt of an attempt that is prepared. */
  async give(step: PlannedStep): Promise<GivenMessages> {
    this.#given = undefined;
    if (step.agent === undefined) return NONE_GIVEN;
    const from = this.#from ?? this.#inbox.unreadFrom();
    const fitting = fitPrompt(await this.#inbox.list(from));
    const last = fitting.messages.at(-1);
    if (last === undefined) return NONE_GIVEN;
    this.#from = from;
    this.#given = last.position + 1;
    return fitting;
  }

  /** A program has begun, and so it is taken to have its prompt: what begins beside it is given the others. */
  begin(): void {
    if (this.#given !== undefined) this.#read(this.#given);
  }

  /** The position behind the last message in the file. */
  get written(): number {
    return this.#inbox.written();
  }

  /** The attempt is over; `written` is what the file had when its program ended. */
  end(step: PlannedStep, { hasRead, written }: { hasRead: boolean; written: number }): void {
    if (!hasRead) return this.takeBack();
    if (readingOf(step) === "file") this.#read(written);
    this.#known = this.#upTo;
  }

  /** What the attempt was given counts as unread again, but for what an earlier one has read. */
  takeBack(): void {
    const from = Math.max(this.#from ?? 0, this.#known ?? 0);
    if (this.#given === undefined || this.#given <= from) return;
    this.#upTo = this.#known;
    this.#unreadFrom = from;
    this.#inbox.takeBack(from);
  }

  #read(upTo: number): void {
    this.#unreadFrom = undefined;
    this.#upTo = Math.max(this.#upTo ?? 0, upTo);
    this.#inbox.advance(upTo);
  }

  /** What the record of the step says about it; another step may have moved the position meanwhile. */
  get record(): Pick<StepRecord, "readFrom" | "readUpTo" | "unreadFrom"> {
    const position = this.#inbox.unreadFrom();
    const isUnread = this.#unreadFrom !== undefined && position <= this.#unreadFrom;
    return defined({
      readFrom: this.#from,
      readUpTo: this.#upTo,
      unreadFrom: isUnread ? this.#unreadFrom : undefined,
    });
  }
}

/** Messages for one prompt. */
export interface GivenMessages {
  /** Oldest first. */
  readonly messages: readonly InboxMessage[];
  /** How many came after them that do not fit. */
  readonly more: number;
}

const NONE_GIVEN: GivenMessages = { messages: [], more: 0 };

/** Most bytes of messages in a prompt, one of any length aside: a command line takes 128 KiB at once. */
const MAX_PROMPT_BYTES = 65_536;

/** The oldest messages that fit into a prompt, at least one. */
function fitPrompt(messages: readonly InboxMessage[]): GivenMessages {
  let left = MAX_PROMPT_BYTES;
  const end = messages.findIndex(({ message }, index) =>
    (left -= utf8(textOf(message)).length) < 0 && index > 0
  );
  if (end === -1) return { messages, more: 0 };
  return { messages: messages.slice(0, end), more: messages.length - end };
}

/** Messages as parts of a prompt, at its end; none without messages. */
export function promptPieces({ messages, more }: GivenMessages): readonly Piece[] {
  if (messages.length === 0) return [];
  return [
    { text: "\n\nMessages for this task, which came in this order:\n" },
    ...messages.flatMap(({ position, message }) => [
      { text: "\n" },
      { text: textOf(message), origin: `message ${position + 1} of the inbox` },
    ]),
    ...more === 0 ? [] : [{ text: `\n${more} more came, for which there is no room here.` }],
  ];
}

function textOf(message: InboxMessage["message"]): string {
  const { text } = message;
  return typeof text === "string" && text !== "" ? text : JSON.stringify(message);
}
