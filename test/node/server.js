// Starts the server that the tests speak to: the real binary, on a free port, with a data directory of its own.

import { spawn, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const user = 'adm'
const password = 'pass'

// until asks again and again, and fails when the deadline passes before the answer is a true value.
export async function until (what, ask, limit = 120_000) {
  const deadline = Date.now() + limit
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`not within ${limit} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

// pauses gives a function that waits until a live sync has nothing under way. A server that is killed before that meets
// a request of PouchDB's whose failure PouchDB does not handle (it asks for the other side's size, for its progress),
// and that fails whatever test is running.
export function pauses (sync) {
  let paused = false
  sync.on('paused', () => { paused = true }).on('active', () => { paused = false })
  return () => until('the sync pauses', () => paused)
}

// counting gives a fetch for PouchDB, made of its own, and a function that waits until all that was asked by it is answered:
// at the end of a replication PouchDB asks for the other side's size, and neither waits for it nor handles its failure.
export function counting (fetch) {
  let asked = 0
  const count = async (...request) => {
    asked++
    try {
      return await fetch(...request)
    } finally {
      asked--
    }
  }
  return [count, () => until('all is answered', () => asked === 0)]
}

const reserved = [] // sockets that hold the ports of servers

// freePort finds a port below those that the kernel gives to whoever asks for any, and that clients have: such a one may be
// given away before the server listens. Others who start servers do not get it while this process lives: they hold the
// UDP port of the same number before, as internal/testkit/process says.
async function freePort () {
  const port = 12000 + randomInt(20000)
  const holder = createSocket('udp4').unref()
  const probe = createServer()
  try {
    holder.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(holder, 'listening')
    reserved.push(holder)
    await once(probe.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return freePort() // somebody has it
  }
  probe.close()
  await once(probe, 'close')
  return port
}

// A Server can be killed and started again on the same port and data.
export class Server {
  // start makes one; flags are further ones of "serve".
  static async start (...flags) {
    const server = await Server.of(process.env.SECTIONAL_BINARY, ...flags)
    await server.resume()
    return server
  }

  // of makes one of a binary, which is built if there is none, and does not start it.
  static async of (binary, ...flags) {
    const server = new Server()
    server.flags = flags
    server.directory = mkdtempSync(join(tmpdir(), 'sectional-node-'))
    server.binary = binary
    if (!server.binary) {
      server.binary = join(server.directory, 'sectional')
      execFileSync('go', ['build', '-o', server.binary, './cmd/sectional'], { cwd: root, stdio: 'inherit' })
    }
    server.port = await freePort()
    server.host = `http://127.0.0.1:${server.port}`
    server.url = `http://${user}:${password}@127.0.0.1:${server.port}`
    server.credentials = { username: user, password }
    return server
  }

  get data () { return join(this.directory, 'data') }

  // resume starts the process and returns when it answers.
  async resume () {
    this.output = ''
    this.child = spawn(this.binary, ['serve', '--data', this.data, '--listen', `127.0.0.1:${this.port}`, ...this.flags],
      { env: { ...process.env, COUCHDB_USER: user, COUCHDB_PASSWORD: password } })
    this.ended = once(this.child, 'exit')
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', (text) => { this.output += text })
    }
    await until('the server answers', async () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended:\n${this.output}`)
      if (!this.output.includes(' listens on ')) return false
      try {
        return (await fetch(`${this.host}/_up`)).ok
      } catch {
        return false
      }
    })
  }

  // kill ends the process as a power cut would.
  async kill () {
    this.child.kill('SIGKILL')
    await this.ended
  }

  // stop ends the process in good order: what was asked is answered first. PouchDB asks for the other side's size, for its
  // progress, and does not wait for the answer at the end of a replication, nor handle that there is none.
  async stop () {
    this.child.kill('SIGTERM')
    await this.ended
  }

  // remove ends the process and takes the data away.
  async remove () {
    if (this.child) await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }

  // request sends one request as the administrator and gives status and parsed body.
  async request (method, path, body) {
    const answer = await fetch(this.host + path, {
      method,
      headers: {
        authorization: 'Basic ' + Buffer.from(`${user}:${password}`).toString('base64'),
        'content-type': 'application/json',
        accept: 'application/json'
      },
      body: body === undefined ? undefined : JSON.stringify(body)
    })
    const text = await answer.text()
    return { status: answer.status, body: text && JSON.parse(text) }
  }
}
