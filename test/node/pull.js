// A first pull by PouchDB into leveldb, for the benchmark: node pull.js URL DIRECTORY. It prints how many documents were
// written and how long that took.

import PouchDB from 'pouchdb'

const [url, directory] = process.argv.slice(2)
const here = new PouchDB(directory, { adapter: 'leveldb' })
const began = performance.now()
const { docs_written: written } = await here.replicate.from(url)
console.log(JSON.stringify({ written, milliseconds: performance.now() - began }))
await here.close()
