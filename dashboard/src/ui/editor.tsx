import { useEffect, useState } from 'preact/hooks'
import type { Editing } from './codemirror'

type Loaded = typeof import('./codemirror').default

// What is longer is edited without colours, which would take seconds at each key.
const long = 500_000

/** Editor edits JSON or JavaScript. */
export function Editor(p: Editing) {
  const [plain] = useState(p.value.length > long)
  return plain ? <Plain {...p} /> : <Coloured {...p} />
}

/** Coloured is CodeMirror. Its code is most of the dashboard's, and comes when the first one is shown. */
function Coloured(p: Editing) {
  const [Loaded, setLoaded] = useState<{ editor?: Loaded }>({})
  useEffect(() => void import('./codemirror').then((m) => setLoaded({ editor: m.default })), [])
  return Loaded.editor ? <Loaded.editor {...p} /> : <pre class="editor">{p.value}</pre>
}

function Plain({ label, value, onChange, onSave, readOnly, lines = 12 }: Editing) {
  const save = (e: KeyboardEvent) => {
    if (!(e.ctrlKey || e.metaKey) || e.key !== 's') return
    e.preventDefault()
    onSave?.()
  }
  return <textarea class="mono" aria-label={label} wrap="off" spellcheck={false} rows={lines} readOnly={readOnly} value={value} onInput={(e) => onChange?.(e.currentTarget.value)} onKeyDown={save} />
}
