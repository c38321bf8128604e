import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/http'
import { document as read, info, isPartitioned, leaves, post, put, remove, resolve, type Leaf } from '../api/database'
import { go, href, leave, route } from '../route'
import { shortRev } from '../ui/format'
import { members, objectOf, pretty, rebase } from '../ui/jsontext'
import { useAction, useLoad, useUnsaved } from '../ui/load'
import { Confirm, Failure, Head, Show, Table, Text } from '../ui/pieces'
import { Editor } from '../ui/editor'
import { Tree } from '../ui/tree'
import { Attachments } from './attachments'

/** Document is one document: its text to be edited, its revisions, its conflicts, its attachments. Without an id it is a new
 * one. */
export function Document({ db, id }: { db: string; id?: string }) {
  const crumbs = (
    <>
      <a href={href(['db'])}>Databases</a> / <a href={href(['db', db])}>{db}</a>
    </>
  )
  return id === undefined ? <New db={db} crumbs={crumbs} /> : <Existing key={id} db={db} id={id} crumbs={crumbs} />
}

const blank = '{\n  \n}'

// What a design document looks like that has one view of all documents.
const aView = `{
  "options": {"partitioned": false},
  "views": {
    "by_type": {
      "map": "function (doc) { emit(doc.type, 1) }",
      "reduce": "_sum"
    }
  }
}`

/** New is the form for a document that does not exist yet: empty, with a view to begin with, or with the members of the
 * document that the address names as `copy`. */
function New({ db, crumbs }: { db: string; crumbs: preact.JSX.Element }) {
  const q = route.value.query
  const [copy, view] = [q.get('copy') ?? undefined, q.get('new') === 'view']
  const start = useLoad(async (signal) => {
    const partitioned = await info(db, signal).then(isPartitioned, () => true) // who may see partitions only is not told
    const text = copy === undefined ? (view ? aView : blank) : members(await read(db, copy, {}, signal))
    return { partitioned, text: typeof text === 'string' ? text : pretty(objectOf([...text].filter(([n]) => !n.startsWith('_')))) }
  }, [db, copy, view])
  return (
    <>
      <Head title={view ? 'New view' : 'New document'} crumbs={crumbs} />
      {copy !== undefined && <p class="dim">A copy of {copy}, without its attachments.</p>}
      <Show of={start}>{({ partitioned, text }) => <Form db={db} id={q.get('id') ?? (view ? '_design/' : '')} text={text} partitioned={partitioned} />}</Show>
    </>
  )
}

function Form({ db, id: first, text: begun, partitioned }: { db: string; id: string; text: string; partitioned: boolean }) {
  const [id, setId] = useState(first)
  const [text, setText] = useState(begun)
  const action = useAction()
  useUnsaved(text !== begun)
  const save = () =>
    action.run(async () => {
      const written = id === '' ? await post(db, text) : await put(db, id, text)
      go(['db', db, 'doc', written.id])
    })
  return (
    <form class="card" onSubmit={(e) => (e.preventDefault(), void save())}>
      <Text label={partitioned ? 'Id (partition:key)' : 'Id (empty: the server makes one)'} value={id} onChange={setId} required={partitioned} autofocus />
      <Editor label="The document's members" value={text} onChange={setText} onSave={() => void save()} />
      <p />
      <Failure error={action.error} />
      <button class="first" disabled={action.busy}>
        Create
      </button>
    </form>
  )
}

function Existing({ db, id, crumbs }: { db: string; id: string; crumbs: preact.JSX.Element }) {
  const loaded = useLoad((signal) => read(db, id, { revs_info: true, conflicts: true }, signal), [db, id])
  const [removing, setRemoving] = useState(false)
  const action = useAction()
  return (
    <>
      <Head title={id} crumbs={crumbs}>
        {loaded.value && (
          <a class="button" href={href(['db', db, 'doc'], { copy: id, id: id.replace(/[^:/]*$/, '') })}>
            Duplicate
          </a>
        )}
        {loaded.value && (
          <button class="danger" onClick={() => setRemoving(true)}>
            Delete document
          </button>
        )}
      </Head>
      {loaded.error instanceof ApiError && loaded.error.status === 404 && (
        <p>
          {loaded.error.reason === 'deleted' ? 'It was deleted. ' : 'There is no such document. '}
          <a class="button" href={href(['db', db, 'doc'], { id })}>{loaded.error.reason === 'deleted' ? 'Write it anew' : 'Write it'}</a>
        </p>
      )}
      <Show of={loaded}>{(text) => <Parts db={db} id={id} text={text} again={loaded.again} />}</Show>
      {removing && loaded.value && (
        <Confirm
          title={`Delete ${id}?`}
          yes="Delete document"
          busy={action.busy}
          error={action.error}
          onClose={() => setRemoving(false)}
          onYes={async () => {
            const rev = JSON.parse(loaded.value!)._rev as string
            if (await action.run(() => remove(db, id, rev))) go(['db', db], { partition: route.value.query.get('partition') ?? undefined })
          }}
        >
          <p>A deletion marker takes its place, which replicas hear of.</p>
        </Confirm>
      )}
    </>
  )
}

