/**
 * Records of waits: what a step of a task waits for, apart from an agent. A wait is open once and over
 * once. It has one part or several; the first that comes ends it.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { NewMessage } from "./outbox_records.ts";

/** What a part of a wait waits for. */
export const WAIT_KINDS = ["time", "approval", "event", "message", "task"] as const;
/** One of {@linkcode WAIT_KINDS}. */
export type WaitKind = typeof WAIT_KINDS[number];

/** The outputs that a wait gives its step, by name. */
export type WaitOutputs = Readonly<Record<string, string>>;

/**
 * How a wait has ended: its time came, people answered, the event or the message that it waits for came,
 * a person let the task go on, its child tasks ended, a budget had room, or its own task was cancelled or
 * ended.
 */
export type WaitEnd =
  | { readonly by: "time" }
  | AnsweredEnd
  | { readonly by: "event"; readonly deliveryId: string; readonly outputs?: WaitOutputs }
  /** `position` is that of the message in the inbox. */
  | { readonly by: "message"; readonly position: number; readonly outputs?: WaitOutputs }
  | {
    readonly by: "hand";
    readonly who: string;
    readonly reason: string;
    readonly outputs?: WaitOutputs;
  }
  /** The children of the step have ended, or may not be made. */
  | { readonly by: "children"; readonly refused?: string }
  /** What was asked for came without an answer, or is not asked for any more. */
  | { readonly by: "budget" }
  | { readonly by: "task" };

/** How the question of an approval was decided. */
export interface AnsweredEnd {
  readonly by: "answer";
  readonly answer: "approved" | "rejected";
  /** Who decided, for people: all who approved, or the one who rejected. */
  readonly who: readonly string[];
  readonly comment: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Why an admin has answered in the place of those who may. */
  readonly forced?: string;
}

/** A wait: at most one of each step in each round of its `repeat`. */
export interface WaitPlace {
  readonly taskId: string;
  /** Position of the step in its workflow. */
  readonly position: number;
  /** Number of the round, from 1. */
  readonly round: number;
}

/** By which events of a trigger a part of kind `event` is found, however many wait there. */
export interface WaitKey {
  /** Name of the trigger, in the project of the wait. */
  readonly trigger: string;
  /** How the key of an event is made: all waits with the same expressions share it. */
  readonly shape: string;
  /** The key itself, as a digest. */
  readonly digest: string;
}

/** One of the things that a step waits for. */
export interface WaitPart {
  readonly kind: WaitKind;
  /** When it is over by itself, in milliseconds since the epoch. */
  readonly dueAt: number;
  /** Whether the time is counted from when it opens: then a clock that is set back moves it. */
  readonly isRelative: boolean;
  /** What is known of it when it opens; its form is the kind's. */
  readonly asked?: JsonObject;
  /** Of one that waits for an event. */
  readonly key?: WaitKey;
  /** A long text that people are shown beside it, and that no list has; only said when it opens. */
  readonly shown?: string;
}

/** What a step asks to wait for. */
export interface AskedWait extends WaitPlace {
  readonly project: string;
  /** At least one. */
  readonly parts: readonly WaitPart[];
  /** Messages that tell of it, stored when it opens and then never again. None counts against a limit. */
  readonly messages?: readonly NewMessage[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The end of a wait. */
export type EndedWait = WaitEnd & {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Index of the part that ended it. */
  readonly part: number;
};

/** The wait of a step, as it is stored. */
export interface Wait extends WaitPlace {
  readonly project: string;
  readonly parts: readonly WaitPart[];
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Absent while it is open. */
  readonly end?: EndedWait;
}

/** An open part of a wait in a list. */
export interface ListedWait extends WaitPlace, WaitPart {
  /** Index of the part. */
  readonly part: number;
  readonly project: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Id of the step. */
  readonly step: string;
  readonly trigger: string;
  readonly workflow: string;
}

/** A part of a wait, as it is found by its key. */
export interface KeyedPart extends WaitPlace {
  /** Index of the part. */
  readonly part: number;
  readonly project: string;
  readonly key: WaitKey;
  readonly asked: JsonObject;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** It is the question of an approval, and is decided. */
  readonly isOver?: true;
}

/** A trigger whose events open waits wait for, or may answer a question that is decided. */
export interface WaitedTrigger {
  readonly project: string;
  readonly trigger: string;
  /** When the first wait was opened or question decided, in milliseconds since the epoch. */
  readonly since: number;
}

/** A shape of the open waits at a trigger, with what one of them asks. */
export interface WaitShape {
  readonly shape: string;
  readonly asked: JsonObject;
}

/** Keys of events of one trigger. */
export interface WaitKeys {
  readonly project: string;
  readonly trigger: string;
  readonly keys: readonly Pick<WaitKey, "shape" | "digest">[];
  /**
   * Asks for questions as well that were decided then or later, in milliseconds since the epoch; for open
   * parts alone if absent.
   */
  readonly decidedSince?: number;
}

/** A wait that a delivery ended. */
export interface WaitOfDelivery extends WaitPlace {
  readonly deliveryId: string;
  /** Id of the step. */
  readonly step: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Filter of a list of open waits. */
export interface WaitQuery {
  readonly project?: string;
  /** Name of the trigger of their tasks. */
  readonly trigger?: string;
  /** Only those of this task, by their position. */
  readonly taskId?: string;
  readonly kind?: WaitKind;
  readonly limit: number;
}

/** A request to end an open wait. */
export interface WaitEnding {
  readonly taskId: string;
  /** Position of the step in its workflow. */
  readonly position: number;
  /** Number of the round; the newest when absent. */
  readonly round?: number;
  /** Index of the part that ends it; the first when absent. */
  readonly part?: number;
  readonly end: WaitEnd;
  /**
   * When the event or message came, in milliseconds since the epoch: after the time of the wait it is too
   * late. Absent for what is decided now.
   */
  readonly arrivedAt?: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What came of a request to end a wait. */
export type WaitEndResult =
  /** The task goes on. */
  | { readonly is: "over" }
  /** Somebody or something else was first. */
  | { readonly is: "was over"; readonly end: EndedWait }
  /** It is the question of an approval, which nobody answers by hand. */
  | { readonly is: "asks people" }
  /** Child tasks run for it, which end it. */
  | { readonly is: "has children" }
  /** The step has no wait. */
  | { readonly is: "none" }
  /** The task has ended, or is being cancelled. */
  | { readonly is: "ended" };
