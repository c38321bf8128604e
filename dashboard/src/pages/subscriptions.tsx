import { useState } from 'preact/hooks'
import type { Info } from '../api/database'
import { change, deadLetters, forget, retry, subscribe, subscriptions, unsubscribe, type Subscription } from '../api/subscriptions'
import { href } from '../route'
import { ago, count } from '../ui/format'
import { useAction, useEvery, useLoad } from '../ui/load'
import { Ask, Check, Confirm, Failure, Show, Table, Text } from '../ui/pieces'

const states: Record<string, string> = { active: 'good', failing: 'bad', disabled: 'bad', blocked: 'bad', paused: 'warn' }

/** Subscriptions shows who is told of a database's changes, how that goes, and what could not be delivered. */
export function Subscriptions({ db }: { db: Info }) {
  const loaded = useLoad((signal) => subscriptions(db.db_name, signal), [db.db_name])
  const [creating, setCreating] = useState(false)
  const [shown, setShown] = useState<string>()
  const [deleting, setDeleting] = useState<Subscription>()
  const action = useAction()
  useEvery(5000, loaded.again)
  const act = (what: () => Promise<unknown>) => void action.run(what).then(loaded.again)
  return (
    <section class="card">
      <div class="head">
        <h2>Subscriptions (webhooks)</h2>
        <div class="actions">
          <button onClick={() => setCreating(true)}>New subscription</button>
        </div>
      </div>
      <Failure error={action.error} />
      <Show of={loaded}>
        {(all) =>
          all.length === 0 ? (
            <p class="empty">No subscriptions. One sends each change of the database to a URL.</p>
          ) : (
            <>
              <Table caption="Subscriptions" columns={[{ name: 'To' }, { name: 'State' }, { name: 'Sent', number: true }, { name: 'Waiting', number: true }, { name: 'Dead letters', number: true }, { name: 'Actions' }]}>
                {all.map((s) => (
                  <tr key={s.id}>
                    <td class="id">{s.url}</td>
                    <td>
                      <span class={`badge ${states[s.state.status] ?? ''}`}>{s.state.status}</span> {s.state.reason ?? s.state.last_error}
                      {s.state.retry_at && <span class="dim"> again {ago(s.state.retry_at)}</span>}
                    </td>
                    <td class="number">{count(s.state.delivered)}</td>
                    <td class="number">{count(s.state.pending)}</td>
                    <td class="number">
                      {s.state.dead > 0 ? (
                        <button class="quiet" aria-label={`Dead letters to ${s.url}`} aria-expanded={shown === s.id} onClick={() => setShown(shown === s.id ? undefined : s.id)}>
                          {count(s.state.dead)}
                        </button>
                      ) : (
                        '0'
                      )}
                    </td>
                    <td>
                      <button class="quiet" onClick={() => act(() => change(db.db_name, s, { paused: !s.paused }))}>
                        {s.paused ? 'Resume' : 'Pause'}
                      </button>
                      <button class="quiet" aria-label={`Delete the subscription to ${s.url}`} onClick={() => setDeleting(s)}>
                        Delete
                      </button>
                    </td>
                  </tr>
                ))}
              </Table>
              {all.filter((s) => s.id === shown).map((s) => <Dead key={s.id} db={db.db_name} s={s} again={loaded.again} />)}
            </>
          )
        }
      </Show>
      {deleting && (
        <Confirm
          title="Delete the subscription?"
          yes="Delete subscription"
          busy={action.busy}
          error={action.error}
          onClose={() => (action.clear(), setDeleting(undefined))}
          onYes={async () => {
            if (!(await action.run(() => unsubscribe(db.db_name, deleting.id)))) return
            setDeleting(undefined)
            loaded.again()
          }}
        >
          <p>Nothing more is sent to {deleting.url}, and its dead letters are deleted.</p>
        </Confirm>
      )}
      {creating && (
        <Creation
          db={db.db_name}
          onClose={() => setCreating(false)}
          onDone={() => {
            setCreating(false)
            loaded.again()
          }}
        />
      )}
    </section>
  )
}

/** Dead shows what could not be delivered. */
function Dead({ db, s, again }: { db: string; s: Subscription; again: () => void }) {
  const loaded = useLoad((signal) => deadLetters(db, s.id, signal), [db, s.id, s.state.dead])
  const action = useAction()
  const act = (what: () => Promise<unknown>) => void action.run(what).then(again)
  return (
    <>
      <h2>Could not be delivered to {s.url}</h2>
      <Failure error={action.error} />
      <p class="actions">
        <button disabled={action.busy} onClick={() => act(() => retry(db, s.id))}>
          Send again
        </button>
        <button class="danger" disabled={action.busy} onClick={() => act(() => forget(db, s.id))}>
          Delete all
        </button>
      </p>
      <Show of={loaded}>
        {(rows) => (
          <Table caption="Dead letters" columns={[{ name: 'Documents' }, { name: 'Why' }, { name: 'Attempts', number: true }, { name: 'When' }]}>
            {rows.map((r) => (
              <tr key={r.entry}>
                <td class="id">
                  {r.changes.map((c) => (
                    <>
                      <a href={href(['db', db, 'doc', c.id])}>{c.id}</a>{' '}
                    </>
                  ))}
                </td>
                <td>{r.reason}</td>
                <td class="number">{count(r.attempts)}</td>
                <td>{ago(r.dead_lettered_at)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
    </>
  )
}

function Creation({ db, onClose, onDone }: { db: string; onClose: () => void; onDone: () => void }) {
  const [url, setUrl] = useState('')
  const [secret, setSecret] = useState('')
  const [docs, setDocs] = useState(true)
  const action = useAction()
  return (
    <Ask
      title="New subscription"
      yes="Create"
      busy={action.busy}
      error={action.error}
      onClose={onClose}
      onYes={async () => {
        if (await action.run(() => subscribe(db, { url, secret, include_docs: docs }))) onDone()
      }}
    >
      <Text label="URL" value={url} onChange={setUrl} required autofocus placeholder="https://example.com/hook" />
      <Text label="Secret, 16 bytes or more, with which messages are signed" type="password" value={secret} onChange={setSecret} autocomplete="new-password" required />
      <Check label="With the documents" value={docs} onChange={setDocs} />
    </Ask>
  )
}
