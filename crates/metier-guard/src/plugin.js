// Written by `metier guard`. Asks metier before each tool call; everything but a clear answer stops the call.
import { spawn } from "node:child_process"

const COMMANDS = "COMMANDS"
const MILLISECONDS = 3000
const LONGEST = 1_000_000

function ask(event, body) {
  const [program, ...words] = COMMANDS[event]
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "pipe"] })
    let out = ""
    let err = ""
    const fail = (why) => {
      clearTimeout(timer)
      child.kill("SIGKILL")
      reject(new Error("metier: the guard failed, so this is refused: " + why))
    }
    const timer = setTimeout(() => fail("no answer in time"), MILLISECONDS)
    child.stdout.on("data", (data) => {
      out += data
      if (out.length > LONGEST) fail("its answer is too long")
    })
    child.stderr.on("data", (data) => {
      if (err.length < 10_000) err += data
    })
    child.on("error", (error) => fail(error.message))
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code !== 0) return fail(err.trim() || "exit code " + code)
      try {
        resolve(JSON.parse(out))
      } catch {
        fail("its answer is not JSON")
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(body))
  })
}

export const MetierGuard = async ({ directory }) => {
  let servers = []
  const told = async (event, input, output) => {
    const answer = await ask(event, { directory, servers, input, output })
    if (answer.decision !== "allow") throw new Error(answer.reason || "refused by metier")
    return answer
  }
  return {
    config: async (config) => {
      servers = Object.keys(config.mcp ?? {})
    },
    "tool.execute.before": async (input, output) => {
      await told("tool.execute.before", input, output)
    },
    "tool.execute.after": async (input, output) => {
      await ask("tool.execute.after", { directory, servers, input, output: { title: output.title } }).catch(() => {})
    },
    "command.execute.before": async (input) => {
      await told("command.execute.before", input, {})
    },
    "chat.message": async (input, output) => {
      const answer = await told("chat.message", input, { parts: output.parts })
      if (!answer.context) return
      output.parts.push({
        id: "prt_" + Date.now().toString(16) + "metier",
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: answer.context,
        synthetic: true,
      })
    },
    event: async ({ event }) => {
      const name = "event." + event.type
      if (COMMANDS[name]) await ask(name, { directory, event }).catch(() => {})
    },
  }
}
