import { autocompletion, closeBrackets } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { Annotation, EditorState } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useLayoutEffect, useRef } from 'preact/hooks'

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: 'light-dark(#0b5d8a, #8cc8f0)' },
  { tag: tags.string, color: 'light-dark(#1b6e2e, #9ad9a5)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#9a3b00, #f2b27a)' },
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword], color: 'light-dark(#7a2f8f, #d3a2e6)' },
  { tag: tags.comment, color: 'light-dark(#55625f, #9daba7)' },
])

const theme = EditorView.theme({
  '&': { fontSize: '13.5px', backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'light-dark(#0000000a, #ffffff0a)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'light-dark(#bfe3de, #1f4d48) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--paper)', color: 'var(--text)', border: '1px solid var(--line)' },
})

export interface Editing {
  label: string
  value: string
  onChange?: (value: string) => void
  /** onSave is called by Ctrl-S or ⌘-S. */
  onSave?: () => void
  language?: 'json' | 'javascript' | 'partiql'
  readOnly?: boolean
  lines?: number
}

/** given marks a change that makes the text the value: onChange is not told of what came from outside. */
const given = Annotation.define<true>()

/** CodeMirror edits JSON or JavaScript. It lies in a shadow root, where its styles are sheets of the document's own making:
 * the content security policy allows no style elements. */
export default function CodeMirror({ label, value, onChange, onSave, language = 'json', readOnly, lines = 12 }: Editing) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const heard = useRef({ onChange, onSave })
  heard.current = { onChange, onSave }
  useLayoutEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          keymap.of([
            { key: 'Mod-s', run: () => (heard.current.onSave?.(), true), preventDefault: true },
            ...defaultKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...searchKeymap,
            // Escape and then Tab leaves the editor, as CodeMirror's keymap has it.
            indentWithTab,
          ]),
          history(),
          lineNumbers(),
          foldGutter(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          syntaxHighlighting(highlight),
          theme,
          EditorView.lineWrapping,
          EditorView.theme({ '.cm-content, .cm-gutter': { minHeight: `${lines * 1.5}em` }, '.cm-scroller': { maxHeight: '70vh', overflow: 'auto' } }),
          EditorState.readOnly.of(!!readOnly),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          language === 'json' ? [json(), readOnly ? [] : [linter(jsonParseLinter()), lintGutter()]] : language === 'javascript' ? [javascript(), autocompletion()] : [],
          EditorView.updateListener.of((u) => u.transactions.some((t) => t.docChanged && !t.annotation(given)) && heard.current.onChange?.(u.state.doc.toString())),
        ],
      }),
    })
    view.current = made
    requestAnimationFrame(() => made.requestMeasure()) // the sheets count from the next frame on
    return () => made.destroy()
  }, [language, readOnly])
  // Within the rendering: what is typed after it, and before an effect that waits for the screen, is not in its value yet.
  useLayoutEffect(() => {
    const now = view.current!.state.doc.toString()
    if (now !== value) view.current!.dispatch({ changes: difference(now, value), annotations: given.of(true) })
  }, [value])
  return <div class="editor" ref={host} />
}

/** difference is the one piece in which a text has to be replaced to become another, so that the cursor stays where it is. */
function difference(now: string, value: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(now.length, value.length)
  let from = 0
  while (from < shorter && now[from] === value[from]) from++
  let same = 0
  while (same < shorter - from && now[now.length - 1 - same] === value[value.length - 1 - same]) same++
  return { from, to: now.length - same, insert: value.slice(from, value.length - same) }
}
