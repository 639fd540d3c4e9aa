/**
 * The addresses that a daemon listens on by its settings.
 *
 * @module
 */

import type { HostAndPort } from "./addresses.ts";
import type { SettingValue } from "./setting_type.ts";
import { valuesOf } from "./settings.ts";

/** An address with the setting that says it. */
export interface BindAddress extends HostAndPort {
  readonly setting: "webhook-bind" | "control-bind";
}

/** Those of `daemon.yaml`, or by default; its flags are not known while a daemon does not run. */
export function addressesToBind(
  file: ReadonlyMap<string, SettingValue>,
): readonly BindAddress[] {
  const { webhookBind, controlBind } = valuesOf(file);
  const addresses: BindAddress[] = [];
  if (webhookBind !== undefined) addresses.push({ setting: "webhook-bind", ...webhookBind });
  if (controlBind !== undefined) addresses.push({ setting: "control-bind", ...controlBind });
  return addresses;
}
