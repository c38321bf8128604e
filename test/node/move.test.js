// PouchDB in a live sync with a database that is moved, or copied, from a data directory to PostgreSQL, where three servers
// have it. It asks one address all along, a proxy that notes which documents are asked for. So it runs where the binary is
// three (test/servers/three), and THREE_BINARY the server.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import PouchDB from 'pouchdb'
import memory from 'pouchdb-adapter-memory'
import { Server, until } from './server.js'

PouchDB.plugin(memory)

// Proxy passes requests on to a server, which may become another. `seen` are the ids of the documents that were told as
// changes, fetched, and sent.
class Proxy {
  constructor (server) {
    this.to = server
    this.forget()
    this.server = createServer((ask, answer) => this.pass(ask, answer))
  }

  async listen () {
    await once(this.server.listen(0, '127.0.0.1'), 'listening')
    const { username, password } = this.to.credentials
    this.url = `http://${username}:${password}@127.0.0.1:${this.server.address().port}`
  }

  close () {
    this.server.close()
    this.server.closeAllConnections()
  }

  forget () { this.seen = { told: new Set(), fetched: new Set(), sent: new Set() } }

  async pass (ask, answer) {
    const chunks = []
    for await (const chunk of ask) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const path = ask.url.split('?')[0]
    if (path.endsWith('/_bulk_get')) JSON.parse(body).docs.forEach(({ id }) => this.seen.fetched.add(id))
    if (path.endsWith('/_bulk_docs')) JSON.parse(body).docs.forEach(({ _id }) => this.seen.sent.add(_id))
    const seen = path.endsWith('/_changes') ? this.seen.told : undefined
    // PouchDB asks for the other side's size, for its progress, and does not handle a refusal: that waits.
    const patient = ask.method === 'GET' && /^\/[^/]+\/?$/.test(path)
    const headers = { ...ask.headers }
    delete headers['accept-encoding']
    const send = () => {
      const onward = request(this.to.host + ask.url, { method: ask.method, headers }, (got) => {
        if (patient && got.statusCode === 503) {
          got.resume()
          setTimeout(send, 20)
          return
        }
        answer.writeHead(got.statusCode, got.headers)
        let text = ''
        got.on('data', (chunk) => {
          text += chunk
          answer.write(chunk)
        })
        got.on('error', () => answer.destroy())
        got.on('end', () => {
          if (seen) for (const [, id] of text.matchAll(/"id":"([^"]+)"/g)) seen.add(id)
          answer.end()
        })
      })
      onward.on('error', () => patient && !answer.destroyed ? setTimeout(send, 20) : answer.destroy())
      answer.on('close', () => onward.destroy())
      onward.end(body)
    }
    send()
  }
}

const over = process.env.THREE_POSTGRES ? test : () => {} // the step that sets it says if there is no PostgreSQL
let old, proxy
const syncs = []
const targets = []

if (process.env.THREE_POSTGRES) {
  before(async () => {
    process.env.SECTIONAL_TEST_FSYNC_OFF = '1' // the cluster is a test's; the server on the directory makes the copy
    old = await Server.of(process.env.THREE_BINARY)
    await old.resume()
    proxy = new Proxy(old)
    await proxy.listen()
  })
  after(async () => {
    syncs.forEach((sync) => sync.cancel())
    proxy?.close()
    for (const server of [old, ...targets]) await server?.remove()
  })
}

// copy copies everything into a database of its own, and gives the servers that will be there, and what came of it.
async function copy (...flags) {
  const target = await Server.of(process.env.SECTIONAL_BINARY)
  targets.push(target)
  const url = execFileSync(target.binary, ['database', target.data], { encoding: 'utf8' }).trim()
  const { stdout } = await promisify(execFile)(process.env.THREE_BINARY, ['copy', '--json', ...flags, old.data, url])
  return { target, moved: JSON.parse(stdout).moved }
}

const live = (here, far) => {
  const failures = []
  const sync = here.sync(far, { live: true, retry: true, back_off_function: () => 50 })
  syncs.push(sync)
  sync.on('error', (err) => failures.push(err)).on('denied', (err) => failures.push(err))
  return {
    async end () {
      sync.cancel()
      await once(sync, 'complete')
      assert.deepEqual(failures, [])
    }
  }
}

const documents = async (db) => (await db.allDocs()).rows.map(({ id, value: { rev } }) => `${id} ${rev}`)

// same waits until both sides have the same revisions of all documents, and gives their ids.
async function same (here, far) {
  let all
  await until('both sides have the same', async () => {
    all = await documents(here)
    return all.join() === (await documents(far)).join()
  }, 120_000)
  return new Set(all.map((line) => line.split(' ')[0]))
}

