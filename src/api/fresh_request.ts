/**
 * How a client has a daemon do only what it still waits for. A daemon that stood still finds requests
 * of clients that have long gone, and a connection does not say so in time. So a client that changes
 * something asks the daemon for its time first, and the daemon begins nothing that was asked for long
 * ago by its own clock: it answers with its time again, which only who is there repeats.
 *
 * @module
 */

/** Header of a request: the time that the daemon gave; {@linkcode UNKNOWN_TIME} at first. */
export const ASKED_HEADER = "svc-asked";
/** Header of an answer: the time of the daemon, to be sent back as it is. */
export const TIME_HEADER = "svc-time";
/** Says that the client was given no time yet. */
export const UNKNOWN_TIME = "?";
/** Status of an answer that gives the time, and no other: nothing was done (425 Too Early). */
export const ASK_AGAIN = 425;
