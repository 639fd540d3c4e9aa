/**
 * REGISTRY of the commands. Each is loaded only when it is run, which keeps `svc` quick inside
 * plugin scripts; so its words and its summary stand here and everything else in its own file.
 *
 * @module
 */

import type { CommandEntry } from "./command.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  { words: "init", summary: "create the data directory", load: () => import("./commands/init.ts") },
  { words: "daemon", summary: "run the daemon", load: () => import("./commands/daemon.ts") },
  {
    words: "status",
    summary: "show the daemon's status",
    load: () => import("./commands/status.ts"),
  },
  {
    words: "doctor",
    summary: "look for what keeps svc from working",
    load: () => import("./commands/doctor.ts"),
  },
  {
    words: "service install",
    summary: "install the daemon as a service",
    load: () => import("./commands/service_install.ts"),
  },
  {
    words: "service uninstall",
    summary: "remove the service, keep its data",
    load: () => import("./commands/service_uninstall.ts"),
  },
  {
    words: "service status",
    summary: "show whether the service runs",
    load: () => import("./commands/service_status.ts"),
  },
  {
    words: "service logs",
    summary: "show the log of the service",
    load: () => import("./commands/service_logs.ts"),
  },
  {
    words: "stats",
    summary: "show rates and latencies minute by minute",
    load: () => import("./commands/stats.ts"),
  },
  {
    words: "console",
    summary: "open the console in a browser",
    load: () => import("./commands/console.ts"),
  },
  {
    words: "apply",
    summary: "create or change resources",
    load: () => import("./commands/apply.ts"),
  },
  {
    words: "get",
    summary: "list resources and records",
    served: true,
    load: () => import("./commands/get.ts"),
  },
  {
    words: "describe",
    summary: "show everything about one resource or record",
    served: true,
    load: () => import("./commands/describe.ts"),
  },
  {
    words: "edit",
    summary: "change a resource in an editor",
    load: () => import("./commands/edit.ts"),
  },
  { words: "delete", summary: "delete resources", load: () => import("./commands/delete.ts") },
  {
    words: "connect github",
    summary: "connect a GitHub repository or organization",
    load: () => import("./commands/connect_github.ts"),
  },
  {
    words: "connect slack",
    summary: "connect a Slack app, without a public address",
    load: () => import("./commands/connect_slack.ts"),
  },
  {
    words: "connect line",
    summary: "connect a LINE channel",
    load: () => import("./commands/connect_line.ts"),
  },
  {
    words: "connection repair",
    summary: "recover events that GitHub could not deliver",
    load: () => import("./commands/connection_repair.ts"),
  },
  {
    words: "disconnect",
    summary: "delete a Connection and its webhooks",
    load: () => import("./commands/disconnect.ts"),
  },
  {
    words: "task logs",
    summary: "show the output of a task; also svc logs",
    load: () => import("./commands/task_logs.ts"),
  },
  {
    words: "task plan",
    summary: "show the steps of a task and what each waits for",
    load: () => import("./commands/task_plan.ts"),
  },
  {
    words: "task cancel",
    summary: "cancel tasks",
    load: () => import("./commands/task_cancel.ts"),
  },
  {
    words: "task retry",
    summary: "retry a failed task",
    load: () => import("./commands/task_retry.ts"),
  },
  {
    words: "task wait",
    summary: "wait until tasks have ended",
    load: () => import("./commands/task_wait.ts"),
  },
  {
    words: "task inbox",
    summary: "read a task's messages, or send one",
    served: true,
    load: () => import("./commands/task_inbox.ts"),
  },
  {
    words: "task workspace",
    summary: "print the directory a task ran in",
    load: () => import("./commands/task_workspace.ts"),
  },
  {
    words: "trigger test",
    summary: "run a request through a trigger, start nothing",
    load: () => import("./commands/trigger_try.ts"),
  },
  {
    words: "trigger backtest",
    summary: "run its stored deliveries again, with another filter",
    load: () => import("./commands/trigger_backtest.ts"),
  },
  {
    words: "trigger send",
    summary: "sign a request as the sender would and send it",
    load: () => import("./commands/trigger_send.ts"),
  },
  {
    words: "trigger fire",
    summary: "fire a trigger by hand",
    load: () => import("./commands/trigger_fire.ts"),
  },
  {
    words: "trigger suspend",
    summary: "suspend a trigger: record deliveries, start nothing",
    load: () => import("./commands/trigger_suspend.ts"),
  },
  {
    words: "trigger resume",
    summary: "resume a suspended trigger",
    load: () => import("./commands/trigger_resume.ts"),
  },
  {
    words: "delivery explain",
    summary: "show what happened to a delivery and why",
    load: () => import("./commands/delivery_explain.ts"),
  },
  {
    words: "delivery show",
    summary: "show the headers and body of a delivery",
    load: () => import("./commands/delivery_show.ts"),
  },
  {
    words: "delivery redeliver",
    summary: "send stored deliveries through the pipeline again",
    load: () => import("./commands/delivery_redeliver.ts"),
  },
  {
    words: "source replay",
    summary: "route a chat event again",
    load: () => import("./commands/source_replay.ts"),
  },
  {
    words: "source bind",
    summary: "bind a chat thread to a task",
    load: () => import("./commands/source_bind.ts"),
  },
  {
    words: "slack reply",
    summary: "post to the Slack thread a task came from",
    served: true,
    load: () => import("./commands/slack_reply.ts"),
  },
  {
    words: "github comment",
    summary: "comment on what a task is about",
    served: true,
    load: () => import("./commands/github_comment.ts"),
  },
  {
    words: "github status",
    summary: "set the status of the commit that a task is about",
    served: true,
    load: () => import("./commands/github_status.ts"),
  },
  {
    words: "github react",
    summary: "react to what a task is about",
    served: true,
    load: () => import("./commands/github_react.ts"),
  },
  {
    words: "line push",
    summary: "push to the LINE conversation a task came from",
    served: true,
    load: () => import("./commands/line_push.ts"),
  },
  {
    words: "notification test",
    summary: "send a message to each target of a Notification",
    load: () => import("./commands/notification_try.ts"),
  },
  {
    words: "outbox retry",
    summary: "send an unsent message now",
    load: () => import("./commands/outbox_retry.ts"),
  },
  {
    words: "outbox drop",
    summary: "drop an unsent message",
    load: () => import("./commands/outbox_drop.ts"),
  },
  {
    words: "token create",
    summary: "create a token for the control plane",
    load: () => import("./commands/token_create.ts"),
  },
  {
    words: "token list",
    summary: "list the tokens of the control plane",
    load: () => import("./commands/token_list.ts"),
  },
  {
    words: "token revoke",
    summary: "revoke a token of the control plane",
    load: () => import("./commands/token_revoke.ts"),
  },
  {
    words: "node drain",
    summary: "stop a node from taking new tasks, or undo that",
    load: () => import("./commands/node_drain.ts"),
  },
  {
    words: "node forget",
    summary: "forget a node that has ended for good",
    load: () => import("./commands/node_forget.ts"),
  },
  {
    words: "audit verify",
    summary: "check that no audit row was changed or removed",
    load: () => import("./commands/audit_verify.ts"),
  },
  {
    words: "db backup",
    summary: "back up the database, also while the daemon runs",
    load: () => import("./commands/db_backup.ts"),
  },
  {
    words: "db check",
    summary: "check the database or a backup for damage",
    load: () => import("./commands/db_check.ts"),
  },
  {
    words: "db restore",
    summary: "replace the database with a backup",
    load: () => import("./commands/db_restore.ts"),
  },
  {
    words: "db rekey",
    summary: "replace the encryption key of the secrets",
    load: () => import("./commands/db_rekey.ts"),
  },
  {
    words: "db usage",
    summary: "show what uses the disk",
    load: () => import("./commands/db_usage.ts"),
  },
  {
    words: "db vacuum",
    summary: "return unused space to the file system",
    load: () => import("./commands/db_vacuum.ts"),
  },
  {
    words: "policy check",
    summary: "check whether the policy allows a command",
    load: () => import("./commands/policy_check.ts"),
  },
  {
    words: "policy lint",
    summary: "find mistakes in the plugin policy",
    load: () => import("./commands/policy_lint.ts"),
  },
  {
    words: "secret set",
    summary: "set one key of a SecretStore, typed hidden",
    load: () => import("./commands/secret_set.ts"),
  },
  {
    words: "integration list",
    summary: "list the integration packages",
    load: () => import("./commands/integration_list.ts"),
  },
  {
    words: "integration show",
    summary: "show a package's guide or files",
    load: () => import("./commands/integration_show.ts"),
  },
  {
    words: "integration install",
    summary: "install a package with its secrets",
    load: () => import("./commands/integration_install.ts"),
  },
  {
    words: "integration uninstall",
    summary: "delete a package's resources",
    load: () => import("./commands/integration_uninstall.ts"),
  },
  { words: "docs", summary: "read the manual", load: () => import("./commands/docs.ts") },
  {
    words: "schema",
    summary: "print the JSON Schema of a kind",
    load: () => import("./commands/schema.ts"),
  },
  {
    words: "tool webhook-verify-hmac",
    summary: "verify the signature of a body",
    served: true,
    load: () => import("./commands/tool_webhook_verify_hmac.ts"),
  },
  {
    words: "tool sign",
    summary: "sign a body and print the curl line that sends it",
    served: true,
    load: () => import("./commands/tool_sign.ts"),
  },
  {
    words: "tool secret-rotate",
    summary: "change one key of a SecretStore",
    served: true,
    load: () => import("./commands/tool_secret_rotate.ts"),
  },
  {
    words: "tool payload-extract",
    summary: "print one value of a JSON document",
    served: true,
    load: () => import("./commands/tool_payload_extract.ts"),
  },
  {
    words: "completions",
    summary: "print shell completions",
    load: () => import("./commands/completions.ts"),
  },
  {
    words: "version",
    summary: "print the version",
    served: true,
    load: () => import("./commands/version.ts"),
  },
  {
    words: "complete",
    summary: "complete a word for a completion script",
    internal: true,
    load: () => import("./commands/complete.ts"),
  },
  {
    words: "read-manifests",
    summary: "read manifests for the daemon",
    internal: true,
    load: () => import("./commands/read_manifests.ts"),
  },
];

/** The commands that help and completions list. */
export const LISTED: readonly CommandEntry[] = COMMANDS.filter(({ internal }) => internal !== true);