interface RevInfo {
  rev: string
  status: string
}

function Parts({ db, id, text, again }: { db: string; id: string; text: string; again: () => void }) {
  const { of, body, revs, conflicts } = useMemo(() => partsOf(text), [text])
  const rev = JSON.parse(of.get('_rev')!) as string
  return (
    <>
      {conflicts.length > 0 && <Conflicts db={db} id={id} again={again} />}
      <div class="two">
        <Body db={db} id={id} body={body} again={again} />
        <div>
          <History db={db} id={id} revs={revs} now={rev} body={body} />
          <Attachments db={db} id={id} rev={rev} text={of.get('_attachments')} again={again} />
        </div>
      </div>
    </>
  )
}

/** partsOf takes what was asked for beside the document out of its text. */
function partsOf(text: string) {
  const of = members(text)
  const revs = JSON.parse(of.get('_revs_info') ?? '[]') as RevInfo[]
  const conflicts = JSON.parse(of.get('_conflicts') ?? '[]') as string[]
  of.delete('_revs_info')
  of.delete('_conflicts')
  return { of, revs, conflicts, body: pretty(objectOf(of)) }
}

function Body({ db, id, body, again }: { db: string; id: string; body: string; again: () => void }) {
  const [text, setText] = useState(body)
  const [saved, setSaved] = useState<string>() // what was saved last, until it has been loaded
  const before = useRef(body)
  const action = useAction()
  useEffect(() => {
    const was = saved ?? before.current
    before.current = body
    setText((typed) => rebase(typed, was, body))
    setSaved(undefined)
  }, [body])
  const changed = text !== body && text !== saved
  useUnsaved(changed)
  const ready = changed && !action.busy && saved === undefined
  const save = async () => {
    if (!ready) return
    await action.run(async () => {
      await put(db, id, text)
      setSaved(text)
      again()
    })
  }
  const conflict = action.error instanceof ApiError && action.error.status === 409 // which says what reloading loses
  const reload = () => (action.clear(), setText(body), again())
  return (
    <section class="card">
      <h2>Document</h2>
      <Editor label="The document" value={text} onChange={setText} onSave={save} lines={18} />
      <p />
      <Failure error={action.error} />
      {conflict && <p class="notice warn">Somebody else has saved it meanwhile. Reload to see what it is now; what you wrote is lost then, so copy it first.</p>}
      <div class="actions">
        <button class="first" disabled={!ready} onClick={save}>
          Save
        </button>
        <button disabled={!changed} onClick={() => (action.clear(), setText(body))}>
          Undo changes
        </button>
        <button onClick={() => (conflict ? reload() : leave(reload))}>Reload</button>
      </div>
    </section>
  )
}

function History({ db, id, revs, now, body }: { db: string; id: string; revs: RevInfo[]; now: string; body: string }) {
  const [shown, setShown] = useState<string>()
  const old = useLoad((signal) => (shown ? read(db, id, { rev: shown }, signal) : Promise.resolve('')), [shown])
  return (
    <section class="card">
      <h2>Revisions</h2>
      <Table caption="Revisions" columns={[{ name: 'Revision' }, { name: 'State' }]}>
        {revs.slice(0, 50).map((r) => (
          <tr key={r.rev}>
            <td class="mono" title={r.rev}>
              {r.status === 'available' && r.rev !== now ? (
                <button class="quiet" aria-expanded={shown === r.rev} onClick={() => setShown(shown === r.rev ? undefined : r.rev)}>
                  {shortRev(r.rev)}
                </button>
              ) : (
                shortRev(r.rev)
              )}
            </td>
            <td>{r.rev === now ? <span class="badge good">current</span> : <span class="badge">{r.status === 'missing' ? 'body gone' : r.status}</span>}</td>
          </tr>
        ))}
      </Table>
      {shown && (
        <>
          <h3>{shortRev(shown)}</h3>
          <Show of={old}>{(text) => <Difference was={text} is={body} />}</Show>
        </>
      )}
    </section>
  )
}

