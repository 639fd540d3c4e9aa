/**
 * The webhook server of a daemon. The object exists from the start, so that `svc status` can read its
 * load; it listens once everything else runs.
 *
 * @module
 */

import type { AskedBy } from "../base/asked_by.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { type HttpServer, serve } from "../http/server/serve.ts";
import type { RequestHandler } from "../intake/routes.ts";
import { urlOf } from "./addresses.ts";
import type { DaemonConfig } from "./config.ts";

/** How a {@linkcode WebhookServer} listens. */
export interface WebhookServerOptions {
  /** Address, certificate and trusted proxies. */
  readonly config: DaemonConfig;
  readonly handler: RequestHandler;
  readonly maxConnections: number;
  /** Time that requests under way have to finish when the server stops. */
  readonly drainMs: number;
}

/** Serves webhooks from {@linkcode listen} on until it is disposed. */
export class WebhookServer implements AsyncDisposable {
  #server: HttpServer | undefined;
  #url: string | undefined;
  #handler: RequestHandler | undefined;

  /** Base address; `undefined` while it does not listen, or where webhooks are off. */
  get url(): string | undefined {
    return this.#url;
  }

  /** Its open connections; `undefined` while it does not listen. */
  readonly load: HttpServer["load"] = () => this.#server?.load();

  /**
   * Starts listening; does nothing where webhooks are off.
   *
   * @throws {AppError} `refused` when the address or the certificate cannot be used.
   */
  async listen({ config, ...options }: WebhookServerOptions): Promise<void> {
    const { settings, webhookTls: tls, clock, log } = config;
    const { webhookBind: on, trustedProxy: trustedProxies } = settings;
    if (on === undefined) return;
    this.#handler = options.handler;
    this.#server = await serve({
      on,
      clock,
      log,
      trustedProxies,
      ...options,
      ...defined({ tls }),
    });
    this.#url = urlOf(tls === undefined ? "http" : "https", on, this.#server.port);
  }

  /**
   * Answers a request that the daemon makes, as if it came from 127.0.0.1. It opens no connection,
   * because the certificate is for the address of the senders.
   *
   * @throws {AppError} `refused` while it does not listen.
   */
  async answer(request: Request, by: AskedBy): Promise<Response> {
    if (this.#handler === undefined) {
      throw new AppError("refused", "The daemon receives no webhooks");
    }
    return await this.#handler(request, "127.0.0.1", by);
  }

  /** Stops after the requests under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }
}
