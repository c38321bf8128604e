import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { ApiError, Unreachable } from '../api/http'
import type { Loaded } from './load'

type Children = { children?: ComponentChildren }

function nameOf(error: Error): string {
  if (error instanceof ApiError) return `${error.status} ${error.error}`
  if (error instanceof Unreachable) return 'No answer'
  return error instanceof SyntaxError ? 'Invalid JSON' : 'Not possible'
}

/** Failure says what went wrong, in the server's words. again is offered where it may go better another time. */
export function Failure({ error, again }: { error?: Error; again?: () => void }) {
  if (!error) return null
  const passing = error instanceof Unreachable || (error instanceof ApiError && error.status >= 500)
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>{nameOf(error)}.</strong> {error.message}
      </p>
      {again && passing && <button onClick={again}>Try again</button>}
    </div>
  )
}

/** Saved says that what a form holds was stored. Screen readers hear it, as the element is there before. */
export function Saved({ when }: { when: boolean }) {
  return (
    <output class="good">{when && 'Saved.'}</output>
  )
}

/** Show renders what was loaded; until then that it is on its way. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      <Failure error={of.error} again={of.again} />
      {of.value !== undefined ? children(of.value) : !of.error && <p class="dim" role="status">Loading …</p>}
    </>
  )
}

/** Head is the top of a page: where it lies, its title, what can be done. */
export function Head({ title, crumbs, children }: { title: ComponentChildren; crumbs?: ComponentChildren } & Children) {
  return (
    <>
      {crumbs && <p class="crumbs">{crumbs}</p>}
      <div class="head">
        <h1 tabIndex={-1}>{title}</h1>
        {children && <div class="actions">{children}</div>}
      </div>
    </>
  )
}

/** Tabs lead to the pages of one thing. */
export function Tabs({ label, tabs }: { label: string; tabs: { name: string; href: string; current: boolean }[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((t) => (
        <a key={t.name} href={t.href} aria-current={t.current ? 'page' : undefined}>
          {t.name}
        </a>
      ))}
    </nav>
  )
}

/** Facts are numbers with what they mean. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface TextField {
  label: string
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'password' | 'search'
  required?: boolean
  placeholder?: string
  autocomplete?: string
  autofocus?: boolean
}

/** Text is a line of text with its label. */
export function Text({ label, value, onChange, type = 'text', autocomplete, autofocus, ...rest }: TextField) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => void (autofocus && input.current?.focus()), [])
  return (
    <label class="field">
      <span>{label}</span>
      <input ref={input} autofocus={autofocus} type={type as 'text'} value={value} onInput={(e) => onChange(e.currentTarget.value)} autocomplete={autocomplete ?? 'off'} spellcheck={false} {...rest} />
    </label>
  )
}

/** Choice is one of several. */
export function Choice({ label, value, onChange, options }: { label: string; value: string; onChange: (value: string) => void; options: [string, string][] }) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Check is a yes or no. */
export function Check({ label, value, onChange }: { label: ComponentChildren; value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(e) => onChange(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}

/** Dialog asks for something over the page. It is shown as long as it is rendered. */
export function Dialog({ title, onClose, wide, children }: { title: string; onClose: () => void; wide?: boolean } & Children) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  // A layout effect: it ends before the element is taken out of the page, so that no key goes to nowhere meanwhile.
  useLayoutEffect(() => {
    const d = element.current!
    const before = document.activeElement as HTMLElement | null
    d.showModal()
    return () => {
      d.close()
      before?.focus() // after a close that the page asked for, the browser may leave it with nothing
    }
  }, [])
  return (
    <dialog ref={element} class={wide ? 'wide' : undefined} aria-labelledby={id} onCancel={(e) => (e.preventDefault(), onClose())}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface Asked {
  title: string
  /** yes is what the button says that does it. */
  yes: string
  error?: Error
  busy: boolean
  onYes: () => void
  onClose: () => void
}

/** Ask is a dialog with a form: fields, what went wrong, a button that does it and one that does not. */
export function Ask({ title, children, yes, error, busy, kind = 'first', ready = true, onYes, onClose }: Asked & { kind?: 'first' | 'danger'; ready?: boolean } & Children) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(e) => (e.preventDefault(), onYes())}>
        {children}
        <Failure error={error} />
        <div class="actions">
          <button class={kind} disabled={busy || !ready}>
            {yes}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Confirm asks before something that can't be taken back; ready says whether what has to be typed first was. */
export function Confirm(p: Asked & { ready?: boolean } & Children) {
  return <Ask kind="danger" {...p} />
}

/** Column is one of a table: its name, and whether it is a number and can be sorted by. */
export interface Column {
  name: string
  number?: boolean
  sort?: string
  class?: string
}

/** Table is rows under columns. sorted is the key of the column that is sorted by, with a minus if descending. */
export function Table({ caption, columns, children, sorted, onSort }: { caption: string; columns: Column[]; sorted?: string; onSort?: (key: string) => void } & Children) {
  const order = (c: Column) => (sorted === c.sort ? 'ascending' : sorted === '-' + c.sort ? 'descending' : undefined)
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.name} scope="col" class={c.number ? 'number' : c.class} aria-sort={c.sort ? order(c) ?? 'none' : undefined}>
                {c.sort && onSort ? (
                  <button class="sort" onClick={() => onSort(sorted === '-' + c.sort ? c.sort! : '-' + c.sort)}>
                    {c.name} {order(c) === 'ascending' ? '↑' : order(c) === 'descending' ? '↓' : ''}
                  </button>
                ) : (
                  c.name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
