import { useState } from 'preact/hooks'
import { isPartitioned, type Info } from '../api/database'
import { definitions, geo, search, view, type Definition, type GeoRow, type Searched, type ViewRow } from '../api/functions'
import { href, refine, route } from '../route'
import { Bars } from '../ui/bars'
import { count } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Check, Failure, Show, Table, Text } from '../ui/pieces'
import { Places } from '../ui/places'

const kinds = { view: 'View', search: 'Full-text index', geo: 'Geo index' }

const keyOf = (d: Definition) => `${d.ddoc}/${d.kind}/${d.name}`

/** Functions asks the views, full-text and geo indexes that a database's design documents define. */
export function Functions({ db }: { db: Info }) {
  const loaded = useLoad((signal) => definitions(db.db_name, isPartitioned(db), signal), [db.db_name])
  const chosen = route.value.query.get('of') ?? undefined
  const create = (
    <a class="button" href={href(['db', db.db_name, 'doc'], { new: 'view' })}>
      New view
    </a>
  )
  return (
    <Show of={loaded}>
      {(all) => {
        const d = all.find((d) => keyOf(d) === chosen) ?? all[0]
        if (!d)
          return (
            <div class="empty">
              <p>No design document of this database defines a view, a full-text index or a geo index.</p>
              {create}
            </div>
          )
        return (
          <>
            <p>{create}</p>
            <label class="field">
              <span>View or index</span>
              <select value={keyOf(d)} onChange={(e) => refine({ of: e.currentTarget.value })}>
                {all.map((d) => (
                  <option key={keyOf(d)} value={keyOf(d)}>
                    {kinds[d.kind]} {d.ddoc}/{d.name}
                    {d.partitioned ? ', of each partition' : ''}
                  </option>
                ))}
              </select>
            </label>
            <details class="card">
              <summary>Definition</summary>
              <pre>{d.text}</pre>
              <a href={href(['db', db.db_name, 'doc', '_design/' + d.ddoc])}>Edit the design document</a>
            </details>
            {d.kind === 'view' && <View key={keyOf(d)} db={db.db_name} d={d} />}
            {d.kind === 'search' && <Search key={keyOf(d)} db={db.db_name} d={d} />}
            {d.kind === 'geo' && <Geo key={keyOf(d)} db={db.db_name} d={d} />}
          </>
        )
      }}
    </Show>
  )
}

interface Asking {
  db: string
  d: Definition
}

/** json takes what somebody types for a key: JSON, or a text without its quotation marks. */
function json(typed: string): string | undefined {
  if (typed.trim() === '') return undefined
  try {
    JSON.parse(typed)
    return typed
  } catch {
    return JSON.stringify(typed)
  }
}

function View({ db, d }: Asking) {
  const [q, setQ] = useState({ partition: '', startkey: '', endkey: '', level: d.reduces ? '1' : '', limit: '100' })
  const [reduce, setReduce] = useState(d.reduces)
  const [descending, setDescending] = useState(false)
  const [rows, setRows] = useState<ViewRow[]>()
  const action = useAction()
  const ask = () =>
    action.run(async () => {
      const grouping = reduce ? (q.level === '' ? { group: true } : { group_level: Number(q.level) }) : { reduce: d.reduces ? false : undefined }
      setRows((await view(db, d, q.partition, { startkey: json(q.startkey), endkey: json(q.endkey), descending: descending || undefined, limit: Number(q.limit), ...grouping })).rows)
    })
  const set = (name: keyof typeof q) => (value: string) => setQ({ ...q, [name]: value })
  return (
    <section class="card">
      <form onSubmit={(e) => (e.preventDefault(), void ask())}>
        <div class="inline">
          {d.partitioned && <Text label="Partition" value={q.partition} onChange={set('partition')} required />}
          <Text label="From key" value={q.startkey} onChange={set('startkey')} placeholder='"a" or [2026, 1]' />
          <Text label="To key" value={q.endkey} onChange={set('endkey')} />
          <Text label="Limit" value={q.limit} onChange={set('limit')} required />
          {reduce && <Text label="Group level (empty: exact)" value={q.level} onChange={set('level')} />}
        </div>
        {d.reduces && <Check label="Reduce" value={reduce} onChange={setReduce} />}
        <Check label="Descending" value={descending} onChange={setDescending} />
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Run
        </button>
      </form>
      {rows && <ViewRows db={db} rows={rows} />}
    </section>
  )
}

