/**
 * Requests with a transfer coding. A proxy may see the end of such a body elsewhere than we do, and
 * then what follows it on the connection was smuggled by its sender (RFC 9112, 6.1).
 *
 * @module
 */

import { markLast } from "../arrival.ts";

/** Answers a request of `peer`. */
export type AnswerPeer = (request: Request, peer: string) => Response | Promise<Response>;

/**
 * Refuses codings but `chunked`, which is all that Deno decodes: of `gzip, chunked` the body would
 * still be compressed. Nothing is served after a request with a coding on the same connection, also
 * where it is well-formed: Deno hides a length that comes after the coding.
 */
export function checkTransferCoding(answer: AnswerPeer): AnswerPeer {
  return (request, peer) => {
    const coding = request.headers.get("transfer-encoding");
    if (coding === null) return answer(request, peer);
    markLast(request);
    const isKnown = coding.toLowerCase() === "chunked";
    return asLast(isKnown ? answer(request, peer) : new Response(null, { status: 400 }));
  };
}

async function asLast(response: Response | Promise<Response>): Promise<Response> {
  const last = await response;
  last.headers.set("connection", "close");
  return last;
}
