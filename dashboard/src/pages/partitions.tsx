import { useState } from 'preact/hooks'
import { advice, dropPartition, isPartitioned, partitions, type Advice, type Info, type PartitionRow } from '../api/database'
import { isAdmin } from '../api/session'
import { href } from '../route'
import { ago, bytes, count, rate, share } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Check, Confirm, Facts, Failure, Show, Table, Text } from '../ui/pieces'
import { Bars } from '../ui/bars'

/** Partitions shows how a partitioned database lies in its partitions, and how any would under another key. */
export function Partitions({ db, again }: { db: Info; again: () => void }) {
  return (
    <>
      {isPartitioned(db) && <Present db={db} again={again} />}
      <AnotherKey db={db} />
    </>
  )
}

/** Present shows how a database lies in its partitions: which are the largest, the hottest, and how even they are. */
function Present({ db, again }: { db: Info; again: () => void }) {
  const [sort, setSort] = useState('-external')
  const [dropping, setDropping] = useState<string>()
  const order = { sort: sort.replace('-', '') === 'name' ? undefined : sort.replace('-', ''), descending: sort.startsWith('-') || undefined }
  const [bookmarks, setBookmarks] = useState<string[]>([])
  const loaded = useLoad((signal) => partitions(db.db_name, { ...order, limit: 100, bookmark: bookmarks.at(-1) }, signal), [db.db_name, db.update_seq, sort, bookmarks])
  const largest = useLoad((signal) => partitions(db.db_name, { sort: 'external', descending: true, limit: 12 }, signal), [db.db_name, db.update_seq])
  const hottest = useLoad((signal) => partitions(db.db_name, { sort: 'writes', descending: true, limit: 12 }, signal), [db.db_name, db.update_seq])
  return (
    <>
      <div class="grid">
        <section class="card">
          <h2>The largest</h2>
          <Show of={largest}>{(l) => <Chart db={db.db_name} rows={l.rows} of={(r) => r.sizes.external} text={bytes} unit="Size" />}</Show>
        </section>
        <section class="card">
          <h2>The most written to</h2>
          <Show of={hottest}>{(l) => <Chart db={db.db_name} rows={l.rows} of={(r) => r.writes_per_hour} text={rate} unit="Writes an hour" />}</Show>
        </section>
      </div>
      <Show of={largest}>{(l) => <Evenness db={db} largest={l.rows[0]} />}</Show>
      <section class="card">
        <h2>All partitions</h2>
        <Show of={loaded}>
          {(l) => (
            <>
              <Table
                caption="Partitions"
                sorted={sort}
                onSort={(s) => (setBookmarks([]), setSort(s))}
                columns={[
                  { name: 'Partition', sort: 'name' },
                  { name: 'Documents', number: true, sort: 'docs' },
                  { name: 'Deleted', number: true },
                  { name: 'Size', number: true, sort: 'external' },
                  { name: 'Writes an hour', number: true, sort: 'writes' },
                  { name: 'Last write', sort: 'last_write' },
                  ...(isAdmin() ? [{ name: 'Actions' }] : []),
                ]}
              >
                {l.rows.map((r) => (
                  <tr key={r.partition}>
                    <td class="id">
                      <a href={href(['db', db.db_name], { partition: r.partition })}>{r.partition}</a>
                    </td>
                    <td class="number">{count(r.doc_count)}</td>
                    <td class="number">{count(r.doc_del_count)}</td>
                    <td class="number">{bytes(r.sizes.external)}</td>
                    <td class="number">{rate(r.writes_per_hour)}</td>
                    <td>{ago(r.last_write)}</td>
                    {isAdmin() && (
                      <td>
                        <button class="quiet" onClick={() => setDropping(r.partition)} aria-label={`Drop partition ${r.partition}`}>
                          Drop
                        </button>
                      </td>
                    )}
                  </tr>
                ))}
              </Table>
              {l.rows.length === 0 && <p class="empty">No partition has documents.</p>}
              <p class="actions">
                {bookmarks.length > 0 && <button onClick={() => setBookmarks(bookmarks.slice(0, -1))}>Back</button>}
                {l.bookmark && <button onClick={() => setBookmarks([...bookmarks, l.bookmark])}>Next 100</button>}
              </p>
            </>
          )}
        </Show>
      </section>
      {dropping && (
        <Dropping
          db={db.db_name}
          partition={dropping}
          onClose={() => setDropping(undefined)}
          onDone={() => {
            setDropping(undefined)
            again()
          }}
        />
      )}
    </>
  )
}

