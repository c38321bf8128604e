import { useState } from 'preact/hooks'
import { isPartitioned, list, ofOnePartition, removeAll, type Info, type Refused, type Row } from '../api/database'
import { seenAs } from '../api/session'
import { go, href, refine, route } from '../route'
import { useAction, useLoad } from '../ui/load'
import { Check, Choice, Confirm, Show, Table, Text } from '../ui/pieces'
import { shortRev } from '../ui/format'

const perPage = 50

// Larger documents, on the average, are listed without their beginnings: a page of them would be long on its way.
const large = 50_000

/** Documents lists documents by id: of the database, of one partition, or those whose ids begin with something. With own it
 * is the partition that the address names, for people who see no more. */
export function Documents({ db, own, again }: { db: Info; own?: boolean; again?: () => void }) {
  const q = route.value.query
  const [partition, prefix, from, kind] = ['partition', 'prefix', 'from', 'kind'].map((name) => q.get(name) ?? undefined)
  const [wanted, setWanted] = useState({ partition: partition ?? '', prefix: prefix ?? '' })
  const loaded = useLoad((signal) => list(db.db_name, { partition, prefix: prefix || undefined, from, limit: perPage, designs: kind === 'design', bodies: db.sizes.external < large * (db.doc_count + 1) }, signal), [db.db_name, db.update_seq, partition, prefix, from, kind])
  const show = (query: Record<string, string | undefined>) => refine({ from: undefined, ...query })
  return (
    <section class="card">
      <form class="inline" onSubmit={(e) => (e.preventDefault(), show({ partition: wanted.partition || undefined, prefix: wanted.prefix || undefined }))}>
        {isPartitioned(db) && !own && <Text label="Partition" value={wanted.partition} onChange={(p) => setWanted({ ...wanted, partition: p })} placeholder="all" />}
        <Text label="Ids that begin with" value={wanted.prefix} onChange={(p) => setWanted({ ...wanted, prefix: p })} />
        {!own && <Choice label="Kind" value={kind ?? ''} onChange={(k) => show({ kind: k })} options={[['', 'all documents'], ['design', 'design documents']]} />}
        <button>Show</button>
      </form>
      <Show of={loaded}>{(rows) => <Rows db={db.db_name} partitioned={isPartitioned(db)} rows={rows} again={() => (loaded.again(), again?.())} />}</Show>
    </section>
  )
}

function Rows({ db, partitioned, rows: read, again }: { db: string; partitioned: boolean; rows: Row[]; again: () => void }) {
  const [rows, next] = [read.slice(0, perPage), read[perPage]]
  const [ticked, setTicked] = useState<Set<string>>(new Set())
  const [last, setLast] = useState<string>() // where a range begins
  const chosen = rows.filter((r) => ticked.has(r.id))
  const tick = (id: string, on: boolean, range: boolean) => {
    const [from, to] = [rows.findIndex((r) => r.id === last), rows.findIndex((r) => r.id === id)]
    const ids = range && from >= 0 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1).map((r) => r.id) : [id]
    const after = new Set(ticked)
    for (const i of ids) on ? after.add(i) : after.delete(i)
    setTicked(after)
    setLast(id)
  }
  const mayDelete = seenAs.value === undefined
  const back = route.value.query.has('from') && <button onClick={() => history.back()}>Back</button>
  if (rows.length === 0) return <><p class="empty">No documents here.</p>{back}</>
  return (
    <>
      {mayDelete && <div class="actions">
        <Check label={`All ${rows.length} on this page`} value={chosen.length === rows.length} onChange={(all) => setTicked(new Set(all ? rows.map((r) => r.id) : []))} />
        <Deletion db={db} rows={chosen} atomic={partitioned && ofOnePartition(chosen)} again={again} />
      </div>}
      <div class="preview-list">
      <Table caption="Documents" columns={[...(mayDelete ? [{ name: 'Select' }] : []), { name: 'Id' }, { name: 'Revision', class: 'rev' }, { name: 'Content' }]}>
        {rows.map((r) => (
          <tr key={r.id}>
            {mayDelete && <td>
              <input type="checkbox" aria-label={`Select ${r.id}`} checked={ticked.has(r.id)} onClick={(e) => tick(r.id, e.currentTarget.checked, e.shiftKey)} />
            </td>}
            <td class="id">
              <a href={href(['db', db, 'doc', r.id], { partition: route.value.query.get('partition') ?? undefined })}>{r.id}</a>
            </td>
            <td class="rev">{shortRev(r.value.rev)}</td>
            <td class="preview">{preview(r.doc)}</td>
          </tr>
        ))}
      </Table>
      </div>
      <p class="actions">
        {back}
        {next && <button onClick={() => go(route.value.parts, { ...Object.fromEntries(route.value.query), from: next.id })}>Next {perPage}</button>}
      </p>
    </>
  )
}

/** Deletion deletes the documents that were selected. Those that were changed meanwhile stay, and are told; with atomic all
 * stay then. */
function Deletion({ db, rows, atomic, again }: { db: string; rows: Row[]; atomic: boolean; again: () => void }) {
  const [asked, setAsked] = useState(false)
  const [{ refused, none }, setOutcome] = useState<{ refused: Refused[]; none: boolean }>({ refused: [], none: false })
  const action = useAction()
  const many = rows.length === 1 ? '1 document' : `${rows.length} documents`
  return (
    <>
      <button class="danger" disabled={rows.length === 0} onClick={() => setAsked(true)}>
        {rows.length === 0 ? 'Delete selected' : `Delete ${many}`}
      </button>
      <div aria-live="polite">
        {refused.length > 0 && none && <p class="notice bad">Nothing was deleted.</p>}
        {refused.map((r) => (
          <p key={r.id} class="notice warn">
            {r.id} is still there: {r.error === 'conflict' ? 'it was changed meanwhile.' : r.reason}
          </p>
        ))}
      </div>
      {asked && (
        <Confirm
          title={`Delete ${many}?`}
          yes={`Delete ${many}`}
          busy={action.busy}
          error={action.error}
          onClose={() => (action.clear(), setAsked(false))}
          onYes={async () => {
            if (!(await action.run(async () => setOutcome({ refused: await removeAll(db, rows, atomic), none: atomic })))) return
            setAsked(false)
            again()
          }}
        >
          <ul class="mono">
            {rows.slice(0, 10).map((r) => (
              <li key={r.id}>{r.id}</li>
            ))}
            {rows.length > 10 && <li>and {rows.length - 10} more</li>}
          </ul>
          <p>A deletion marker takes the place of each, which replicas hear of.{atomic && rows.length > 1 && ' They are of one partition: all are deleted or none.'}</p>
        </Confirm>
      )}
    </>
  )
}

function preview(doc: Record<string, unknown> | undefined): string {
  const { _id, _rev, ...rest } = doc ?? {}
  return JSON.stringify(rest).slice(1, -1).slice(0, 200)
}
