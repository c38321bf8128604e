import { useState } from 'preact/hooks'
import { isPartitioned, type Info } from '../api/database'
import { secure, security, type People, type Security } from '../api/users'
import { useAction, useDraft, useLoad } from '../ui/load'
import { Failure, Saved, Show, Text } from '../ui/pieces'
import { Editor } from '../ui/editor'

/** Access says who may what in a database, and changes it. */
export function Access({ db }: { db: Info }) {
  const loaded = useLoad((signal) => security(db.db_name, signal), [db.db_name])
  return <Show of={loaded}>{(s) => <Form db={db} is={s} again={loaded.again} />}</Show>
}

const words = (typed: string) => typed.split(',').map((w) => w.trim()).filter(Boolean)
const typed = (all: string[] | undefined) => (all ?? []).join(', ')

function Form({ db, is, again }: { db: Info; is: Security; again: () => void }) {
  const [admins, setAdmins] = useState(textsOf(is.admins))
  const [members, setMembers] = useState(textsOf(is.members))
  const [rules, setRules] = useState(JSON.stringify(is.partitions ?? [], null, 2))
  const saved = useDraft(JSON.stringify([admins, members, rules]))
  const action = useAction()
  const open = members.names === '' && members.roles === '' && !is.partitions && !is.cloudant
  const save = () =>
    action.run(async () => {
      const partitions = JSON.parse(rules) as unknown
      const keepRules = is.partitions !== undefined || !Array.isArray(partitions) || partitions.length > 0
      await secure(db.db_name, { ...is, admins: peopleOf(is.admins, admins), members: peopleOf(is.members, members), partitions: keepRules ? (partitions as unknown[]) : undefined })
      saved()
      again()
    })
  return (
    <form class="card" onInput={() => action.done && action.clear()} onSubmit={(e) => (e.preventDefault(), void save())}>
      <h2>Permissions</h2>
      <p>{open ? 'The database has no members: every user of this server may read and write (and, where the server lets people in without a login, everybody).' : 'Members read and write. Administrators also change design documents and what is on this page.'}</p>
      <div class="grid">
        <fieldset>
          <legend>Members</legend>
          <Text label="Users" value={members.names} onChange={(names) => setMembers({ ...members, names })} placeholder="ann, bob" />
          <Text label="Roles" value={members.roles} onChange={(roles) => setMembers({ ...members, roles })} />
        </fieldset>
        <fieldset>
          <legend>Administrators</legend>
          <Text label="Users" value={admins.names} onChange={(names) => setAdmins({ ...admins, names })} />
          <Text label="Roles" value={admins.roles} onChange={(roles) => setAdmins({ ...admins, roles })} />
        </fieldset>
      </div>
      {isPartitioned(db) && (
        <>
          <h3>Rules for partitions</h3>
          <p class="dim">
            Each has <code>who</code>, <code>partition</code> and <code>access</code>: <code>{'{"who": "*", "partition": "{name}", "access": "write"}'}</code> gives everybody a partition of their own.
          </p>
          <Editor label="Rules for partitions" value={rules} onChange={setRules} onSave={() => void save()} lines={6} />
        </>
      )}
      <p />
      <Failure error={action.error} />
      <p class="actions">
        <button class="first" disabled={action.busy}>
          Save
        </button>
        <Saved when={action.done} />
      </p>
    </form>
  )
}

interface Texts {
  names: string
  roles: string
}

const textsOf = (p: People | undefined): Texts => ({ names: typed(p?.names), roles: typed(p?.roles) })

const peopleOf = (was: People | undefined, t: Texts): People => ({ ...was, names: words(t.names), roles: words(t.roles) })
