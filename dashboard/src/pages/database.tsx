import { useState } from 'preact/hooks'
import { ApiError } from '../api/http'
import { drop, info, isPartitioned, type Info } from '../api/database'
import { isAdmin } from '../api/session'
import { go, href, route } from '../route'
import { bytes, count } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Confirm, Facts, Head, Show, Tabs, Text } from '../ui/pieces'
import { Access } from './access'
import { Changes } from './changes'
import { Document } from './document'
import { Documents } from './documents'
import { Functions } from './functions'
import { Own } from './own'
import { Partitions } from './partitions'
import { Queries } from './queries'
import { Replicating } from './replicating'
import { Settings } from './settings'
import { Subscriptions } from './subscriptions'

/** Part is a page of a database, with the end of its address. */
interface Part {
  path: string
  name: string
  page: (p: { db: Info; again: () => void; parts: string[] }) => preact.JSX.Element
}

const pages: Part[] = [
  { path: '', name: 'Documents', page: Documents },
  { path: 'partitions', name: 'Partitions', page: Partitions },
  { path: 'queries', name: 'Queries', page: Queries },
  { path: 'functions', name: 'Views and search', page: Functions },
  { path: 'changes', name: 'Changes', page: Changes },
  { path: 'subscriptions', name: 'Subscriptions', page: Subscriptions },
  { path: 'access', name: 'Access', page: Access },
  { path: 'settings', name: 'Settings', page: Settings },
]

/** Database is one database: what it holds, on the pages of its parts. */
export function Database({ name, parts }: { name: string; parts: string[] }) {
  const loaded = useLoad((signal) => info(name, signal), [name])
  const [dropping, setDropping] = useState(false)
  const [replicating, setReplicating] = useState(false)
  const partition = route.value.query.get('partition') ?? undefined
  if (parts[0] === 'doc') return <Document key={parts[1]} db={name} id={parts[1]} />
  const refused = loaded.error instanceof ApiError && loaded.error.status === 403 ? loaded.error : undefined
  if (refused) return <Own db={name} parts={parts} refused={refused} />
  const shown = pages.find((p) => p.path === (parts[0] ?? '')) ?? pages[0]!
  return (
    <>
      <Head title={name} crumbs={<a href={href(['db'])}>Databases</a>}>
        <a class="button first" href={href(['db', name, 'doc'], { id: partition && partition + ':' })}>
          New document
        </a>
        <button onClick={() => setReplicating(true)}>Replicate</button>
        {isAdmin() && (
          <button class="danger" onClick={() => setDropping(true)}>
            Delete database
          </button>
        )}
      </Head>
      <Show of={loaded}>
        {(i) => (
          <>
            <section class="card">
              <Facts
                of={[
                  ['Documents', count(i.doc_count)],
                  ['Deleted', count(i.doc_del_count)],
                  ['Size of the data', bytes(i.sizes.external)],
                  ['On disk', bytes(i.sizes.file)],
                  ['Last sequence', i.update_seq.replace(/-.*/, '')],
                  ['Kind', isPartitioned(i) ? 'partitioned' : 'not partitioned'],
                ]}
              />
            </section>
            <Tabs label="Of the database" tabs={pages.map((p) => ({ name: p.name, href: href(['db', name, p.path].filter(Boolean)), current: p === shown }))} />
            <shown.page db={i} again={loaded.again} parts={parts.slice(1)} />
          </>
        )}
      </Show>
      {replicating && <Replicating db={name} onClose={() => setReplicating(false)} />}
      {dropping && <Dropping db={name} onClose={() => setDropping(false)} />}
    </>
  )
}

function Dropping({ db, onClose }: { db: string; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const action = useAction()
  return (
    <Confirm
      title={`Delete ${db}?`}
      yes="Delete database"
      ready={typed === db}
      busy={action.busy}
      error={action.error}
      onClose={onClose}
      onYes={async () => {
        if (await action.run(() => drop(db))) go(['db'])
      }}
    >
      <p>All its documents, attachments and indexes go. This can't be taken back.</p>
      <Text label={`Type ${db} to go on`} value={typed} onChange={setTyped} autofocus />
    </Confirm>
  )
}
