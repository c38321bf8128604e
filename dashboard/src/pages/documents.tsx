import { useState } from 'preact/hooks'
import { isPartitioned, list, type Info, type Row } from '../api/database'
import { go, href, refine, route } from '../route'
import { useLoad } from '../ui/load'
import { Choice, Show, Table, Text } from '../ui/pieces'
import { shortRev } from '../ui/format'

const perPage = 50

// Larger documents, on the average, are listed without their beginnings: a page of them would be long on its way.
const large = 50_000

/** Documents lists documents by id: of the database, of one partition, or those whose ids begin with something. With own it
 * is the partition that the address names, for people who see no more. */
export function Documents({ db, own }: { db: Info; own?: boolean }) {
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
      <Show of={loaded}>{(rows) => <Rows db={db.db_name} rows={rows} />}</Show>
    </section>
  )
}

function Rows({ db, rows }: { db: string; rows: Row[] }) {
  if (rows.length === 0) return <p class="empty">No documents here.</p>
  const next = rows[perPage]
  return (
    <>
      <div class="preview-list">
      <Table caption="Documents" columns={[{ name: 'Id' }, { name: 'Revision' }, { name: 'Content' }]}>
        {rows.slice(0, perPage).map((r) => (
          <tr key={r.id}>
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
        {route.value.query.has('from') && <button onClick={() => history.back()}>Back</button>}
        {next && <button onClick={() => go(route.value.parts, { ...Object.fromEntries(route.value.query), from: next.id })}>Next {perPage}</button>}
      </p>
    </>
  )
}

function preview(doc: Record<string, unknown> | undefined): string {
  const { _id, _rev, ...rest } = doc ?? {}
  return JSON.stringify(rest).slice(1, -1).slice(0, 200)
}
