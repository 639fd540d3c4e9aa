/**
 * Routes of the fake LINE for the channel: its owner, its webhook, and the test of that webhook,
 * which really sends a request.
 *
 * @module
 */

import { createHmac } from "node:crypto";

/** The channel secret of the fake. */
export const LINE_SECRET = "8c570fa6dd201bb328f1c1eac23a96d8";

export interface FakeChannel {
  /** Its webhook, and whether it is active. */
  readonly webhook: { endpoint: string; active: boolean };
  /** Method and path of each call, in order. */
  readonly calls: string[];
  /** Maps the endpoint to the address that is called: the endpoint may be made up. */
  reach: (endpoint: string) => string;
  /** Secret of its signatures. */
  secret: string;
}

/** The routes; they return `undefined` for any other request. */
export function channelRoutes(token: string): {
  readonly state: FakeChannel;
  readonly answer: (
    request: Request,
    body: { readonly endpoint?: unknown },
  ) => Promise<Response | undefined>;
} {
  const state: FakeChannel = {
    webhook: { endpoint: "", active: false },
    calls: [],
    reach: (endpoint) => endpoint,
    secret: LINE_SECRET,
  };
  const { webhook } = state;
  const routes: Readonly<
    Record<string, (body: { readonly endpoint?: unknown }) => Response | Promise<Response>>
  > = {
    "GET /v2/bot/info": () =>
      Response.json({
        userId: "Ub9952f8",
        basicId: "@216ru",
        displayName: "Brightwater",
        chatMode: "bot",
      }),
    "GET /v2/bot/channel/webhook/endpoint": () =>
      webhook.endpoint === "" ? problem(404, "Not found") : Response.json(webhook),
    "PUT /v2/bot/channel/webhook/endpoint"({ endpoint }) {
      if (typeof endpoint !== "string" || !/^https:\/\/.{1,492}$/.test(endpoint)) {
        return problem(400, "Invalid webhook endpoint URL");
      }
      webhook.endpoint = endpoint;
      return Response.json({});
    },
    "POST /v2/bot/channel/webhook/test": async () => Response.json(await tried(state)),
  };
  return {
    state,
    async answer(request, body) {
      const name = `${request.method} ${new URL(request.url).pathname}`;
      const route = routes[name];
      if (route === undefined) return undefined;
      state.calls.push(name);
      if (request.headers.get("authorization") === `Bearer ${token}`) return await route(body);
      return problem(401, "Authentication failed. Confirm that the access token is valid.");
    },
  };
}

function problem(status: number, message: string): Response {
  return Response.json({ message }, { status });
}

/** Posts a request without events to the webhook, as LINE's test does. */
async function tried({ webhook, reach, secret }: FakeChannel): Promise<Record<string, unknown>> {
  const timestamp = new Date().toISOString();
  const body = JSON.stringify({ destination: "Ub9952f8", events: [] });
  const signature = createHmac("sha256", secret).update(body).digest("base64");
  try {
    const response = await fetch(reach(webhook.endpoint), {
      method: "POST",
      headers: { "content-type": "application/json", "x-line-signature": signature },
      body,
      redirect: "manual",
    });
    await response.body?.cancel();
    const { status: statusCode, ok: success } = response;
    const reason = success ? "OK" : "ERROR_STATUS_CODE";
    return { success, timestamp, statusCode, reason, detail: `${statusCode}` };
  } catch {
    const reason = "COULD_NOT_CONNECT";
    return { success: false, timestamp, statusCode: 0, reason, detail: "Connection refused" };
  }
}
