#!/usr/bin/env node
// Starts the program of this platform's package. Arguments, terminal, signals and exit code are passed on.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
const name = `@metier/cli-${process.platform}-${process.arch}${musl ? "-musl" : ""}`;

let program;
try {
  program = require.resolve(`${name}/metier`);
} catch {
  const supported = Object.keys(require("../package.json").optionalDependencies);
  console.error(
    supported.includes(name)
      ? `error: the package ${name} is not installed; it is an optional dependency of metier\n` +
          "hint: npm install metier --include=optional"
      : `error: metier has no npm package for this platform (${name}); available: ${supported.join(", ")}\n` +
          "hint: build it with cargo install",
  );
  process.exit(5);
}

if (process.execve) {
  // Node.js 22.15 and newer: the program takes the place of this process.
  process.execve(program, [program, ...process.argv.slice(2)], process.env);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends signals to both processes. This one waits for the program and passes on what only it gets.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => signal === "SIGINT" || signal === "SIGQUIT" || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(5);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
