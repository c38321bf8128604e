import { useEffect, useState } from 'preact/hooks'
import { create, databases, isPartitioned } from '../api/database'
import { isAdmin } from '../api/session'
import { go, href } from '../route'
import { bytes, count, rate } from '../ui/format'
import { useAction, useEvery, useLoad } from '../ui/load'
import { Ask, Check, Head, Show, Table, Text } from '../ui/pieces'

/** Databases lists what there is. Who may not list databases names one. */
export function Databases() {
  return isAdmin() ? <All /> : <Named />
}

function All() {
  const loaded = useLoad(databases, [])
  const writes = useWrites(loaded.value)
  useEvery(5000, loaded.again)
  const [creating, setCreating] = useState(false)
  const [part, setPart] = useState('')
  const [sort, setSort] = useState('name')
  return (
    <>
      <Head title="Databases">
        <button class="first" onClick={() => setCreating(true)}>
          New database
        </button>
      </Head>
      <Show of={loaded}>
        {(all) => (
          <section class="card">
            {all.length > 10 && <Text label="Names that contain" value={part} onChange={setPart} type="search" />}
            <Table
              caption="Databases"
              sorted={sort}
              onSort={setSort}
              columns={[
                { name: 'Name', sort: 'name' },
                { name: 'Documents', number: true, sort: 'docs' },
                { name: 'Deleted', number: true, sort: 'deleted' },
                { name: 'Size', number: true, sort: 'size' },
                { name: 'Writes a second', number: true, sort: 'writes' },
                { name: 'Kind' },
              ]}
            >
              {ordered(all, sort, writes)
                .filter((i) => i.db_name.includes(part))
                .map((i) => (
                  <tr key={i.db_name}>
                    <td class="id">
                      <a href={href(['db', i.db_name])}>{i.db_name}</a>
                    </td>
                    <td class="number">{count(i.doc_count)}</td>
                    <td class="number">{count(i.doc_del_count)}</td>
                    <td class="number">{bytes(i.sizes.external)}</td>
                    <td class="number">{writes.has(i.db_name) ? rate(writes.get(i.db_name)!) : '…'}</td>
                    <td>{isPartitioned(i) && <span class="badge good">partitioned</span>}</td>
                  </tr>
                ))}
            </Table>
            {all.length === 0 && <p class="empty">There is no database yet.</p>}
          </section>
        )}
      </Show>
      {creating && <Creation onClose={() => setCreating(false)} />}
    </>
  )
}

type Sorted = Awaited<ReturnType<typeof databases>>

/** useWrites returns how many writes a second each database has had while one looked, as its sequence tells. */
function useWrites(all: Sorted | undefined): Map<string, number> {
  const [begun, setBegun] = useState<{ at: number; sequences: Map<string, number> }>()
  const sequences = new Map((all ?? []).map((i) => [i.db_name, parseInt(i.update_seq, 10)]))
  useEffect(() => {
    if (all && !begun) setBegun({ at: Date.now(), sequences })
  }, [all])
  const seconds = begun ? (Date.now() - begun.at) / 1000 : 0
  if (seconds < 4) return new Map()
  return new Map([...sequences].map(([name, now]) => [name, (now - (begun!.sequences.get(name) ?? 0)) / seconds]))
}

const orders: Record<string, (i: Sorted[number]) => number | string> = {
  name: (i) => i.db_name,
  docs: (i) => i.doc_count,
  deleted: (i) => i.doc_del_count,
  size: (i) => i.sizes.external,
}

function ordered(all: Sorted, sort: string, writes: Map<string, number>): Sorted {
  const by = orders[sort.replace('-', '')] ?? ((i) => writes.get(i.db_name) ?? 0)
  const way = sort.startsWith('-') ? -1 : 1
  return all.toSorted((a, b) => way * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0))
}

function Creation({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [partitioned, setPartitioned] = useState(true)
  const action = useAction()
  return (
    <Ask
      title="New database"
      yes="Create"
      busy={action.busy}
      error={action.error}
      onClose={onClose}
      onYes={async () => {
        if (await action.run(() => create(name, partitioned))) go(['db', name])
      }}
    >
      <Text label="Name: lowercase letters, digits and _$()+-/; begins with a letter" value={name} onChange={setName} required autofocus />
      <Check
        value={partitioned}
        onChange={setPartitioned}
        label={
          <>
            Partitioned: ids are <code>partition:key</code>, and a partition's documents lie together
          </>
        }
      />
    </Ask>
  )
}

function Named() {
  const [name, setName] = useState('')
  return (
    <>
      <Head title="Databases" />
      <form class="card" onSubmit={(e) => (e.preventDefault(), go(['db', name]))}>
        <p>Only administrators see all databases. Name one that you may read.</p>
        <Text label="Database" value={name} onChange={setName} required autofocus />
        <button class="first">Open</button>
      </form>
    </>
  )
}
