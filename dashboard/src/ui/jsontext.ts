// JSON as text. Documents are shown and sent as the text they are: a number of more digits than JavaScript has would
// come back as another number if it went through a value.

/** pretty indents JSON text. Strings and numbers stay as they are; white space between tokens is made anew. Text that is
 * no JSON comes back with odd line breaks, and no character lost. */
export function pretty(text: string): string {
  let out = ''
  let depth = 0
  const line = () => '\n' + '  '.repeat(depth)
  const tokens = text.match(/"(?:[^"\\]|\\.)*"?|[[\]{}:,]|[^\s"[\]{}:,]+/gs) ?? []
  tokens.forEach((token, i) => {
    const next = tokens[i + 1]
    if (token === '{' || token === '[') {
      const empty = next === '}' || next === ']'
      depth++
      out += token + (empty ? '' : line())
    } else if (token === '}' || token === ']') {
      const before = tokens[i - 1]
      depth = Math.max(0, depth - 1)
      out += (before === '{' || before === '[' ? '' : line()) + token
    } else if (token === ',') out += token + line()
    else if (token === ':') out += ': '
    else out += token
  })
  return out
}

/** members takes the top of an object's text apart: the text of each member's value by its name, in order. Broken text has
 * none. */
export function members(text: string): Map<string, string> {
  const found = new Map<string, string>()
  try {
    JSON.parse(text)
  } catch {
    return found
  }
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs)
  let depth = 0
  let name: string | undefined
  let from = 0
  for (const t of tokens) {
    const end = depth === 1 && (t[0] === ',' || t[0] === '}')
    if (end && name !== undefined) {
      found.set(name, text.slice(from, t.index).trim())
      name = undefined
    }
    if (t[0] === '{' || t[0] === '[') depth++
    else if (t[0] === '}' || t[0] === ']') depth--
    else if (depth === 1 && name === undefined && t[0].startsWith('"')) name = JSON.parse(t[0])
    else if (depth === 1 && t[0] === ':') from = t.index + 1
  }
  return found
}

/** objectOf writes an object of members whose values are text. */
export function objectOf(of: Iterable<[string, string]>): string {
  return '{' + [...of].map(([name, value]) => JSON.stringify(name) + ':' + value).join(',') + '}'
}

/** rebase takes what was typed into the text of an object over to what the object is now: members that were typed stay, the
 * others are what they are now. Broken text, and text with a member that has changed on both sides, stays as it was typed, with
 * the revision it was typed into: saving it is a conflict, which is for a person to resolve. */
export function rebase(typed: string, was: string, now: string): string {
  if (typed === was) return now
  const [t, w, n] = [members(typed), members(was), members(now)]
  if (t.size === 0) return typed
  const differ = (a: Map<string, string>, b: Map<string, string>, name: string) => pretty(a.get(name) ?? '') !== pretty(b.get(name) ?? '')
  for (const name of new Set([...w.keys(), ...n.keys()])) {
    const theirs = differ(w, n, name)
    if (theirs && differ(w, t, name)) return typed
    if (!theirs) continue
    if (n.has(name)) t.set(name, n.get(name)!)
    else t.delete(name)
  }
  return pretty(objectOf(t))
}
