/**
 * REGISTRY of the commands. A command is loaded only when it is run, which keeps `svc` quick inside
 * plugin scripts; so its words and its summary stand here and everything else in its own file.
 *
 * @module
 */

import { FORGE_WORDS, type ForgeName } from "../../base/forge_names.ts";
import type { ForgeCommands } from "../at_forges.ts";
import { type CommandEntry } from "../command.ts";

/** Words, summary, file, and whether the command is `served` or `internal` ({@linkcode CommandEntry}). */
type Row = readonly [
  words: string,
  summary: string,
  load: CommandEntry["load"],
  use?: "served" | "internal",
];

/** The commands of a forge that are made by a description for all forges. */
function forgeRows(forge: ForgeName): readonly Row[] {
  const { pull, pullCommand } = FORGE_WORDS[forge];
  const rows: readonly (readonly [
    words: string,
    summary: string,
    load: () => Promise<{ readonly commands: ForgeCommands }>,
    use?: "served",
  ])[] = [
    ["comment", "comment on what a task is about", () => import("./forge_comment.ts"), "served"],
    [
      "status",
      "set the status of the commit that a task is about",
      () => import("./forge_status.ts"),
      "served",
    ],
    ["issue create", "file an issue for a task", () => import("./forge_issue_create.ts")],
    ["label", "label what a task is about", () => import("./forge_label.ts")],
    ["review", `review the ${pull} that a task is about`, () => import("./forge_review.ts")],
    [
      `${pullCommand} create`,
      `open a ${pull}, or renew it`,
      () => import("./forge_pull_create.ts"),
    ],
    [
      `${pullCommand} update`,
      `change the title or text of a ${pull}`,
      () => import("./forge_pull_update.ts"),
    ],
    ["push", `put a commit onto a task's ${pull}`, () => import("./forge_push.ts")],
    ["react", "react to what a task is about", () => import("./forge_react.ts"), "served"],
    [
      "may",
      "show what a task may do, and what is left of it",
      () => import("./forge_may.ts"),
      "served",
    ],
    ["checks", "show how a commit stands", () => import("./forge_checks.ts"), "served"],
  ];
  return rows.map(([words, summary, load, ...use]) => [
    `${forge} ${words}`,
    summary,
    async () => ({ command: (await load()).commands[forge] }),
    ...use,
  ]);
}

