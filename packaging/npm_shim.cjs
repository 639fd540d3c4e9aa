#!/usr/bin/env node
// Starts the program that the package for this machine brings. It stays its parent, so it passes signals
// on, and ends as the program does.
"use strict";

const { spawn } = require("node:child_process");
const { closeSync, openSync } = require("node:fs");
const { constants } = require("node:os");
const { basename } = require("node:path");
const process = require("node:process");
const { name, optionalDependencies } = require("./package.json");

const system = process.platform === "darwin" ? "macos" : process.platform;
const wanted = `${name}-${system}-${process.arch}`;

/** Says why there is no program, and ends. */
function fail(reason) {
  console.error(`svc: ${reason}`);
  process.exit(1);
}

/** Path of the program. */
function findProgram() {
  try {
    return require.resolve(`${wanted}/bin/svc`);
  } catch {
    if (optionalDependencies[wanted] === undefined) {
      const others = Object.keys(optionalDependencies).map((one) => one.slice(name.length + 1));
      fail(
        `there is no program for ${system}-${process.arch}; there is one for ${others.join(", ")}`,
      );
    }
    const musl = system === "linux" ? "; it needs glibc, which Alpine does not have" : "";
    fail(`${wanted} is missing${musl}: npm install --global --include=optional ${name}`);
  }
}

/** Whether a terminal controls this process: Ctrl-C then reaches the program without help. */
function hasTerminal() {
  try {
    closeSync(openSync("/dev/tty", "r+"));
    return true;
  } catch {
    return false;
  }
}

// Before there is a program: a signal that comes while it starts must not end this process alone. A second
// SIGINT would stop the daemon at once.
const fromTerminal = hasTerminal() ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => fromTerminal.includes(signal) || child.kill(signal));
}

const child = spawn(findProgram(), process.argv.slice(2), {
  argv0: basename(process.argv[1]), // svc or svcd
  stdio: "inherit",
});
child.on("error", (error) => fail(`its program cannot be started: ${error.message}`));

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.exitCode = 128 + constants.signals[signal];
  process.kill(process.pid, signal);
});
