import { useState } from 'preact/hooks'
import { accessKeys, accounts, changeAccount, createAccount, createKey, deleteAccount, revokeKey, type AccessKey, type Account } from '../api/users'
import { seeAs } from '../api/session'
import { go } from '../route'
import { ago } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Ask, Check, Confirm, Dialog, Failure, Head, Show, Table, Text } from '../ui/pieces'

const perPage = 100
const words = (typed: string) => typed.split(',').map((w) => w.trim()).filter(Boolean)

/** Users lists those who can log in, with their roles and access keys. */
export function Users() {
  const [from, setFrom] = useState('')
  const [creating, setCreating] = useState(false)
  const [chosen, setChosen] = useState<Account>()
  const loaded = useLoad((signal) => accounts(from, perPage + 1, signal), [from])
  const done = () => {
    setCreating(false)
    setChosen(undefined)
    loaded.again()
  }
  return (
    <>
      <Head title="Users">
        <button class="first" onClick={() => setCreating(true)}>
          New user
        </button>
      </Head>
      <section class="card">
        <p class="dim">Server administrators are set in the configuration and not listed here.</p>
        <Text label="Names, starting with or after" value={from} onChange={setFrom} type="search" />
        <Show of={loaded}>
          {(all) => (
            <>
              <Table caption="Users" columns={[{ name: 'Name' }, { name: 'Roles' }, { name: 'Actions' }]}>
                {all.slice(0, perPage).map((a) => (
                  <tr key={a._id}>
                    <td class="id">{a.name}</td>
                    <td>
                      {a.roles.map((r) => (
                        <>
                          <span class="badge">{r}</span>{' '}
                        </>
                      ))}
                    </td>
                    <td>
                      <button class="quiet" aria-label={`Change ${a.name}`} onClick={() => setChosen(a)}>
                        Change
                      </button>
                      <button class="quiet" aria-label={`See as ${a.name}`} onClick={() => void seeAs(a.name).then(() => go(['db']))}>
                        See as
                      </button>
                    </td>
                  </tr>
                ))}
              </Table>
              {all.length === 0 && <p class="empty">No users from here on.</p>}
              {all.length > perPage && <button onClick={() => setFrom(all[perPage]!.name)}>Next {perPage}</button>}
            </>
          )}
        </Show>
      </section>
      {creating && <Creation onClose={() => setCreating(false)} onDone={done} />}
      {chosen && <Change account={chosen} onClose={() => setChosen(undefined)} onDone={done} />}
    </>
  )
}

function Creation({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [f, setF] = useState({ name: '', password: '', roles: '' })
  const action = useAction()
  const set = (name: keyof typeof f) => (value: string) => setF({ ...f, [name]: value })
  return (
    <Ask
      title="New user"
      yes="Create"
      busy={action.busy}
      error={action.error}
      onClose={onClose}
      onYes={async () => {
        if (await action.run(() => createAccount(f.name, f.password, words(f.roles)))) onDone()
      }}
    >
      <Text label="Name" value={f.name} onChange={set('name')} required autofocus />
      <Text label="Password" type="password" value={f.password} onChange={set('password')} autocomplete="new-password" required />
      <Text label="Roles" value={f.roles} onChange={set('roles')} placeholder="staff, editors" />
    </Ask>
  )
}

function Change({ account, onClose, onDone }: { account: Account; onClose: () => void; onDone: () => void }) {
  const [roles, setRoles] = useState(account.roles.join(', '))
  const [password, setPassword] = useState('')
  const [removing, setRemoving] = useState(false)
  const action = useAction()
  const save = () => changeAccount(account, { roles: words(roles), ...(password ? { password } : {}) })
  if (removing) {
    return (
      <Confirm title={`Delete ${account.name}?`} yes="Delete user" busy={action.busy} error={action.error} onClose={onClose} onYes={async () => (await action.run(() => deleteAccount(account))) && onDone()}>
        <p>Whoever has this name can't log in any more. Documents stay.</p>
      </Confirm>
    )
  }
  return (
    <Dialog title={account.name} onClose={onClose} wide>
      <form
        onSubmit={async (e) => {
          e.preventDefault()
          if (await action.run(save)) onDone()
        }}
      >
        <Text label="Roles" value={roles} onChange={setRoles} autofocus />
        <Text label="New password, empty to keep the old one" type="password" value={password} onChange={setPassword} autocomplete="new-password" />
        <Failure error={action.error} />
        <div class="actions">
          <button class="first" disabled={action.busy}>
            Save
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="danger" onClick={() => setRemoving(true)}>
            Delete user
          </button>
        </div>
      </form>
      <p />
      <Keys user={account.name} />
    </Dialog>
  )
}

/** Keys are the access keys with which a user's programs sign requests to the DynamoDB API. */
function Keys({ user }: { user: string }) {
  const loaded = useLoad((signal) => accessKeys(user, signal), [user])
  const [made, setMade] = useState<AccessKey>()
  const [tables, setTables] = useState('')
  const [readOnly, setReadOnly] = useState(false)
  const [revoking, setRevoking] = useState<string>()
  const action = useAction()
  const create = () => action.run(async () => (setMade(await createKey(user, words(tables), readOnly)), loaded.again()))
  return (
    <section>
      <h3>Access keys for the DynamoDB API</h3>
      <Show of={loaded}>
        {(all) => (
          <Table caption="Access keys" columns={[{ name: 'Key' }, { name: 'For' }, { name: 'Made' }, { name: 'Actions' }]}>
            {all.map((k) => (
              <tr key={k.id}>
                <td class="mono">{k.id}</td>
                <td>
                  {k.tables?.join(', ') ?? 'all tables'}
                  {k.read_only && ', read only'}
                </td>
                <td>{ago(k.created)}</td>
                <td>
                  <button class="quiet" aria-label={`Revoke ${k.id}`} onClick={() => setRevoking(k.id)}>
                    Revoke
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
      {revoking !== undefined && (
        <Confirm
          title={`Revoke ${revoking}?`}
          yes="Revoke key"
          busy={action.busy}
          error={action.error}
          onClose={() => (action.clear(), setRevoking(undefined))}
          onYes={async () => {
            if (!(await action.run(() => revokeKey(user, revoking)))) return
            setRevoking(undefined)
            loaded.again()
          }}
        >
          <p>Programs that sign with it are refused from then on. This can't be undone.</p>
        </Confirm>
      )}
      {made && (
        <div class="notice">
          <p>Copy the secret now: it is not shown again.</p>
          <pre>
            AWS_ACCESS_KEY_ID={made.id}
            {'\n'}AWS_SECRET_ACCESS_KEY={made.secret}
          </pre>
        </div>
      )}
      <div class="inline">
        <Text label="Tables of a new key, empty for all" value={tables} onChange={setTables} />
      </div>
      <Check label="Read only" value={readOnly} onChange={setReadOnly} />
      <Failure error={action.error} />
      <button disabled={action.busy} onClick={() => void create()}>
        New key
      </button>
    </section>
  )
}
