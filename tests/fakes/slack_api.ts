/**
 * A server with Slack's `chat.postMessage`, whose answers the test decides.
 *
 * @module
 */

/** A post that arrived. */
export interface SlackPost {
  readonly channel: string;
  readonly text: string;
  readonly thread_ts?: string;
  /** The header `authorization`. */
  readonly authorization: string;
}

/** A stand-in for Slack's Web API. */
export interface SlackApi extends AsyncDisposable {
  /** Base URL, for `svc daemon --slack-api-url`. */
  readonly url: string;
  /** Every post, in order. */
  readonly posts: SlackPost[];
  /** Paths of all requests. */
  readonly paths: string[];
}

/** Starts a server; `answer` makes the answer to a post, by default a new `ts`. */
export function slackApi(
  answer: (post: SlackPost, nth: number) => Response | Promise<Response> = (_post, nth) =>
    Response.json({ ok: true, ts: `1700000100.${String(nth).padStart(6, "0")}` }),
): SlackApi {
  const posts: SlackPost[] = [];
  const paths: string[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen() {}, onError: () => new Response() };
  const ended = new AbortController();
  const server = Deno.serve({ ...options, signal: ended.signal }, async (request) => {
    paths.push(new URL(request.url).pathname);
    const authorization = request.headers.get("authorization") ?? "";
    const post: SlackPost = { ...await request.json(), authorization };
    posts.push(post);
    return await answer(post, posts.length);
  });
  return {
    posts,
    paths,
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/api`,
    async [Symbol.asyncDispose]() {
      ended.abort(); // also what a test left hanging
      await server.finished;
    },
  };
}