function ViewRows({ db, rows }: { db: string; rows: ViewRow[] }) {
  if (rows.length === 0) return <p class="empty">No rows.</p>
  const numbers = rows.every((r) => r.id === undefined && typeof r.value === 'number')
  if (numbers) {
    return <Bars caption="Reduced rows" columns={['Key', 'Value']} bars={rows.map((r) => ({ name: JSON.stringify(r.key), value: Math.max(0, r.value as number), text: count(r.value as number) }))} />
  }
  return (
    <Table caption="Rows" columns={[{ name: 'Key' }, { name: 'Value' }, { name: 'Document' }]}>
      {rows.map((r, i) => (
        <tr key={i}>
          <td class="mono">{JSON.stringify(r.key)}</td>
          <td class="mono">{JSON.stringify(r.value)}</td>
          <td class="id">{r.id && <a href={href(['db', db, 'doc', r.id])}>{r.id}</a>}</td>
        </tr>
      ))}
    </Table>
  )
}

/** marked shows a highlighted text: the tags that mark words are characters that no text has. */
const open = '\u{e000}'
const close = '\u{e001}'
const marked = (text: string) => text.split(open).map((part, i) => {
  const [word, rest] = part.split(close)
  return i === 0 ? part : (
    <>
      <mark>{word}</mark>
      {rest}
    </>
  )
})

function Search({ db, d }: Asking) {
  const [q, setQ] = useState({ partition: '', q: '', counts: '', sort: '', highlights: '' })
  const [found, setFound] = useState<Searched>()
  const action = useAction()
  const names = (typed: string) => (typed.trim() ? JSON.stringify(typed.split(',').map((n) => n.trim())) : undefined)
  const ask = () =>
    action.run(async () =>
      setFound(
        await search(db, d, q.partition, {
          q: q.q,
          limit: 50,
          counts: names(q.counts),
          sort: names(q.sort),
          highlight_fields: names(q.highlights),
          ...(q.highlights ? { highlight_pre_tag: open, highlight_post_tag: close } : {}),
        }),
      ),
    )
  const set = (name: keyof typeof q) => (value: string) => setQ({ ...q, [name]: value })
  return (
    <section class="card">
      <form onSubmit={(e) => (e.preventDefault(), void ask())}>
        <Text label="Query (Lucene syntax)" value={q.q} onChange={set('q')} required placeholder="name:lamp AND price:[10 TO 50]" />
        <div class="inline">
          {d.partitioned && <Text label="Partition" value={q.partition} onChange={set('partition')} required />}
          <Text label="Count by (fields)" value={q.counts} onChange={set('counts')} />
          <Text label="Sort by (fields)" value={q.sort} onChange={set('sort')} placeholder="-price, name<string>" />
          <Text label="Highlight (fields)" value={q.highlights} onChange={set('highlights')} />
        </div>
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Search
        </button>
      </form>
      {found && (
        <>
          <p role="status">{count(found.total_rows)} found.</p>
          <div class="grid">
            {Object.entries(found.counts ?? {}).map(([field, values]) => (
              <div key={field}>
                <h2>{field}</h2>
                <Bars caption={`Counts by ${field}`} columns={[field, 'Documents']} bars={Object.entries(values).map(([name, n]) => ({ name, value: n, text: count(n) }))} />
              </div>
            ))}
          </div>
          <Table caption="Found" columns={[{ name: 'Document' }, { name: 'Fields' }]}>
            {found.rows.map((r) => (
              <tr key={r.id}>
                <td class="id">
                  <a href={href(['db', db, 'doc', r.id])}>{r.id}</a>
                </td>
                <td>
                  {Object.entries(r.highlights ?? {}).map(([n, texts]) => (
                    <p key={n}>
                      {n}: {texts.map(marked)}
                    </p>
                  ))}
                  <span class="dim mono">{Object.keys(r.fields).length > 0 && JSON.stringify(r.fields)}</span>
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </section>
  )
}

function Geo({ db, d }: Asking) {
  const [q, setQ] = useState({ partition: '', lat: '48', lon: '11', radius: '500000' })
  const [rows, setRows] = useState<GeoRow[]>()
  const action = useAction()
  const ask = () => action.run(async () => setRows((await geo(db, d, q.partition, { lat: q.lat, lon: q.lon, radius: q.radius, relation: 'contains', limit: 200 })).rows))
  const set = (name: keyof typeof q) => (value: string) => setQ({ ...q, [name]: value })
  return (
    <section class="card">
      <form onSubmit={(e) => (e.preventDefault(), void ask())}>
        <div class="inline">
          {d.partitioned && <Text label="Partition" value={q.partition} onChange={set('partition')} required />}
          <Text label="Latitude" value={q.lat} onChange={set('lat')} required />
          <Text label="Longitude" value={q.lon} onChange={set('lon')} required />
          <Text label="Within metres" value={q.radius} onChange={set('radius')} required />
        </div>
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Run
        </button>
      </form>
      {rows && <Places rows={rows} link={(id) => href(['db', db, 'doc', id])} />}
    </section>
  )
}
