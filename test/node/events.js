// A reporter of Node's test runner that prints what `go test -json` would (go doc test2json): one JSON object a line.
// test/clients makes subtests of them.

import { basename } from 'node:path'
import { inspect } from 'node:util'

export default async function * events (source) {
  const names = [] // of the test under way at each depth
  for await (const { type, data } of source) {
    const about = { Package: basename(data.file ?? 'node'), Test: undefined }
    const print = (event) => JSON.stringify({ ...about, ...event }) + '\n'
    if (type === 'test:start') names[data.nesting] = data.name
    if (type === 'test:stdout' || type === 'test:stderr') yield print({ Action: 'output', Output: data.message })
    if (type !== 'test:pass' && type !== 'test:fail') continue
    about.Test = [about.Package, ...names.slice(0, data.nesting), data.name].join('/')
    const skipped = data.skip !== undefined || data.todo !== undefined
    if (type === 'test:fail') yield print({ Action: 'output', Output: inspect(data.details.error, { depth: 5 }) + '\n' })
    if (skipped) yield print({ Action: 'output', Output: `${data.skip || data.todo}\n` })
    yield print({ Action: skipped ? 'skip' : type === 'test:pass' ? 'pass' : 'fail' })
  }
}