const ROWS: readonly Row[] = [
  ["init", "create the data directory", () => import("./init.ts")],
  ["daemon", "run the daemon", () => import("./daemon.ts")],
  ["status", "show the daemon's status", () => import("./status.ts")],
  ["doctor", "look for what keeps svc from working", () => import("./doctor.ts")],
  ["service install", "install the daemon as a service", () => import("./service_install.ts")],
  [
    "service uninstall",
    "remove the service, keep its data",
    () => import("./service_uninstall.ts"),
  ],
  ["service status", "show whether the service runs", () => import("./service_status.ts")],
  ["service logs", "show the log of the service", () => import("./service_logs.ts")],
  ["stats", "show rates and latencies minute by minute", () => import("./stats.ts")],
  ["console", "open the console in a browser", () => import("./console.ts")],
  [
    "console serve",
    "serve the console to a team, with login",
    () => import("./console_serve.ts"),
  ],
  ["apply", "create or change resources", () => import("./apply.ts")],
  ["get", "list resources and records", () => import("./get.ts"), "served"],
  [
    "describe",
    "show everything about one resource or record",
    () => import("./describe.ts"),
    "served",
  ],
  ["edit", "change a resource in an editor", () => import("./edit.ts")],
  ["delete", "delete resources", () => import("./delete.ts")],
  [
    "connect github",
    "connect a GitHub repository or organization",
    () => import("./connect_github.ts"),
  ],
  [
    "connect gitlab",
    "connect a GitLab project or group",
    () => import("./connect_gitlab.ts"),
  ],
  [
    "connect slack",
    "connect a Slack app, without a public address",
    () => import("./connect_slack.ts"),
  ],
  ["connect line", "connect a LINE channel", () => import("./connect_line.ts")],
  [
    "connection repair",
    "recover events that a forge could not deliver",
    () => import("./connection_repair.ts"),
  ],
  ["disconnect", "delete a Connection and its webhooks", () => import("./disconnect.ts")],
  ["task logs", "show the output of a task; also svc logs", () => import("./task_logs.ts")],
  ["task plan", "show the steps of a task and what each waits for", () => import("./task_plan.ts")],
  ["task cancel", "cancel tasks", () => import("./task_cancel.ts")],
  ["task continue", "end the wait of a step by hand", () => import("./task_continue.ts")],
  ["task approve", "approve what a step asks", () => import("./task_approve.ts")],
  ["task reject", "reject what a step asks", () => import("./task_reject.ts")],
  ["task retry", "retry a failed task", () => import("./task_retry.ts")],
  ["task wait", "wait until tasks have ended", () => import("./task_wait.ts")],
  ["task inbox", "read a task's messages, or send one", () => import("./task_inbox.ts"), "served"],
  ["task workspace", "print the directory a task ran in", () => import("./task_workspace.ts")],
  [
    "sandbox show",
    "show what a step can read, write and reach",
    () => import("./sandbox_show.ts"),
  ],
  [
    "agent check",
    "look whether a step could run an agent",
    () => import("./agent_check.ts"),
  ],
  ["sandbox try", "run a command in a sandbox by hand", () => import("./sandbox_try.ts")],
  ["mcp", "give a coding agent tools of svc", () => import("./mcp.ts")],
  [
    "trigger test",
    "run a request through a trigger, start nothing",
    () => import("./trigger_try.ts"),
  ],
  [
    "trigger backtest",
    "run its stored deliveries again, with another filter",
    () => import("./trigger_backtest.ts"),
  ],
  [
    "trigger send",
    "sign a request as the sender would and send it",
    () => import("./trigger_send.ts"),
  ],
  ["trigger fire", "fire a trigger by hand", () => import("./trigger_fire.ts")],
  [
    "trigger suspend",
    "suspend a trigger: record deliveries, start nothing",
    () => import("./trigger_suspend.ts"),
  ],
  ["trigger resume", "resume a suspended trigger", () => import("./trigger_resume.ts")],
  [
    "delivery explain",
    "show what happened to a delivery and why",
    () => import("./delivery_explain.ts"),
  ],
  ["delivery show", "show the headers and body of a delivery", () => import("./delivery_show.ts")],
  [
    "delivery redeliver",
    "send stored deliveries through the pipeline again",
    () => import("./delivery_redeliver.ts"),
  ],
  [
    "conversation bind",
    "let a conversation go on with a task",
    () => import("./conversation_bind.ts"),
  ],
  ["source replay", "route a chat event again", () => import("./source_replay.ts")],
  ["source bind", "bind a chat thread to a task", () => import("./source_bind.ts")],
  [
    "slack reply",
    "post to the Slack thread a task came from",
    () => import("./slack_reply.ts"),
    "served",
  ],
  ...forgeRows("github"),
  [
    "github check",
    "set a check run of the commit that a task is about",
    () => import("./github_check.ts"),
  ],
  ...forgeRows("gitlab"),
  [
    "line push",
    "push to the LINE conversation a task came from",
    () => import("./line_push.ts"),
    "served",
  ],
  [
    "notification test",
    "send a message to each target of a Notification",
    () => import("./notification_try.ts"),
  ],
  ["outbox show", "show a message, and what it changes", () => import("./outbox_show.ts")],
  ["outbox send", "send a message that is held for a person", () => import("./outbox_send.ts")],
  ["outbox retry", "send an unsent message now", () => import("./outbox_retry.ts")],
  ["outbox drop", "drop an unsent message", () => import("./outbox_drop.ts")],
  ["token create", "create a token for the control plane", () => import("./token_create.ts")],
  ["token list", "list the tokens of the control plane", () => import("./token_list.ts")],
  ["token revoke", "revoke a token of the control plane", () => import("./token_revoke.ts")],
  [
    "pause",
    "stop tasks from starting, of one project or of all",
    () => import("./pause.ts"),
  ],
  ["resume", "end a pause", () => import("./resume.ts")],
  [
    "node drain",
    "stop a node from taking new tasks, or undo that",
    () => import("./node_drain.ts"),
  ],
  ["node forget", "forget a node that has ended for good", () => import("./node_forget.ts")],
  [
    "audit verify",
    "check that no audit row was changed or removed",
    () => import("./audit_verify.ts"),
  ],
  ["db backup", "back up the database, also while the daemon runs", () => import("./db_backup.ts")],
  ["db check", "check the database or a backup for damage", () => import("./db_check.ts")],
  ["db restore", "replace the database with a backup", () => import("./db_restore.ts")],
  ["db move", "move the database to PostgreSQL", () => import("./db_move.ts")],
  ["db rekey", "replace the encryption key of the secrets", () => import("./db_rekey.ts")],
  ["db usage", "show what uses the disk", () => import("./db_usage.ts")],
  ["db vacuum", "return unused space to the file system", () => import("./db_vacuum.ts")],
  ["policy check", "check whether the policy allows a command", () => import("./policy_check.ts")],
  ["policy lint", "find mistakes in the plugin policy", () => import("./policy_lint.ts")],
  ["secret set", "set one key of a SecretStore, typed hidden", () => import("./secret_set.ts")],
  ["integration list", "list the integration packages", () => import("./integration_list.ts")],
  ["integration show", "show a package's guide or files", () => import("./integration_show.ts")],
  [
    "integration install",
    "install a package with its secrets",
    () => import("./integration_install.ts"),
  ],
  [
    "integration uninstall",
    "delete a package's resources",
    () => import("./integration_uninstall.ts"),
  ],
  ["docs", "read the manual", () => import("./docs.ts")],
  ["schema", "print the JSON Schema of a kind", () => import("./schema.ts")],
  [
    "tool webhook-verify-hmac",
    "verify the signature of a body",
    () => import("./tool_webhook_verify_hmac.ts"),
    "served",
  ],
  [
    "tool sign",
    "sign a body and print the curl line that sends it",
    () => import("./tool_sign.ts"),
    "served",
  ],
  [
    "tool secret-rotate",
    "change one key of a SecretStore",
    () => import("./tool_secret_rotate.ts"),
    "served",
  ],
  [
    "tool payload-extract",
    "print one value of a JSON document",
    () => import("./tool_payload_extract.ts"),
    "served",
  ],
  ["completions", "print shell completions", () => import("./completions.ts")],
  ["version", "print the version", () => import("./version.ts"), "served"],
  [
    "complete",
    "complete a word for a completion script",
    () => import("./complete.ts"),
    "internal",
  ],
  [
    "read-manifests",
    "read manifests for the daemon",
    () => import("./read_manifests.ts"),
    "internal",
  ],
];

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = ROWS.map(([words, summary, load, use]) => ({
  words,
  summary,
  load,
  served: use === "served",
  internal: use === "internal",
}));

/** The commands that help and completions list. */
export const LISTED: readonly CommandEntry[] = COMMANDS.filter(({ internal }) => !internal);
