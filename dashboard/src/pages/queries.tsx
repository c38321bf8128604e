import { useEffect, useState } from 'preact/hooks'
import { isPartitioned, type Info } from '../api/database'
import { createIndex, deleteIndex, explain, fieldNames, find, indexes, serves, suggest, type Explained, type Field, type Found as Answered, type Index, type Stats } from '../api/mango'
import { href, refine, route } from '../route'
import { bytes, count } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Check, Confirm, Facts, Failure, Show, Table, Text } from '../ui/pieces'
import { Editor } from '../ui/editor'
import { Found } from '../ui/found'

const example = '{\n  "selector": {\n    \n  },\n  "limit": 25\n}'

interface Request {
  selector?: unknown
  sort?: unknown
}

interface Answer {
  request: Request
  partition: string
  found: Answered
  explained: Explained
}

/** Queries runs Mango queries and shows how they are run: the plan, what was read, the index that would serve. With own it
 * asks the partition that the address names, of people who see no more. */
export function Queries({ db, own }: { db: Info; own?: boolean }) {
  const [text, setText] = useState(route.value.query.get('q') ?? example)
  const [partition, setPartition] = useState(route.value.query.get('partition') ?? '')
  const [answer, setAnswer] = useState<Answer>()
  const [bookmarks, setBookmarks] = useState<string[]>([])
  const [version, setVersion] = useState(0)
  const action = useAction()
  const run = (marks: string[]) =>
    action.run(async () => {
      const request = JSON.parse(text) as Request
      const page = { ...request, execution_stats: true, bookmark: marks.at(-1) }
      const [explained, found] = await Promise.all([explain(db.db_name, partition, { ...request, execution_stats: true }), find(db.db_name, partition, page)])
      refine({ q: text, partition: partition || undefined })
      setBookmarks(marks)
      setAnswer({ request, partition, explained, found })
    })
  useEffect(() => void (route.value.query.has('q') && run([])), [])
  return (
    <>
      <form class="card" onSubmit={(e) => (e.preventDefault(), void run([]))}>
        {isPartitioned(db) && !own && <Text label="Partition (only its documents are read)" value={partition} onChange={setPartition} placeholder="all" />}
        <Editor label="The query" value={text} onChange={setText} onSave={() => void run([])} lines={9} />
        <p />
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Run
        </button>
      </form>
      {answer && (
        <>
          <PlanOf answer={answer} db={db} onIndex={own ? undefined : () => (setVersion(version + 1), void run([]))} />
          <Results db={db.db_name} found={answer.found} />
          <p class="actions">
            {bookmarks.length > 0 && <button onClick={() => void run(bookmarks.slice(0, -1))}>Back</button>}
            {answer.found.docs && answer.found.docs.length > 0 && answer.found.bookmark && answer.found.bookmark !== 'nil' && <button onClick={() => void run([...bookmarks, answer.found.bookmark!])}>Next page</button>}
          </p>
        </>
      )}
      {!own && <Indexes key={version} db={db} />}
    </>
  )
}

/** PlanOf draws how a query was run, from the index to what was returned. */
function PlanOf({ answer, db, onIndex }: { answer: Answer; db: Info; onIndex?: () => void }) {
  const { explained, found } = answer
  const stats = found.execution_stats
  return (
    <section class="card">
      <h2>Query plan</h2>
      <ol class="plan">
        {explained.plan?.map((p, i) => (
          <li key={i}>
            <strong>{p.index.startsWith('_design/') ? nameOf(explained.index, p.index) : 'Scan of all documents'}</strong>
            {p.direction === 'rev' && ', backward'}
            {p.ranges.length > 0 && (
              <>
                : <code>{p.ranges.join(', ')}</code>
              </>
            )}{' '}
            <span class="dim">
              {count(p.rows)}
              {p.exact ? '' : ' or more'} rows{p.covering ? ', which hold all that is asked for' : ''}
            </span>
          </li>
        ))}
        {!explained.plan && (
          <li>
            <strong>{explained.index ? nameOf(explained.index, '') : 'Scan of all documents'}</strong>
          </li>
        )}
        <li>The selector is checked for each of these documents.</li>
      </ol>
      {stats && <Facts of={read(stats)} />}
      {found.warning && <p class="notice warn">{found.warning}</p>}
      {onIndex && <Advice answer={answer} db={db} onIndex={onIndex} />}
    </section>
  )
}

const nameOf = (i: Index | null, path: string) => (i ? `Index of ${fieldNames(i).join(', ')}` : path)

const read = (s: Stats): [string, string][] => [
  ['Keys read', count(s.total_keys_examined)],
  ['Documents read', count(s.total_docs_examined)],
  ['Returned', count(s.results_returned)],
  ['Partitions', count(s.partitions)],
  ['Read', bytes(s.bytes)],
  ['Time', `${s.execution_time_ms.toFixed(1)} ms`],
]

