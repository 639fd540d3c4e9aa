/**
 * The secrets of the daemon that are in no SecretStore. A step that prints its environment, or a file
 * of the daemon's user, would show them. Pure.
 *
 * @module
 */

import { isTelling, looksRandom, namesSecret, secretParts, unescaped } from "./secret_parts.ts";

/**
 * The secrets among the variables of the daemon: values of variables whose name says that they are
 * secret (`API_KEY`), passwords in addresses, such as that of a proxy, and values that look random in
 * variables that steps inherit (`stepEnv`). A path is no secret, only the file that it leads to.
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

/** The content of a key file, and the key in it without the rest. */
export function secretsInKeyFile(text: string): readonly string[] {
  return [text.trim(), ...text.trim().split(/\s+/).slice(1)];
}

/**
 * The secrets in a list of headers (`name=value,name=value`), such as that for the exporter of
 * OpenTelemetry. Each service has another name for the header with the key, so the values decide.
 */
function inHeaders(name: string, list: string): readonly string[] {
  if (!/headers$/i.test(name)) return [];
  return list.split(",").map((field) => field.slice(field.indexOf("=") + 1).trim())
    .flatMap((value) => [value, unescaped(value)])
    .filter((value) => isTelling(value) && /[0-9]/.test(value) && /[A-Za-z]/.test(value));
}

/** An address with a user in it. */
const HAS_USER = /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*@/i;

/** Whether a value is an address without a user, the name of a machine, or a locale. */
function isSetting(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) || /^[\w-]+(\.[\w-]+)+(:\d+)?$/.test(value) ||
    /^[a-z]{2}_[A-Z]{2}\./.test(value);
}
