/**
 * How an input travels together with an attachment: one line of JSON, a line feed, and the bytes of
 * the attachment to the end of the body.
 *
 * @module
 */

/** The content type of such a body. */
export const ATTACHED_TYPE = "application/x-svc-attached";
