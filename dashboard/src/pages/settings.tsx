import { useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import type { Info } from '../api/database'
import { autoPurge, expiry, revsLimit, setAutoPurge, setExpiry, setRevsLimit, type Expiry } from '../api/settings'
import { href } from '../route'
import { count } from '../ui/format'
import { useAction, useDraft, useEvery, useLoad } from '../ui/load'
import { Failure, Saved, Show, Text } from '../ui/pieces'

/** Settings are what a database does with its documents in time: when they expire, how long deletions and older revisions
 * are remembered. */
export function Settings({ db: { db_name: db } }: { db: Info }) {
  const expires = useLoad((signal) => expiry(db, signal), [db])
  const purges = useLoad((signal) => autoPurge(db, signal), [db])
  const limit = useLoad((signal) => revsLimit(db, signal), [db])
  return (
    <>
      <Show of={expires}>{(is) => <Expires db={db} is={is} again={expires.again} />}</Show>
      <Show of={purges}>
        {(is) => (
          <One title="Deletion markers" label="Delete them after, such as 3_months (empty: never)" is={String(is.deleted_document_ttl ?? '')} save={(ttl) => setAutoPurge(db, { deleted_document_ttl: ttl || null })} again={purges.again}>
            Replicas that do not synchronise for longer than that never learn of the deletions.
          </One>
        )}
      </Show>
      <Show of={limit}>
        {(is) => (
          <One title="Revisions" label="How many of each document are kept (_revs_limit)" is={String(is)} save={(n) => setRevsLimit(db, Number(n))} again={limit.again}>
            Revision ids, from which replication tells what descends from what. Older ones are removed.
          </One>
        )}
      </Show>
    </>
  )
}

interface OneSetting {
  title: string
  label: string
  is: string
  save: (value: string) => Promise<unknown>
  again: () => void
  children: ComponentChildren
}

/** One is a setting that is one value. */
function One({ title, label, is, save, again, children }: OneSetting) {
  const [value, setValue] = useState(is)
  const saved = useDraft(value)
  const action = useAction()
  return (
    <form class="card" onInput={() => action.done && action.clear()} onSubmit={async (e) => (e.preventDefault(), (await action.run(() => save(value.trim()))) && (saved(), again()))}>
      <h2>{title}</h2>
      <p class="dim">{children}</p>
      <Text label={label} value={value} onChange={setValue} />
      <Failure error={action.error} />
      <p class="actions">
        <button disabled={action.busy || value.trim() === is}>Save {title.toLowerCase()}</button>
        <Saved when={action.done} />
      </p>
    </form>
  )
}

function Expires({ db, is, again }: { db: string; is: Expiry; again: () => void }) {
  const [f, setF] = useState({ field: is.field ?? '', ttl_field: is.ttl_field ?? '', ttl: String(is.ttl ?? '') })
  const saved = useDraft(JSON.stringify(f))
  const action = useAction()
  const set = (name: keyof typeof f) => (value: string) => setF({ ...f, [name]: value })
  const wanted: Expiry = { ...(f.field && { field: f.field }), ...(f.ttl_field && { ttl_field: f.ttl_field }), ...(f.ttl && { ttl: Number(f.ttl) }) }
  const some = Object.keys(wanted).length > 0
  const save = () => setExpiry(db, some ? wanted : undefined)
  return (
    <form class="card" onInput={() => action.done && action.clear()} onSubmit={async (e) => (e.preventDefault(), (await action.run(save)) && (saved(), again()))}>
      <h2>Expiry</h2>
      <p class="dim">Documents are deleted at the time that a member of theirs says, or so many seconds after their last write. Partitions may have a setting of their own.</p>
      <div class="grid">
        <Text label="Member that has the time" value={f.field} onChange={set('field')} placeholder="expires" />
        <Text label="Member that has the seconds" value={f.ttl_field} onChange={set('ttl_field')} placeholder="ttl" />
        <Text label="Seconds for documents with neither" value={f.ttl} onChange={set('ttl')} />
      </div>
      {is.ready === false && <NotReady again={again} />}
      {(is.unreadable ?? 0) > 0 && (
        <p class="notice warn">
          Documents that stay because nobody can read their time: {count(is.unreadable)}, such as{' '}
          {is.examples?.map((id) => (
            <>
              <a href={href(['db', db, 'doc', id])}>{id}</a>{' '}
            </>
          ))}
        </p>
      )}
      <Failure error={action.error} />
      <p class="actions">
        <button disabled={action.busy}>Save expiry</button>
        <Saved when={action.done} />
      </p>
    </form>
  )
}

/** NotReady says that there is more to come, and asks for it. */
function NotReady({ again }: { again: () => void }) {
  useEvery(1000, again)
  return <p class="notice">Documents that were there before are still being looked at.</p>
}
