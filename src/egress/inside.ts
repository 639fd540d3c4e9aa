/**
 * What a step sees of its egress: one port on its loopback, an address for each API with a key, and the
 * variables that lead its programs there. Pure, except that it reads secrets where it is told how.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { HeaderValue, Injection, NetworkRules } from "../resources/network.ts";
import { fitsHeader } from "../resources/network.ts";

/** The port inside the sandbox whose connections the egress serves, on every address of its loopback. */
export const EGRESS_PORT = 3128;

/** The address of the proxy inside the sandbox. */
const PROXY = "127.0.0.1";

/** The headers that the daemon adds to the requests of one injection, by their names in lower case. */
export type InjectedHeaders = Readonly<Record<string, string>>;

/** The loopback address, inside the sandbox, of the injection at this place in the list. */
export function injectionAddress(index: number): string {
  return `127.0.0.${index + 2}`;
}

/** The place in the list of the injection that has this address; `undefined` if none can have it. */
export function injectionAt(address: string): number | undefined {
  const [, last] = /^127\.0\.0\.([0-9]+)$/.exec(address) ?? [];
  return last === undefined || Number(last) < 2 ? undefined : Number(last) - 2;
}

/** The variables of a step whose network has these rules; those of the step itself come after them. */
export function egressEnv({ allow, inject }: NetworkRules): Record<string, string> {
  const proxy = `http://${PROXY}:${EGRESS_PORT}`;
  // What a step serves to itself is reached directly; an address of the daemon's machine that the rules
  // name is not inside the sandbox, so it goes through the proxy.
  const direct = ["localhost", "127.0.0.1", "::1", ...inject.map((_, at) => injectionAddress(at))]
    .filter((host) => !allow.some((rule) => rule.matches === "address" && names(rule.host, host)));
  const around = direct.join(",");
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: around,
    no_proxy: around,
    NODE_USE_ENV_PROXY: "1", // Node's own fetch looks at the others only then
    ...Object.fromEntries(inject.map((one, at) => [one.env, insideUrl(one, at)])),
  };
}

function names(rule: string, host: string): boolean {
  return rule === host || (host === "::1" && rule === "0:0:0:0:0:0:0:1");
}

function insideUrl({ base }: Injection, index: number): string {
  return `http://${injectionAddress(index)}:${EGRESS_PORT}${base}`;
}

/**
 * The headers of each injection, with its secrets.
 *
 * @throws {AppError} `invalid` when a value can be no header; what `readSecret` throws.
 */
export function fillHeaders(
  { inject }: NetworkRules,
  readSecret: (from: { readonly store: string; readonly key: string }) => string,
): InjectedHeaders[] {
  const valueOf = (name: string, value: HeaderValue): string => {
    if (typeof value === "string") return value;
    const { prefix = "", fromSecret } = value;
    const secret = readSecret(fromSecret);
    if (fitsHeader(secret) && secret !== "") return prefix + secret;
    throw new AppError(
      "invalid",
      `The value of "${fromSecret.key}" in SecretStore "${fromSecret.store}" cannot be the header ` +
        `"${name}": it has to be one line, without blanks around it`,
    );
  };
  return inject.map(({ headers }) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, valueOf(name, value)]))
  );
}
