import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { holdUnsaved } from '../route'

/** Loaded is what a page waits for: nothing yet, a value, or why there is none. The value stays while it is asked for
 * again, so that a page does not flicker. */
export interface Loaded<T> {
  value?: T
  error?: Error
  loading: boolean
  again: () => void
}

/** useLoad runs load now, when one of deps changes, and on again. An older run's answer is dropped. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: Error; loading: boolean }>({ loading: true })
  const [run, setRun] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setState((s) => ({ ...s, loading: true }))
    const loading = async () => load(abort.signal) // what it throws is an error like others
    loading().then(
      (value) => abort.signal.aborted || setState({ value, loading: false }),
      (error: Error) => abort.signal.aborted || setState((s) => ({ value: s.value, error, loading: false })),
    )
    return () => abort.abort()
  }, [...deps, run])
  return { ...state, again: useCallback(() => setRun((n) => n + 1), []) }
}

/** useEvery calls each every so many milliseconds while the page is looked at. */
export function useEvery(milliseconds: number, each: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && each(), milliseconds)
    return () => clearInterval(timer)
  }, [milliseconds, each])
}

/** useUnsaved has people asked before they leave a page on which something was typed that is not saved. */
export function useUnsaved(unsaved: boolean): void {
  useLayoutEffect(() => (unsaved ? holdUnsaved() : undefined), [unsaved])
}

/** useDraft has people asked before they lose what a form holds, which was saved as it is first. What it returns says that it
 * has been saved as it was when the form was last rendered. */
export function useDraft(now: string): () => void {
  const [saved, setSaved] = useState(now)
  useUnsaved(now !== saved)
  return () => setSaved(now)
}

/** useAction wraps what a button does: busy while it runs, what went wrong, and whether it was done. */
export function useAction(): { busy: boolean; error?: Error; done: boolean; run: (act: () => Promise<unknown>) => Promise<boolean>; clear: () => void } {
  const [state, setState] = useState<{ busy: boolean; error?: Error; done: boolean }>({ busy: false, done: false })
  const run = useCallback(async (act: () => Promise<unknown>) => {
    setState({ busy: true, done: false })
    try {
      await act()
      setState({ busy: false, done: true })
      return true
    } catch (error) {
      setState({ busy: false, done: false, error: error as Error })
      return false
    }
  }, [])
  return { ...state, run, clear: useCallback(() => setState({ busy: false, done: false }), []) }
}
