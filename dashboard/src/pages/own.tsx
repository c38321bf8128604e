import { useState } from 'preact/hooks'
import { partitionInfo, partitions, type PartitionRow } from '../api/database'
import { go, href, route } from '../route'
import { bytes, count } from '../ui/format'
import { useLoad } from '../ui/load'
import { Facts, Failure, Head, Show, Table, Tabs, Text } from '../ui/pieces'
import { Documents } from './documents'
import { Queries } from './queries'

const most = 100

const pages = [
  { path: '', name: 'Documents', page: Documents },
  { path: 'queries', name: 'Queries', page: Queries },
]

/** Own is a database for people whom its rules let into partitions of it, not into all of it: they choose one, or name one
 * that does not exist yet, and see what it holds. refused is what the database said to them. */
export function Own({ db, parts, refused }: { db: string; parts: string[]; refused: Error }) {
  const partition = route.value.query.get('partition') ?? ''
  const theirs = useLoad((signal) => partitions(db, { limit: most }, signal), [db])
  return (
    <>
      <Head title={db} crumbs={<a href={href(['db'])}>Databases</a>}>
        {partition && (
          <a class="button first" href={href(['db', db, 'doc'], { id: partition + ':' })}>
            New document
          </a>
        )}
      </Head>
      {theirs.error ? <Failure error={refused} /> : <Show of={theirs}>{(t) => <Choose key={partition} db={db} partition={partition} rows={t.rows} />}</Show>}
      {!theirs.error && partition && <Partition key={partition} db={db} partition={partition} path={parts[0] ?? ''} />}
    </>
  )
}

function Choose({ db, partition, rows }: { db: string; partition: string; rows: PartitionRow[] }) {
  const [name, setName] = useState(partition)
  return (
    <section class="card">
      <p>You may see partitions of this database, not all of it.{rows.length > 0 ? ' Choose one:' : ' None of yours holds anything yet. Name one:'}</p>
      {rows.length > 0 && (
        <Table caption="Your partitions" columns={[{ name: 'Partition' }, { name: 'Documents', number: true }, { name: 'Size', number: true }]}>
          {rows.map((r) => (
            <tr key={r.partition}>
              <td class="id">
                <a href={href(['db', db], { partition: r.partition })}>{r.partition}</a>
              </td>
              <td class="number">{count(r.doc_count)}</td>
              <td class="number">{bytes(r.sizes.external)}</td>
            </tr>
          ))}
        </Table>
      )}
      {rows.length === most && <p class="dim">These are the first {most}.</p>}
      <form class="inline" onSubmit={(e) => (e.preventDefault(), go(['db', db], { partition: name }))}>
        <Text label="Partition" value={name} onChange={setName} required />
        <button>Show</button>
      </form>
    </section>
  )
}

function Partition({ db, partition, path }: { db: string; partition: string; path: string }) {
  const loaded = useLoad((signal) => partitionInfo(db, partition, signal), [db, partition])
  const shown = pages.find((p) => p.path === path) ?? pages[0]!
  return (
    <Show of={loaded}>
      {(i) => (
        <>
          <section class="card">
            <Facts
              of={[
                ['Partition', partition],
                ['Documents', count(i.doc_count)],
                ['Deleted', count(i.doc_del_count)],
                ['Size', bytes(i.sizes.external)],
              ]}
            />
          </section>
          <Tabs label="Of the partition" tabs={pages.map((p) => ({ name: p.name, href: href(['db', db, p.path].filter(Boolean), { partition }), current: p === shown }))} />
          <shown.page db={i} own />
        </>
      )}
    </Show>
  )
}
