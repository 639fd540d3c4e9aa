/**
 * Writes the unit of packages into the directory of units, and the optional drop-in that makes it
 * stricter into the directory of the documentation.
 *
 * @module
 */

import { join } from "node:path";
import {
  HARDENING,
  hardeningDropIn,
  PACKAGE_UNIT,
  systemdUnit,
  UNIT,
} from "../src/service/systemd_unit.ts";

if (import.meta.main) {
  const [units = "", documentation = ""] = Deno.args;
  await Deno.writeTextFile(join(units, UNIT), systemdUnit(PACKAGE_UNIT));
  await Deno.writeTextFile(join(documentation, HARDENING), hardeningDropIn());
}