/** Difference shows an older revision, what has been changed since first. */
function Difference({ was, is }: { was: string; is: string }) {
  const [before, now] = [members(was), members(is)].map((m) => (m.delete('_rev'), m)) as [Map<string, string>, Map<string, string>]
  const text = (of: Map<string, string>, name: string) => (of.has(name) ? pretty(of.get(name)!) : '(absent)')
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter((n) => text(before, n) !== text(now, n))
  return (
    <>
      {changed.length === 0 && <p>It says what the document says now.</p>}
      {changed.length > 0 && (
        <Table caption="What has changed since" columns={[{ name: 'Member' }, { name: 'Then' }, { name: 'Now' }]}>
          {changed.map((n) => (
            <tr key={n}>
              <td class="mono">{n}</td>
              <td>
                <pre>{text(before, n)}</pre>
              </td>
              <td>
                <pre>{text(now, n)}</pre>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <details>
        <summary>All of it</summary>
        <pre>{pretty(was)}</pre>
      </details>
    </>
  )
}

/** Conflicts shows the leaves side by side, and makes one of them, or a merge, the only one. */
function Conflicts({ db, id, again }: { db: string; id: string; again: () => void }) {
  const loaded = useLoad((signal) => leaves(db, id, signal), [db, id])
  return (
    <section class="card">
      <h2>In conflict</h2>
      <p>Replicas changed this document without knowing of each other. The first is what readers get. Choose each member, or write the merge, and save it: the others are deleted.</p>
      <Show of={loaded}>
        {(all) => (
          <>
            <Tree leaves={all} />
            <Merge db={db} id={id} leaves={all.filter((l) => !l.deleted)} again={again} />
          </>
        )}
      </Show>
    </section>
  )
}

function Merge({ db, id, leaves, again }: { db: string; id: string; leaves: Leaf[]; again: () => void }) {
  const parts = leaves.map((l) => members(l.text))
  const names = [...new Set(parts.flatMap((p) => [...p.keys()]))].filter((n) => n !== '_id' && n !== '_rev')
  const [chosen, setChosen] = useState<Record<string, number>>({})
  const merged = pretty(objectOf([...['_id', '_rev'].map((n): [string, string] => [n, parts[0]!.get(n)!]), ...names.flatMap((n): [string, string][] => of(parts[chosen[n] ?? 0]!, n))]))
  const [text, setText] = useState(merged)
  const action = useAction()
  useEffect(() => setText(merged), [merged])
  useUnsaved(text !== merged || Object.keys(chosen).length > 0)
  const save = async () => {
    if (await action.run(() => resolve(db, id, text, leaves.slice(1).map((l) => l.rev)))) again()
  }
  return (
    <>
      <Table caption="Members of the revisions in conflict" columns={[{ name: 'Member' }, ...leaves.map((l) => ({ name: shortRev(l.rev) }))]}>
        {names.map((n) => {
          const differ = new Set(parts.map((p) => p.get(n))).size > 1
          return (
            <tr key={n}>
              <td class="mono">{differ ? <mark>{n}</mark> : n}</td>
              {parts.map((p, i) => (
                <td key={i}>
                  <label class="check">
                    {differ && <input type="radio" name={`choice-${n}`} aria-label={`${n} of ${shortRev(leaves[i]!.rev)}`} checked={(chosen[n] ?? 0) === i} onChange={() => setChosen({ ...chosen, [n]: i })} />}
                    <pre>{p.has(n) ? pretty(p.get(n)!).slice(0, 400) : '(absent)'}</pre>
                  </label>
                </td>
              ))}
            </tr>
          )
        })}
      </Table>
      <h3>What is saved</h3>
      <Editor label="The merged document" value={text} onChange={setText} onSave={save} />
      <p />
      <Failure error={action.error} />
      <button class="first" disabled={action.busy} onClick={save}>
        Save and delete the others
      </button>
    </>
  )
}

const of = (p: Map<string, string>, name: string): [string, string][] => (p.has(name) ? [[name, p.get(name)!]] : [])
