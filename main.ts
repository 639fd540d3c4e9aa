/**
 * The `svcd` executable: the daemon alone, for service managers.
 *
 * @module
 */

import { terminal } from "./src/cli/io.ts";
import { runCli } from "./src/cli/run.ts";

Deno.exitCode = await runCli(["daemon", ...Deno.args], terminal());
