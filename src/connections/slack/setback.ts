/**
 * What keeps Socket Mode from working, in words, and whether it passes by itself. Pure.
 *
 * @module
 */

import type { Successor } from "./line.ts";

/** Why no line could be opened, or why one is over. */
export interface Setback {
  readonly message: string;
  /** Whether somebody has to mend it. */
  readonly isBroken: boolean;
  /** Pause that was asked for, in milliseconds. */
  readonly pauseMs?: number;
}

/** Pause where the app has too many sockets: theirs end sooner or later. */
const CROWDED_PAUSE_MS = 60_000;

/** What the end of a line means for the next attempt. */
export function setbackOf(why: Successor, { why: said }: { readonly why: string }): Setback {
  switch (why) {
    case "switched off":
      return {
        message: "Socket Mode is switched off: switch it on under Socket Mode on the app's page",
        isBroken: true,
      };
    case "too many":
      return {
        message: "The app has more sockets than Slack allows: stop the other programs that use " +
          "its app-level token",
        isBroken: true,
        pauseMs: CROWDED_PAUSE_MS,
      };
    case "unreadable":
      return {
        message:
          "The connection sent a lot of data that Slack never sends: check what is between " +
          "this machine and Slack",
        isBroken: false,
      };
    default:
      return { message: `The connection to Slack ended: ${said || why}`, isBroken: false };
  }
}

/** What sockets of others mean for this one. */
export function foreignMessage(count: number): string {
  const others = count === 1 ? "Another socket is" : `${count} other sockets are`;
  return `${others} open for this app, and Slack gives each event to one of them: create a ` +
    "separate app for the other program (one that just ended counts for a while)";
}
