/**
 * The webhook server of a daemon: there from the start, so that others can ask how it is doing, and
 * listening when everything else is up.
 *
 * @module
 */

import type { HttpServer } from "../http/server/serve.ts";
import { serve } from "../http/server/serve.ts";
import type { DaemonConfig, HostAndPort } from "./config.ts";

/** Answers a request; `remote` is the sender's address. */
type Handler = (request: Request, remote: string) => Response | Promise<Response>;

/** What the server is told when it begins to listen. */
export interface WebhookServerOptions {
  /** Address, certificate and trusted proxies. */
  readonly config: DaemonConfig;
  readonly handler: Handler;
  /** Most connections at once. */
  readonly maxConnections: number;
  /** How long requests under way may take once the server is to stop. */
  readonly drainMs: number;
}

/** Takes webhooks from {@linkcode listen} on until it is disposed. */
export class WebhookServer implements AsyncDisposable {
  #server: HttpServer | undefined;
  #url: string | undefined;

  /** Base address; `undefined` while it does not listen, or where webhooks are off. */
  get url(): string | undefined {
    return this.#url;
  }

  /** How busy it is; `undefined` while it does not listen. */
  readonly load: HttpServer["load"] = () => this.#server?.load();

  /**
   * Takes webhooks from now on; does nothing where webhooks are off.
   *
   * @throws {AppError} `refused` when the address or the certificate cannot be used.
   */
  async listen({ config, ...options }: WebhookServerOptions): Promise<void> {
    const { webhookBind: on, webhookTls: tls, trustedProxies, clock, log } = config;
    if (on === undefined) return;
    const secure = tls === undefined ? {} : { tls };
    this.#server = await serve({ on, clock, log, trustedProxies, ...options, ...secure });
    this.#url = urlOf(tls === undefined ? "http" : "https", on, this.#server.port);
  }

  /** Stops, after the requests under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }
}

function urlOf(scheme: string, { hostname }: HostAndPort, port: number): string {
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
