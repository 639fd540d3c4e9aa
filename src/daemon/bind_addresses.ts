/**
 * The addresses that a daemon listens on by its settings.
 *
 * @module
 */

import { type HostAndPort, parseBind } from "./addresses.ts";
import { defaultOf, SETTINGS, type SettingValue } from "./settings.ts";

/** An address with the setting that says it. */
export interface BindAddress extends HostAndPort {
  readonly setting: "webhook-bind" | "control-bind";
}

/** Those of `daemon.yaml`, or by default; its flags are not known while a daemon does not run. */
export function addressesToBind(
  file: ReadonlyMap<string, SettingValue>,
): readonly BindAddress[] {
  return (["webhook-bind", "control-bind"] as const).flatMap((name) => {
    const setting = SETTINGS.find((one) => one.name === name);
    const text = file.get(name) ?? (setting && defaultOf(setting)) ?? "none";
    const on = parseBind(String(text));
    return on === undefined || on === "wrong" ? [] : [{ setting: name, ...on }];
  });
}
