import { useEffect, useState } from 'preact/hooks'
import { attach, detach } from '../api/database'
import { idPath, part, query, root, send } from '../api/http'
import { seenAs } from '../api/session'
import { bytes } from '../ui/format'
import { useAction, useLoad } from '../ui/load'
import { Confirm, Failure } from '../ui/pieces'

interface Attachment {
  content_type: string
  length: number
}

/** addressOf is where an attachment is; undefined for a name that browsers can't ask for. */
function addressOf(db: string, id: string, rev: string, name: string): string | undefined {
  try {
    return new URL(`${idPath(db, id)}/${part(name)}${query({ rev })}`, root).href
  } catch {
    return undefined
  }
}

/** Attachments lists the files of a document, adds some and deletes them. */
export function Attachments({ db, id, rev, text, again }: { db: string; id: string; rev: string; text?: string; again: () => void }) {
  const all = Object.entries(JSON.parse(text ?? '{}') as Record<string, Attachment>)
  const [deleting, setDeleting] = useState<string>()
  const adding = useAction()
  const removing = useAction()
  const add = async (file: File | undefined) => {
    if (file && (await adding.run(() => attach(db, id, rev, file)))) again()
  }
  return (
    <section class="card">
      <h2>Attachments</h2>
      {all.map(([name, a]) => {
        const address = addressOf(db, id, rev, name)
        return (
          <div key={name}>
            <p>
              {address ? <Download address={address} name={name} /> : name}{' '}
              <span class="dim">
                {a.content_type}, {bytes(a.length)}
              </span>{' '}
              {address && (
                <button class="quiet" aria-label={`Delete the attachment ${name}`} onClick={() => setDeleting(name)}>
                  Delete
                </button>
              )}
            </p>
            {/^image\/(png|jpeg|gif|webp|avif)$/.test(a.content_type) && address && <Picture address={address} />}
          </div>
        )
      })}
      <label class="field">
        <span>Add a file</span>
        <input type="file" disabled={adding.busy} onChange={(e) => void add(e.currentTarget.files?.[0])} />
      </label>
      {adding.busy && <p class="dim" role="status">Uploading …</p>}
      <Failure error={adding.error} />
      {deleting !== undefined && (
        <Confirm
          title={`Delete ${deleting}?`}
          yes="Delete attachment"
          busy={removing.busy}
          error={removing.error}
          onClose={() => setDeleting(undefined)}
          onYes={async () => {
            if (!(await removing.run(() => detach(db, id, rev, deleting)))) return
            setDeleting(undefined)
            again()
          }}
        >
          <p>The document gets a new revision without it.</p>
        </Confirm>
      )}
    </section>
  )
}

/** fetched gets an attachment as whom one looks, which a link does not say, and returns where the page has it. */
const fetched = async (address: string) => URL.createObjectURL(await (await send(address, { headers: { Accept: '*/*' } })).blob())

/** Download is the link to an attachment. */
function Download({ address, name }: { address: string; name: string }) {
  const action = useAction()
  if (seenAs.value === undefined) return <a href={address} download={name}>{name}</a>
  const get = async () => {
    const href = await fetched(address)
    Object.assign(document.createElement('a'), { href, download: name }).click()
    setTimeout(() => URL.revokeObjectURL(href), 60_000) // the browser may ask where to first
  }
  return (
    <>
      <button class="quiet" onClick={() => void action.run(get)}>{name}</button>
      <Failure error={action.error} />
    </>
  )
}

/** Picture is an attachment that is one. */
function Picture({ address }: { address: string }) {
  const loaded = useLoad(async () => (seenAs.value === undefined ? address : fetched(address)), [address])
  useEffect(() => () => void (loaded.value?.startsWith('blob:') && URL.revokeObjectURL(loaded.value)), [loaded.value])
  return loaded.value ? <img src={loaded.value} alt="" loading="lazy" style={{ maxWidth: '100%', display: 'block' }} /> : <Failure error={loaded.error} />
}
