/**
 * Failures of Socket Mode in words for people, and whether they pass without a change. Pure.
 *
 * @module
 */

import type { ReplaceReason } from "./slack_socket.ts";

/** Why no socket could be opened, or why one has ended. */
export interface SocketFailure {
  readonly message: string;
  /** Whether only a person can solve it. */
  readonly isBroken: boolean;
  /** Pause before the next attempt in milliseconds, if Slack or the kind of failure asks for one. */
  readonly pauseMs?: number;
}

/** Pause if the app has too many sockets: those of other programs end sooner or later. */
const CROWDED_PAUSE_MS = 60_000;

/** The failure that the end of a socket is for the next attempt; `ending`: the socket's own words. */
export function failureOf(why: ReplaceReason, ending: string): SocketFailure {
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
      return { message: `The connection to Slack ended: ${ending || why}`, isBroken: false };
  }
}

/** The problem that sockets of other programs are. */
export function foreignMessage(count: number): string {
  const others = count === 1 ? "Another socket is" : `${count} other sockets are`;
  return `${others} open for this app, and Slack gives each event to one of them: create a ` +
    "separate app for the other program (one that just ended counts for a while)";
}
