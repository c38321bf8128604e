import { useEffect, useRef, useState } from 'preact/hooks'
import { at, get, lines, query } from '../api/http'
import type { Info } from '../api/database'
import { href } from '../route'
import { shortRev } from '../ui/format'
import { Check, Failure, Table } from '../ui/pieces'

interface Change {
  seq: string
  id: string
  deleted?: boolean
  changes: { rev: string }[]
  /** at is when it came, undefined for what was there before the page was opened. */
  at?: Date
}

const kept = 200
const earlier = 25

/** Changes shows the end of a database's feed, the latest change first, and what comes then. */
export function Changes({ db }: { db: Info }) {
  const [rows, setRows] = useState<Change[]>([])
  const [following, setFollowing] = useState(true)
  const [error, setError] = useState<Error>()
  const since = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (!following) return
    const abort = new AbortController()
    // Changes come faster than anybody reads: they are shown four times a second, the last of them.
    let waiting: Change[] = []
    const timer = setInterval(() => {
      if (waiting.length === 0) return
      const come = waiting.reverse()
      waiting = []
      setRows((r) => [...come, ...r].slice(0, kept))
    }, 250)
    const begin = async () => {
      if (since.current !== undefined) return
      const { results } = await get<{ results: Change[] }>(at(db.db_name) + '/_changes' + query({ descending: true, limit: earlier }), abort.signal)
      since.current = results[0]?.seq ?? '0'
      setRows(results)
    }
    const hear = (line: unknown) => {
      const c = line as Change & { last_seq?: string }
      since.current = c.seq ?? c.last_seq
      if (c.id) waiting.push({ ...c, at: new Date() })
      if (waiting.length > kept) waiting.shift()
    }
    setError(undefined)
    const follow = () => lines(at(db.db_name) + '/_changes' + query({ feed: 'continuous', heartbeat: 10000, since: since.current }), { signal: abort.signal }, hear)
    begin().then(follow).then(
      () => setFollowing(false),
      (e: Error) => abort.signal.aborted || (setError(e), setFollowing(false)),
    )
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [following, db.db_name])
  return (
    <section class="card">
      <h2>Changes feed</h2>
      <Check label="Follow" value={following} onChange={setFollowing} />
      <Failure error={error} />
      {rows.length === 0 ? (
        <p class="empty">{following ? 'No changes yet.' : 'Not following.'}</p>
      ) : (
        <Table caption="Changes, the latest first" columns={[{ name: 'At' }, { name: 'Document' }, { name: 'Revision' }, { name: 'Sequence', number: true }]}>
          {rows.map((c) => (
            <tr key={c.seq}>
              <td>{c.at?.toLocaleTimeString() ?? <span class="dim">earlier</span>}</td>
              <td class="id">
                <a href={href(['db', db.db_name, 'doc', c.id])}>{c.id}</a> {c.deleted && <span class="badge bad">deleted</span>}
              </td>
              <td class="rev">{c.changes.map((r) => shortRev(r.rev)).join(' ')}</td>
              <td class="number">{c.seq.replace(/-.*/, '')}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