/** Advice offers the index that would serve the query, if there is none. */
function Advice({ answer, db, onIndex }: { answer: Answer; db: Info; onIndex: () => void }) {
  const action = useAction()
  const fields = suggest(answer.request)
  const chosen = answer.explained.index
  if (!fields || (chosen && serves(chosen, fields))) return <></>
  const make = () => createIndex(db.db_name, { index: { fields, sparse: false }, type: 'json', ...(isPartitioned(db) ? { partitioned: answer.partition !== '' } : {}) })
  return (
    <div class="notice">
      <p>
        An index of <code>{list(fields)}</code>
        {isPartitioned(db) && (answer.partition ? ', in each partition,' : ', over all partitions,')} would serve this query.
      </p>
      <Failure error={action.error} />
      <button disabled={action.busy} onClick={async () => (await action.run(make)) && onIndex()}>
        Create it
      </button>
    </div>
  )
}

const list = (fields: Field[]) => fields.map((f) => Object.entries(f).map(([n, way]) => (way === 'desc' ? `${n} (descending)` : n))).join(', ')

/** Results shows documents, groups, or a count. */
function Results({ db, found }: { db: string; found: Answered }) {
  if (found.count !== undefined) return <section class="card"><Facts of={[['Documents that match', count(found.count)]]} /></section>
  const rows: Record<string, unknown>[] = found.docs ?? found.groups?.map((g) => ({ ...Object.fromEntries(g.key.map((k, i) => [`key ${i + 1}`, k])), ...g.value })) ?? []
  const names = [...new Set(rows.slice(0, 50).flatMap((d) => Object.keys(d)))].filter((n) => n !== '_rev').slice(0, 8)
  return <Found rows={rows} names={names} cell={(d, n) => <Value db={db} name={n} value={d[n]} />} raw="As JSON" none="Nothing matches." />
}

function Value({ db, name, value }: { db: string; name: string; value: unknown }) {
  if (name === '_id') return <a href={href(['db', db, 'doc', String(value)])}>{String(value)}</a>
  if (value === undefined) return <></>
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return <>{text.length > 120 ? text.slice(0, 120) + '…' : text}</>
}

/** Indexes lists the indexes of fields and of texts that Mango's queries use. */
function Indexes({ db }: { db: Info }) {
  const loaded = useLoad((signal) => indexes(db.db_name, signal), [db.db_name])
  const action = useAction()
  const [deleting, setDeleting] = useState<Index>()
  return (
    <section class="card">
      <h2>Indexes</h2>
      {deleting && (
        <Confirm
          title={`Delete the index of ${fieldNames(deleting).join(', ')}?`}
          yes="Delete index"
          busy={action.busy}
          error={action.error}
          onClose={() => (action.clear(), setDeleting(undefined))}
          onYes={async () => {
            if (!(await action.run(() => deleteIndex(db.db_name, deleting)))) return
            setDeleting(undefined)
            loaded.again()
          }}
        >
          <p>
            Queries that it serves read all documents from then on. It is <code>{deleting.name}</code> of <code>{deleting.ddoc}</code>.
          </p>
        </Confirm>
      )}
      <Show of={loaded}>
        {(all) => (
          <Table caption="Indexes" columns={[{ name: 'Fields' }, { name: 'Kind' }, { name: 'Of' }, { name: 'Actions' }]}>
            {all.map((i) => (
              <tr key={`${i.ddoc}/${i.name}`}>
                <td>
                  {fieldNames(i).join(', ') || 'all fields'} {i.def.partial_filter_selector != null && <code>{JSON.stringify(i.def.partial_filter_selector)}</code>}
                </td>
                <td>{i.type === 'special' ? 'built in' : i.type}</td>
                <td>{i.ddoc && isPartitioned(db) ? (i.partitioned ? 'each partition' : 'all partitions') : ''}</td>
                <td>
                  {i.ddoc && (
                    <button class="quiet" aria-label={`Delete the index of ${fieldNames(i).join(', ')}`} onClick={() => setDeleting(i)}>
                      Delete
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
      <NewIndex db={db} onDone={loaded.again} />
    </section>
  )
}

/** NewIndex makes an index of the fields that somebody names. */
function NewIndex({ db, onDone }: { db: Info; onDone: () => void }) {
  const [typed, setTyped] = useState('')
  const [each, setEach] = useState(false)
  const action = useAction()
  const fields = typed.split(',').map((f) => f.trim()).filter(Boolean)
  const make = () => createIndex(db.db_name, { index: { fields, sparse: false }, type: 'json', ...(isPartitioned(db) ? { partitioned: each } : {}) })
  return (
    <form
      onSubmit={async (e) => {
        e.preventDefault()
        if (!(await action.run(make))) return
        setTyped('')
        onDone()
      }}
    >
      <h3>New index</h3>
      <div class="inline">
        <Text label="Fields, in the order of the index" value={typed} onChange={setTyped} required placeholder="type, address.city" />
        <button disabled={action.busy}>Create index</button>
      </div>
      {isPartitioned(db) && <Check label="For queries of one partition" value={each} onChange={setEach} />}
      <Failure error={action.error} />
    </form>
  )
}
