/**
 * The `svc` executable: every command. Called by the name `svcd`, it is the daemon alone, for service
 * managers.
 *
 * @module
 */

import { basename } from "node:path";
import process from "node:process";
import { terminal } from "./src/cli/io.ts";
import { runCli } from "./src/cli/run.ts";

const command = basename(process.argv0) === "svcd" ? ["daemon"] : [];
Deno.exitCode = await runCli([...command, ...Deno.args], terminal());
