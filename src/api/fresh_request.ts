/**
 * How a daemon carries out only changes for which the client still waits. A daemon that stood still
 * finds requests of clients that have long gone, and their connections do not show it in time. So a
 * client that changes something first asks the daemon for its time, and sends it along. The daemon
 * begins no change with a time too long ago by its own clock: it answers with its time again, and
 * only a client that still waits repeats the request.
 *
 * @module
 */

/** Header of a request: the time that the daemon gave; {@linkcode UNKNOWN_TIME} at first. */
export const ASKED_HEADER = "svc-asked";
/** Header of an answer: the time of the daemon, to be sent back as it is. */
export const TIME_HEADER = "svc-time";
/** Says that the client was given no time yet. */
export const UNKNOWN_TIME = "?";
/** Status of an answer that only gives the time, and says that nothing was done (425 Too Early). */
export const ASK_AGAIN = 425;
