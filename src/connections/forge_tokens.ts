/**
 * The tokens with which svc acts at a forge through a Connection: the token of the Connection for
 * everything, or those of its App at GitHub, each for one repository and the rights of one purpose.
 *
 * @module
 */

import type { KeyObject } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { KeyedMutex } from "../base/keyed_mutex.ts";
import { capitalized } from "../base/sentence.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf, appName, type GitHubAppSpec } from "../resources/connection.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { ApiAccess } from "./api/api_call.ts";
import { type Connection, readToken } from "./find_connection.ts";
import { findPrivateKey, makeAppJwt } from "./github/app_jwt.ts";
import { appPage, installPage } from "./github/app_pages.ts";
import { lackedRights, rightsText, rightsToAsk, type WantedRights } from "./github/app_rights.ts";
import {
  findInstallation,
  type Installation,
  listInstallations,
  makeInstallationToken,
} from "./github/app_token.ts";

/** The purpose of a token. */
export interface TokenPurpose {
  /** The repository, as `OWNER/NAME`. */
  readonly repository: string;
  readonly rights: WantedRights;
}

/** The state of the daemon that tokens come from. */
export interface ForgeTokensHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Hides a token from every text, until it is disposed. */
  readonly secrets: { hide(value: string): Disposable };
}

/** A token that is used until it ends, and hidden while it lasts. */
interface LiveToken {
  readonly token: string;
  /** Milliseconds since the epoch by the local clock: used until then, and hidden until its end. */
  readonly usedUntil: number;
  readonly endsAt: number;
  readonly hidden: Disposable;
}

/** An App, as a Connection names it. */
interface App {
  readonly connection: Connection;
  readonly spec: GitHubAppSpec;
  /** Names it and its API in memory. */
  readonly at: string;
}

/** Time before its end at which a token is no longer used. */
const BEFORE_END_MS = 5 * 60_000;
const JWT_BEFORE_END_MS = 60_000;
/** Difference of two clocks from which a JWT is made anew. */
const CLOCKS_DIFFER_MS = 30_000;
/** Most tokens that are kept. */
const MOST = 1000;

/** The tokens of all Connections to forges. */
export class ForgeTokens {
  readonly #host: ForgeTokensHost;
  readonly #live = new Map<string, LiveToken>();
  readonly #turns = new KeyedMutex();
  /** By how many milliseconds the local clock is ahead of an API's. */
  readonly #ahead = new Map<string, number>();
  /** The text of the key that was tried last for an App, of several in its SecretStore. */
  readonly #tried = new Map<string, string>();

  constructor(host: ForgeTokensHost) {
    this.#host = host;
  }