// synced makes a database with documents of both sides, and waits until checkpoints cover all of them.
async function synced (name) {
  assert.equal((await proxy.to.request('PUT', `/${name}`)).status, 201)
  const far = new PouchDB(`${proxy.url}/${name}`)
  const here = new PouchDB(`here-${name}`, { adapter: 'memory' })
  const many = (who) => Array.from({ length: 250 }, (_, n) => ({ _id: `${who}:old:${n}`, n }))
  await here.bulkDocs(many('here'))
  await far.bulkDocs(many('there'))
  const sync = live(here, far)
  const early = await same(here, far)
  assert.equal(early.size, 500)
  await until('the checkpoints are written', async () => {
    const { rows } = (await proxy.to.request('GET', `/${name}/_local_docs?include_docs=true`)).body
    const up = rows.some(({ doc }) => typeof doc.last_seq === 'number' && doc.last_seq >= 500)
    return up && rows.some(({ doc }) => parseInt(doc.last_seq, 10) >= 500 && typeof doc.last_seq === 'string')
  }, 120_000)
  return { here, far, sync, early }
}

// unreached is noted of a request that gets no answer: its server was being stopped.
const unreached = 'no answer'

// writing writes documents at both sides, by turns, until it is told to stop. A refused one is tried again.
function writing (here, name) {
  const w = { here: 0, there: 0, going: true, refusals: new Set() }
  const put = async (n) => {
    try {
      const { status, body: { error } } = await proxy.to.request('PUT', `/${name}/there:new:${n}`, { n })
      if (status === 201) return true
      w.refusals.add(`${status} ${error}`)
    } catch {
      w.refusals.add(unreached)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    return false
  }
  const done = (async () => {
    while (w.going) {
      await here.put({ _id: `here:new:${w.here}` })
      w.here++
      if (await put(w.there)) w.there++
    }
  })()
  w.more = async () => {
    const [mine, theirs] = [w.here, w.there]
    await until('documents are written at both sides', () => w.here > mine + 10 && w.there > theirs + 10, 120_000)
  }
  w.stop = async () => {
    w.going = false
    await done
    return [...Array(w.here).keys()].map((n) => `here:new:${n}`).concat([...Array(w.there).keys()].map((n) => `there:new:${n}`))
  }
  return w
}

// onlyNew looks whether nothing was told, fetched or sent again that both sides had long had, and that what was is noted.
function onlyNew (early) {
  for (const [how, ids] of Object.entries(proxy.seen)) {
    assert.deepEqual([...ids].filter((id) => early.has(id)), [], how)
    assert.ok(ids.size > 0, `nothing is ${how}`)
  }
}

over('who goes over to a copy, whose source has gone on, begins where the two forked', async () => {
  const { here, far, sync, early } = await synced('kept')
  const w = writing(here, 'kept')
  await w.more()
  const { target, moved } = await copy('--keep')
  assert.equal(moved, false)
  await w.more() // at the source, behind the fork
  const written = await w.stop()
  await same(here, far)
  await sync.end()
  assert.deepEqual([...w.refusals], [])

  await target.resume()
  proxy.forget()
  proxy.to = target
  const forked = await documents(far)
  assert.ok(forked.length < written.length + early.size, 'the fork has less than the source')
  await target.request('PUT', '/kept/there:copy', {})
  await here.replicate.from(far)
  // Checkpoints of what went up say what the source has, and a client trusts its own: for once it has to ask.
  await here.replicate.to(far, { checkpoint: false })
  const again = live(here, far)
  const all = await same(here, far)
  assert.deepEqual([...written, ...early, 'there:copy'].filter((id) => !all.has(id)), [], 'lost')
  onlyNew(early)
  await again.end()
  assert.equal((await old.request('GET', '/kept/there:copy')).status, 404)
  await target.stop()
})

over('a live sync goes on where it was when everything is moved while both sides write', async () => {
  proxy.to = old
  const { here, far, sync, early } = await synced('moved')
  const w = writing(here, 'moved')
  await w.more()
  const { target, moved } = await copy()
  assert.equal(moved, true)
  await until('the old place refuses', () => w.refusals.has('503 moved'), 120_000)
  await target.resume()
  proxy.forget()
  proxy.to = target
  await old.stop()
  await w.more()
  const written = await w.stop()
  const all = await same(here, far)
  assert.deepEqual([...w.refusals].filter((text) => text !== '503 moved' && text !== unreached), [])
  assert.deepEqual([...written, ...early].filter((id) => !all.has(id)), [], 'lost')
  assert.equal(all.size, written.length + early.size)
  onlyNew(early)
  await sync.end()
})
