/**
 * Every operation of the control plane, and why the console does not have those it has not. A new
 * operation does not compile here without its line, and nobody has it in the console without being
 * listed there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { type OperationName, OPERATIONS } from "../../src/api/operations.ts";
import { CONSOLE_OPERATIONS, type ConsoleOperation } from "../../src/console/allowed_operations.ts";

const RIGHTS = "gives or takes rights, which is asked for in a terminal";
const SECRETS = "takes a secret, and none is entered in a browser";
const DATABASE = "is about the whole database, which is the operator's in a terminal";
const ANSWERS = "answers outside in the name of a task, which is for its steps";
const TERMINAL = "changes what is set up, which is done in a terminal";
const ERASES =
  "deletes for good what others may have to look into, which an admin does in a terminal";
const STREAMED = "is in the one stream of a page";

const WHY_NOT: { readonly [Name in Exclude<OperationName, ConsoleOperation>]: string } = {
  "apply": TERMINAL,
  "connect.github": SECRETS,
  "connect.slack": SECRETS,
  "connect.line": SECRETS,
  "connection.disconnect": TERMINAL,
  "connection.repair": TERMINAL,
  "db.backup": DATABASE,
  "db.check": DATABASE,
  "db.usage": DATABASE,
  "db.vacuum": DATABASE,
  "delete": TERMINAL,
  "delivery.delete": ERASES,
  "doctor": "asks for an address to try and is about the machine, which is done in a terminal",
  "get.watch": STREAMED,
  "github.comment": ANSWERS,
  "github.react": ANSWERS,
  "github.status": ANSWERS,
  "line.push": ANSWERS,
  "slack.reply": ANSWERS,
  "node.drain": DATABASE,
  "node.forget": DATABASE,
  "notification.test": TERMINAL,
  "outbox.wait": STREAMED,
  "secret.remove": SECRETS,
  "secret.rotate": SECRETS,
  "task.delete": ERASES,
  "task.wait": STREAMED,
  "task.workspace.clean": "removes commits, which is done where they can be looked at",
  "token.create": RIGHTS,
  "token.revoke": RIGHTS,
  "trigger.send": "signs what it is given and can send it elsewhere",
  "trigger.sign": "signs what it is given",
};

Deno.test("the console has an operation, or there is a reason why it has not", () => {
  const both = [...CONSOLE_OPERATIONS, ...Object.keys(WHY_NOT)];
  deepEqual(both.toSorted(), Object.keys(OPERATIONS).toSorted());
  for (const reason of Object.values(WHY_NOT)) ok(reason.length > 10);
});

Deno.test("nothing that only an admin may do is in the console", () => {
  deepEqual(CONSOLE_OPERATIONS.filter((name) => OPERATIONS[name].role === "admin"), []);
});
