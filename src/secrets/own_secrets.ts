/**
 * The secrets that the daemon has from elsewhere than a SecretStore, and that a step which prints
 * its environment, or a file of the daemon's user, would print. Pure.
 *
 * @module
 */

import { isTelling, looksRandom, namesSecret, secretParts, unescaped } from "./secret_parts.ts";

/**
 * The secrets among the variables of the daemon: those whose name says so (`API_KEY`), passwords in
 * addresses, as of a proxy, and of what steps are given under other names (`stepEnv`), whatever looks
 * made by a machine. A path is none: the file it leads to is.
 */
export function secretsAmong(
  variables: Readonly<Record<string, string>>,
  stepEnv: readonly string[],
): readonly string[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    if (/^[~.]{0,2}\//.test(value)) return [];
    if (namesSecret(name)) {
      const whole = isTelling(value) ? [value] : [];
      return [...new Set([...whole, ...secretParts(value), ...inHeaders(name, value)])];
    }
    if (HAS_USER.test(value)) return [...secretParts(value)];
    const isSecret = stepEnv.includes(name) && looksRandom(value) && !isSetting(value);
    return isSecret ? [value, ...secretParts(value)] : [];
  });
}

/** The content of a key file, and its key alone. */
export function secretsInKeyFile(text: string): readonly string[] {
  return [text.trim(), ...text.trim().split(/\s+/).slice(1)];
}

/**
 * Values in a list of headers (`name=value,name=value`), such as that for the exporter of
 * OpenTelemetry: each service has its own name for the one with the key.
 */
function inHeaders(name: string, list: string): readonly string[] {
  if (!/headers$/i.test(name)) return [];
  return list.split(",").map((field) => field.slice(field.indexOf("=") + 1).trim())
    .flatMap((value) => [value, unescaped(value)])
    .filter((value) => isTelling(value) && /[0-9]/.test(value) && /[A-Za-z]/.test(value));
}

/** An address with a user in it. */
const HAS_USER = /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*@/i;

/** An address without a password, a list or a name of a machine. */
function isSetting(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) || /^[\w-]+(\.[\w-]+)+(:\d+)?$/.test(value) ||
    /^[a-z]{2}_[A-Z]{2}\./.test(value);
}
