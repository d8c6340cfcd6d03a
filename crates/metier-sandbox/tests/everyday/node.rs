//! Node, with what comes with it.

use crate::Language;

const NODE: Language = Language { program: "/usr/bin/node", option: "-e" };

rows! { NODE:
    files: r#"
const fs = require("fs"), path = require("path"), os = require("os");
fs.mkdirSync("a/b", { recursive: true });
fs.writeFileSync("a/b/file", "text");
fs.cpSync("a", path.join(os.tmpdir(), "copy"), { recursive: true });
fs.promises.readFile("/tmp/copy/b/file", "utf8").then(console.log).then(() => {
  const stream = fs.createReadStream("a/b/file").pipe(fs.createWriteStream("streamed"));
  stream.on("finish", () => console.log(fs.readdirSync(".").join(), fs.statSync("streamed").size));
});
"# => "text\na,streamed 4";

    watching_files: r#"
const fs = require("fs");
fs.mkdirSync("d");
const watcher = fs.watch("d", (_, name) => { console.log(name); watcher.close(); });
fs.writeFileSync("d/new", "");
"# => "new";

    child_process_exec_and_spawn: r#"
const { exec, execFileSync, spawn } = require("child_process");
console.log(execFileSync("echo", ["sync"]).toString().trim());
exec("echo out; exit 3", (error, output) => {
  console.log(output.trim(), error.code);
  const child = spawn("cat");
  child.stdout.on("data", (data) => console.log(`${data}`));
  child.on("close", (code) => console.log("closed", code));
  child.stdin.end("through cat");
});
"# => "sync\nout 3\nthrough cat\nclosed 0";

    child_process_fork: r#"
require("fs").writeFileSync("child.js", `process.on("message", (m) => { process.send(m * 2); process.disconnect(); })`);
const child = require("child_process").fork("./child.js");
child.on("message", (message) => console.log(message));
child.on("exit", (code) => console.log("exit", code));
child.send(21);
"# => "42\nexit 0";

    worker_threads: r#"
const { Worker } = require("worker_threads");
const shared = new Int32Array(new SharedArrayBuffer(4));
const worker = new Worker(`const { parentPort, workerData } = require("worker_threads");
  Atomics.add(workerData, 0, 5); parentPort.postMessage("done")`, { eval: true, workerData: shared });
worker.on("message", (message) => console.log(message, shared[0]));
"# => "done 5";

    web_assembly: r#"
const bytes = Buffer.from("AGFzbQEAAAABBwFgAn9/AX8DAgEABwcBA2FkZAAACgkBBwAgACABags=", "base64");
WebAssembly.instantiate(bytes).then(({ instance }) => console.log(instance.exports.add(40, 2)));
"# => "42";

    http_server_and_client: r#"
const http = require("http");
const server = http.createServer((request, response) => response.end(`you asked for ${request.url}`));
server.listen(0, "127.0.0.1", async () => {
  const url = `http://localhost:${server.address().port}/x`;
  console.log(await (await fetch(url)).text());
  http.get(url.replace("localhost", "127.0.0.1"), { agent: false }, (response) => {
    response.on("data", (data) => console.log(`${data}`));
    response.on("end", () => { server.close(); server.closeAllConnections(); });
  });
});
"# => "you asked for /x\nyou asked for /x";

    machine: r#"
const os = require("os");
console.log(os.cpus().length > 0, os.userInfo().username, os.hostname(), os.homedir(), os.tmpdir());
console.log(os.totalmem() > 0, os.loadavg().length, Object.keys(os.networkInterfaces()).join());
console.log(process.memoryUsage().rss > 0);
"# => "true skill sandbox.invalid /tmp /tmp\ntrue 3 lo\ntrue";

    crypto: r#"
const crypto = require("crypto"), zlib = require("zlib");
console.log(crypto.createHash("sha256").update("").digest("hex").slice(0, 8), crypto.randomUUID().length);
const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
console.log(crypto.verify(null, Buffer.from("x"), publicKey, crypto.sign(null, Buffer.from("x"), privateKey)));
console.log(crypto.scryptSync("a", "b", 16).length, zlib.gunzipSync(zlib.gzipSync("packed")).toString());
"# => "e3b0c442 36\ntrue\n16 packed";

    timers_and_signals: r#"
process.on("SIGTERM", () => { console.log("term"); clearInterval(timer); });
const timer = setInterval(() => {}, 1000);
setTimeout(() => process.kill(process.pid, "SIGTERM"), 5);
process.on("exit", () => console.log("exit"));
"# => "term\nexit";

    modules: r#"
const fs = require("fs");
fs.writeFileSync("module.mjs", "export default 6 * 7; export const at = import.meta.url.startsWith('file:')");
import(process.cwd() + "/module.mjs").then((module) => console.log(module.default, module.at));
"# => "42 true";
}

refused! { NODE:
    unix_sockets: r#"require("net").createServer().listen("./socket")"# => "EPERM";
    other_machines: r#"require("net").connect(80, "192.0.2.1")"# => "ENETUNREACH";
}
