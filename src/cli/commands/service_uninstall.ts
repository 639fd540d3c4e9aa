/**
 * `svc service uninstall`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { findService } from "../../service/service_lookup.ts";
import { carryOut, commandLine, plainWord } from "../../service/steps.ts";
import { SERVICE_USER } from "../../service/systemd.ts";
import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { namedScope, refuseUnlessRoot, serviceHost, SYSTEM } from "../service_host.ts";

export const command: Command = defineCommand({
  help: "Stops the service that svc service install created, and removes its file. The data " +
    "and the user svc stay: it prints how to delete them. Exit 4 if there is no service.",
  options: [
    SYSTEM,
    { flags: "--dry-run", help: "print what would be done, but change nothing" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc service uninstall",
    "sudo svc service uninstall",
    "svc service uninstall --dry-run",
  ],
  async run(context) {
    const { io } = context;
    const host = serviceHost(io);
    const { manager, state } = await findService(host, namedScope(context));
    const { service, scope } = manager;
    if (state === undefined) throw new AppError("not_found", `There is no ${service} here`);
    const { file, author, dataDir, user } = state;
    if (author !== "svc") {
      const whose = author === "a package" ? "came with the package of svc" : "is not from svc";
      const cure = `"systemctl disable --now ${service}" stops it; remove the rest as it was ` +
        "installed";
      throw new AppError("refused", `${file} ${whose}: ${cure}`);
    }
    const isDry = context.options.dryRun;
    if (!isDry) refuseUnlessRoot(scope, host, "uninstall");
    const steps = await manager.remove();
    if (!isDry) await carryOut(steps, host);
    if (context.options.output === "json") {
      const facts = { service, scope, file, data_dir: dataDir ?? null };
      return io.out(jsonText({ ...facts, commands: steps.map(commandLine) }));
    }
    if (isDry) return io.out(steps.map((step) => `${commandLine(step)}\n`).join(""));
    io.out(`${service} is gone (${file})\n`);
    if (dataDir === undefined) return;
    const dir = plainWord(dataDir);
    io.out(
      `Its data stays in ${dataDir}, with its key and its secrets: "rm -rf ${dir}" deletes it` +
        `${user === SERVICE_USER ? `, "userdel ${user}" its user` : ""}\n`,
    );
  },
});
