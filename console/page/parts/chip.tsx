/**
 * A chip for the state, outcome or result of a record: a sign, a word and a colour, any of which is
 * enough to read it. Every screen shows the same chip.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** The SVG path of each sign, in a square of 16. */
const SIGNS = {
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  bang: "M8 2.5v6.5M8 12.5v.5",
  clock: "M8 5v3l2 1.5M8 2a6 6 0 1 0 0 12 6 6 0 1 0 0-12",
  play: "M5.5 3.5v9l6.5-4.5z",
  stop: "M4.5 4.5h7v7h-7z",
  pause: "M5.5 4v8M10.5 4v8",
  funnel: "M2.5 3.5h11l-4 5v4l-3 1v-5z",
  dash: "M3.5 8h9",
  equal: "M3.5 6h9M3.5 10h9",
  swap: "M3 5.5h9.5l-2.5-2.5M13 10.5h-9.5l2.5 2.5",
  dot: "M8 7.5v1",
} as const;

type Tone = "good" | "bad" | "busy" | "pending" | "quiet";

/**
 * Sign and colour of each word of the daemon, and the text for a word that people would not say.
 */
const STATES: Readonly<Record<string, readonly [keyof typeof SIGNS, Tone, said?: string]>> = {
  accepted: ["check", "good"],
  succeeded: ["check", "good"],
  handshake: ["swap", "quiet"],
  filtered: ["funnel", "quiet"],
  skipped: ["dash", "quiet"],
  duplicate: ["equal", "quiet"],
  pending: ["clock", "pending"],
  waiting: ["pause", "pending"],
  held: ["pause", "pending"],
  running: ["play", "busy"],
  failed: ["cross", "bad"],
  rejected: ["cross", "bad"],
  cancelled: ["stop", "quiet"],
  suspended: ["pause", "pending"],
  ok: ["check", "good"],
  done: ["check", "good"],
  sent: ["check", "good"],
  routed: ["check", "good"],
  allowed: ["check", "good"],
  true: ["check", "good"],
  false: ["cross", "bad"],
  ignored: ["dash", "quiet"],
  dropped: ["stop", "quiet"],
  interrupted: ["stop", "quiet"],
  received: ["clock", "pending"],
  routing: ["play", "busy"],
  started: ["play", "busy"],
  connecting: ["clock", "pending"],
  audit_warning: ["bang", "pending", "allowed, with a warning"],
  needs_attention: ["bang", "bad", "needs attention"],
  unneeded: ["bang", "pending"],
  denied: ["cross", "bad"],
  timeout: ["cross", "bad", "timed out"],
};

/** A word of the daemon as people say it. */
export function wordOf(state: string): string {
  const said = Object.hasOwn(STATES, state) ? STATES[state]?.[2] : undefined;
  return said ?? state.replaceAll("_", " ");
}

/** A chip; unknown words have no colour. */
export function Chip({ word, children }: {
  /** The daemon's word, which decides sign and colour. */
  readonly word: string;
  /** The text to show in place of the word. */
  readonly children?: ComponentChildren;
}) {
  const [sign, tone] = (Object.hasOwn(STATES, word) ? STATES[word] : undefined) ?? ["dot", "quiet"];
  return (
    <span class={`chip ${tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={SIGNS[sign]} />
      </svg>{" "}
      <span>{children ?? wordOf(word)}</span>
    </span>
  );
}