function Chart({ db, rows, of, text, unit }: { db: string; rows: PartitionRow[]; of: (r: PartitionRow) => number; text: (n: number) => string; unit: string }) {
  return <Bars caption={`Partitions by ${unit}`} columns={['Partition', unit]} bars={rows.map((r) => ({ name: r.partition, value: of(r), text: text(of(r)), href: href(['db', db], { partition: r.partition }) }))} />
}

/** Evenness compares the largest partition with the whole. */
function Evenness({ db, largest }: { db: Info; largest?: PartitionRow }) {
  if (!largest) return <></>
  const part = largest.sizes.external / Math.max(1, db.sizes.external)
  return (
    <section class="card">
      <h2>Distribution</h2>
      <Facts
        of={[
          ['The largest holds', share(part)],
          ['Its documents', count(largest.doc_count)],
          ['Its size', bytes(largest.sizes.external)],
        ]}
      />
    </section>
  )
}

function Dropping({ db, partition, onClose, onDone }: { db: string; partition: string; onClose: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState('')
  const [tombstones, setTombstones] = useState(true)
  const action = useAction()
  return (
    <Confirm title={`Drop partition ${partition}?`} yes="Drop partition" ready={typed === partition} busy={action.busy} error={action.error} onClose={onClose} onYes={async () => (await action.run(() => dropPartition(db, partition, tombstones))) && onDone()}>
      <p>All its documents go. This can't be taken back.</p>
      <Check value={tombstones} onChange={setTombstones} label="Tell replicas: leave a deletion marker for each document. Without them nobody who has a copy hears of it." />
      <Text label={`Type ${partition} to go on`} value={typed} onChange={setTyped} autofocus />
    </Confirm>
  )
}

/** AnotherKey asks how the documents would lie in the partitions of a key that somebody thinks of. */
function AnotherKey({ db }: { db: Info }) {
  const [by, setBy] = useState('')
  const [found, setFound] = useState<Advice>()
  const action = useAction()
  return (
    <section class="card">
      <h2>{isPartitioned(db) ? 'Try another partition key' : 'Try a partition key'}</h2>
      <p>
        A good key has many values, none of them holds much more than the others, and queries name it. A member of the documents, or a template: <code>{'{country}-{date|first 7}'}</code>, <code>{'{_id|before -}'}</code>, <code>{'{user|spread 64}'}</code>.
      </p>
      <form class="inline" onSubmit={(e) => (e.preventDefault(), void action.run(async () => setFound(await advice(db.db_name, by))))}>
        <Text label="Key" value={by} onChange={setBy} required placeholder="country" />
        <button disabled={action.busy}>Try</button>
      </form>
      <Failure error={action.error} />
      {found && <Report of={found} />}
    </section>
  )
}

const size = (n: number) => count(Math.round(n))

function Report({ of }: { of: Advice }) {
  return (
    <>
      {of.warnings.map((w) => (
        <p key={w.code} class="notice warn">
          {w.reason}
        </p>
      ))}
      {of.warnings.length === 0 && <p class="notice">This key distributes documents evenly. Check that your queries name it, too.</p>}
      <Facts
        of={[
          ['Partitions, about', size(of.estimated_partitions)],
          ['As even as', `${size(of.effective_partitions)} equal ones`],
          ['Documents without a key', share(of.unfit / Math.max(1, of.sampled))],
          ['Looked at', `${count(of.sampled)} of ${count(of.documents)}`],
        ]}
      />
      <p />
      <div class="grid">
        <div>
          <Bars caption="Partitions by their documents" columns={['Documents in it', 'Of all']} bars={of.histogram.map((b) => ({ name: `${size(b.from)} to ${size(b.to - 1)}`, value: b.part, text: `${share(b.part)} in ${count(b.partitions)}` }))} />
        </div>
        <div>
          <Bars caption="The largest partitions" columns={['The largest', 'Documents, about']} bars={of.largest.slice(0, 10).map((l) => ({ name: l.partition, value: l.part, text: size(l.documents) }))} />
        </div>
      </div>
      {of.unfit_examples.length > 0 && (
        <details>
          <summary>Documents that have no partition by it</summary>
          <ul>
            {of.unfit_examples.map((e) => (
              <li key={e.id}>
                {e.id}: {e.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