  /**
   * Access for calls about one repository. With an App, its token is for this repository and these
   * rights alone. Calls throw `refused` where there is none.
   */
  access(connection: Connection, purpose: TokenPurpose, signal?: AbortSignal): ApiAccess {
    const app = this.#appOf(connection);
    const common = { ...this.#common(connection), ...defined({ signal }) };
    if (app === undefined) return { ...common, token: () => this.#personal(connection) };
    let last = "";
    let wasRenewed = false;
    return {
      ...common,
      token: async () => last = await this.#tokenFor(app, purpose, signal),
      renew: () => {
        if (wasRenewed) return false;
        wasRenewed = true;
        return this.#forget(last);
      },
    };
  }

  /**
   * Access to the webhooks of a Connection and their log: as its App itself, or with its personal
   * token.
   */
  hookAccess(connection: Connection, signal?: AbortSignal): ApiAccess {
    const app = this.#appOf(connection);
    if (app !== undefined) return this.#asApp(app, signal);
    const token = () => this.#personal(connection);
    return { ...this.#common(connection), token, ...defined({ signal }) };
  }

  /**
   * Why an App cannot work for its Connection, one sentence without a full stop; `undefined` if it can.
   *
   * @throws {AppError} `refused`, `overloaded`.
   */
  async whyNotInstalled(connection: Connection, signal: AbortSignal): Promise<string | undefined> {
    const app = this.#appOf(connection);
    if (app === undefined) return undefined;
    const all = await listInstallations(this.#asApp(app, signal));
    const { organization, repositories } = connection.spec.github ?? {};
    const owners = organization === undefined
      ? repositories?.map((name) => name.split("/")[0] ?? "")
      : [organization];
    const accounts = new Set(owners?.map((one) => one.toLowerCase()));
    const wanted = accounts.size === 0 ? [undefined] : [...accounts];
    for (const account of wanted) {
      const found = all.filter((one) => account === undefined || sameText(one.account, account));
      if (found.some(({ isSuspended }) => !isSuspended)) continue;
      const where = account === undefined ? "" : ` on ${account}`;
      return found.length === 0
        ? notInstalled(app, where)
        : `${
          capital(app.spec)
        } is suspended${where}: unsuspend it in the settings of its installation`;
    }
    return undefined;
  }

  /** Everything that the App of a Connection is installed on. */
  async installations(
    connection: Connection,
    signal: AbortSignal,
  ): Promise<readonly Installation[]> {
    const app = this.#appOf(connection);
    return app === undefined ? [] : await listInstallations(this.#asApp(app, signal));
  }

  /** Forgets the tokens of the App of a Connection: what it is installed on has changed. */
  forgetAll(connection: Connection): void {
    const app = this.#appOf(connection);
    if (app === undefined) return;
    for (const [key, { token }] of this.#live) {
      if (key.startsWith(`${app.at}\n`)) this.#forget(token);
    }
  }

  #common(connection: Connection) {
    return { api: apiUrlOf(connection.spec), clock: this.#host.clock };
  }

  #appOf(connection: Connection): App | undefined {
    const { github } = connection.spec;
    if (github?.app === undefined) return undefined;
    const { project, name } = connection;
    const at = JSON.stringify([apiUrlOf(connection.spec), github.app, project, name]);
    return { connection, spec: github.app, at };
  }

  #personal(connection: Connection): string {
    return readToken(connection, forgeToken(connection), this.#host.catalog);
  }

  /** Access as the App itself: tries its keys one after the other, and sets right a wrong clock. */
  #asApp(app: App, signal?: AbortSignal): ApiAccess {
    const common = this.#common(app.connection);
    const { api, clock } = common;
    const keys = appKeys(app.connection, this.#host.catalog);
    const tried = this.#tried.get(app.at);
    // The key that was tried last comes first: it was taken, or all were refused.
    const untried = keys.toSorted((a, b) => Number(b.pem === tried) - Number(a.pem === tried));
    let last = "";
    let wasSet = false;
    return {
      ...common,
      ...defined({ signal }),
      token: () => {
        const [key] = untried;
        if (key === undefined) throw new Error("An App has no key left to try");
        this.#tried.set(app.at, key.pem);
        return last = this.#jwt(app, key);
      },
      renew: (at) => {
        this.#forget(last);
        const ahead = at === undefined ? 0 : clock.now() - at;
        const differs = Math.abs(ahead - (this.#ahead.get(api) ?? 0)) > CLOCKS_DIFFER_MS;
        if (at !== undefined && differs && !wasSet) {
          wasSet = true;
          this.#ahead.set(api, ahead);
          return true;
        }
        untried.shift();
        return untried.length > 0;
      },
    };
  }

  #jwt({ at, spec, connection }: App, { pem, key }: AppKey): string {
    const name = `${at}\njwt\n${pem}`;
    const known = this.#find(name);
    if (known !== undefined) return known;
    const ahead = this.#ahead.get(apiUrlOf(connection.spec)) ?? 0;
    const issuer = spec.clientId ?? String(spec.id);
    const { token, endsAt } = makeAppJwt(key, issuer, this.#host.clock.now() - ahead);
    return this.#keep(name, { token, endsAt: endsAt + ahead }, JWT_BEFORE_END_MS);
  }

  async #tokenFor(app: App, purpose: TokenPurpose, signal?: AbortSignal): Promise<string> {
    const { repository, rights } = purpose;
    const { spec, connection } = app;
    if (repository === "") throw new AppError("refused", `${capital(spec)} acts in one repository`);
    const key = `${app.at}\n${repository.toLowerCase()}\n${JSON.stringify(rights)}`;
    return await this.#turns.run(key, async () => {
      const known = this.#find(key);
      if (known !== undefined) return known;
      const access = this.#asApp(app, signal);
      const found = await findInstallation(access, repository);
      if (found === undefined) {
        throw new AppError("refused", notInstalled(app, ` on ${repository}`));
      }
      if (found.isSuspended) {
        const message = `${capital(spec)} is suspended on ${found.account}: unsuspend it in the ` +
          "settings of its installation";
        throw new AppError("refused", message);
      }
      const lacked = lackedRights(rights.needs, found.rights);
      if (Object.keys(lacked).length > 0) {
        const message = `${capital(spec)} lacks the permission ${rightsText(lacked)} on ` +
          `${repository}: add it in the app's settings (${appPage(connection.spec, spec)}), and ` +
          `accept it in the settings of its installation`;
        throw new AppError("refused", message);
      }
      const made = await makeInstallationToken(access, {
        installation: found.id,
        repository,
        rights: rightsToAsk(rights, found.rights),
      });
      const ahead = this.#ahead.get(access.api) ?? 0;
      return this.#keep(key, { ...made, endsAt: made.endsAt + ahead }, BEFORE_END_MS);
    });
  }

  #find(key: string): string | undefined {
    const now = this.#host.clock.now();
    const live = this.#live.get(key);
    return live !== undefined && live.usedUntil > now ? live.token : undefined;
  }

  #keep(
    key: string,
    { token, endsAt }: { readonly token: string; readonly endsAt: number },
    beforeEnd: number,
  ): string {
    const now = this.#host.clock.now();
    for (const [old, { endsAt, hidden }] of this.#live) {
      if (old !== key && endsAt > now && this.#live.size < MOST) continue;
      hidden[Symbol.dispose]();
      this.#live.delete(old);
    }
    const hidden = this.#host.secrets.hide(token);
    this.#live.set(key, { token, endsAt, usedUntil: endsAt - beforeEnd, hidden });
    return token;
  }

  /** Uses a token no more; it stays hidden until its end. Whether it was in use. */
  #forget(token: string): boolean {
    for (const [key, live] of this.#live) {
      if (live.token !== token || live.usedUntil === 0) continue;
      this.#live.set(key, { ...live, usedUntil: 0 });
      return true;
    }
    return false;
  }
}

/** A private key of an App, and its text. */
interface AppKey {
  readonly pem: string;
  readonly key: KeyObject;
}

/** Most keys of an App that are tried: GitHub takes 25, and a rotation needs two. */
const MAX_KEYS = 3;

/**
 * The private keys of an App: the one that it names, and others of the same SecretStore, because two
 * are there while one is rotated.
 *
 * @throws {AppError} `refused` if the SecretStore or its key does not exist, or holds no private key.
 */
function appKeys({ name, project, spec }: Connection, catalog: Catalog): readonly AppKey[] {
  const app = spec.github?.app;
  if (app === undefined) throw new AppError("refused", "The Connection has no app");
  const { store, key } = app.privateKey.fromSecret;
  const data = catalog.find<SecretStoreSpec>("SecretStore", project, store)?.spec.data ?? {};
  const pem = Object.hasOwn(data, key) ? data[key] : undefined;
  const set = `svc secret set ${store} ${key}`;
  const what = `the private key of ${appName(app)}, of Connection "${name}"`;
  if (pem === undefined) {
    const message = `SecretStore "${store}" has no key "${key}", ${what}: set it with ${set}`;
    throw new AppError("refused", message);
  }
  const named = findPrivateKey(pem);
  if (named === undefined) {
    const message = `SecretStore "${store}" has under "${key}" no RSA key in PEM, ${what}: set ` +
      `it again with ${set}`;
    throw new AppError("refused", message);
  }
  const others = Object.entries(data).filter(([other]) => other !== key).flatMap(([, pem]) => {
    const found = findPrivateKey(pem);
    return found === undefined ? [] : [{ pem, key: found }];
  });
  return [{ pem, key: named }, ...others].slice(0, MAX_KEYS);
}

/**
 * Checks that a Connection to a forge has its token or its private key.
 *
 * @throws {AppError} `refused` with what is missing.
 */
export function checkForgeToken(connection: Connection, catalog: Catalog): void {
  if (connection.spec.github?.app !== undefined) return void appKeys(connection, catalog);
  readToken(connection, forgeToken(connection), catalog);
}

/** The field of a Connection that names its token. */
function forgeToken({ spec: { github, gitlab } }: Connection) {
  const token = github?.token ?? gitlab?.token;
  if (token === undefined) throw new AppError("refused", "The Connection is not to a forge");
  return token;
}

function notInstalled({ spec, connection }: App, where: string): string {
  return `${capital(spec)} is not installed${where}: ${installPage(connection.spec, spec)}`;
}

const capital = (app: GitHubAppSpec) => capitalized(appName(app));

function sameText(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
